package serve_test

// The bounds of /openapi.json are those that requests meet.

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"picogpt/dev/cases"
)

// samples has values of strings that mean something.
var samples = map[string]any{
	"edits[].at": "blocks.0.attn.hook_z", "edits[].op": "scale", "edits[].values": []any{1},
	"steer[].name": "calm",
}

// valid returns a value that a schema accepts.
func valid(place string, s object) any {
	if v, ok := samples[place]; ok {
		return v
	}
	if all, ok := s["anyOf"].([]any); ok {
		return valid(place, all[0].(object))
	}
	if words, ok := s["enum"].([]any); ok {
		return words[min(1, len(words)-1)]
	}
	switch kindOf(s) {
	case "object":
		o := object{}
		required, _ := s["required"].([]any)
		for _, name := range required {
			name := name.(string)
			o[name] = valid(place+"."+name, at(s, "properties", name).(object))
		}
		return o
	case "array":
		if s["minItems"] != nil {
			return []any{valid(place+"[]", s["items"].(object))}
		}
		return []any{}
	case "integer", "number":
		if s["minimum"] != nil {
			return s["minimum"]
		}
		return 1
	case "boolean":
		return false
	}
	return "a"
}

func kindOf(s object) string {
	if all, ok := s["type"].([]any); ok {
		return all[0].(string)
	}
	kind, _ := s["type"].(string)
	return kind
}

func float(v any) float64 {
	x, _ := v.(json.Number).Float64()
	return x
}

// whole returns a number, and the one of n after it.
func after(v any, n int64, kind string) any {
	written := string(v.(json.Number))
	if kind == "number" {
		x := float(v)
		return x + float64(n)*math.Max(math.Abs(x), 1)*1e-9
	}
	var big, one = new(big.Int), new(big.Int)
	big.SetString(written, 10)
	one.SetInt64(n)
	return json.Number(big.Add(big, one).String())
}

func repeated(v any, n int) []any { return slices.Repeat([]any{v}, n) }

// tries returns values at the bounds of a schema and beyond them, and of other kinds.
func tries(place string, s object) (all []any) {
	some, _ := s["anyOf"].([]any)
	for _, one := range some {
		all = append(all, tries(place, one.(object))...)
	}
	if words, ok := s["enum"].([]any); ok {
		return append(words, "zebra", "", 7)
	}
	kind := kindOf(s)
	switch kind {
	case "integer", "number":
		for bound, n := range map[string]int64{"minimum": -1, "maximum": 1} {
			if b, ok := s[bound]; ok {
				all = append(all, b, after(b, n, kind))
			}
		}
		all = append(all, 0.5)
	case "string":
		all = append(all, valid(place, s), "", "é ")
		if most, ok := s["maxLength"]; ok {
			text := strings.Repeat("a", int(float(most)))
			all = append(all, text, text+"a")
		}
	case "array":
		item := s["items"].(object)
		if most, ok := s["maxItems"]; ok && float(most) < 1<<20 { // more take seconds to check
			n := int(float(most))
			all = append(all, repeated(valid(place+"[]", item), n+1))
			if !slices.Contains([]string{"tools", "functions", "steer"}, place) { // no two are equal
				all = append(all, repeated(valid(place+"[]", item), n))
			}
		}
		for _, try := range tries(place+"[]", item) {
			all = append(all, []any{try})
		}
		all = append(all, []any{})
	case "object":
		if values, ok := s["additionalProperties"].(object); ok {
			for _, try := range tries(place, values) {
				all = append(all, object{"7": try})
			}
			all = append(all, object{"": 1}, object{strings.Repeat("a", 1025): 1})
			if most, ok := s["maxProperties"]; ok {
				many := object{}
				for i := range int(float(most)) {
					many[fmt.Sprint("w", i)] = 1
				}
				more := maps.Clone(many)
				more["one more"] = 1
				all = append(all, many, more)
			}
		}
		base := valid(place, s).(object)
		members, _ := s["properties"].(object)
		for name, inner := range members {
			for _, try := range tries(place+"."+name, inner.(object)) {
				o := maps.Clone(base)
				o[name] = try
				all = append(all, o)
			}
		}
		for name := range base {
			o := maps.Clone(base)
			delete(o, name)
			all = append(all, o)
		}
	}
	return append(all, nil, 1, "x", true, []any{}, object{})
}

// together are errors of values that their fields take, but not with other fields, or not this model.
var together = regexp.MustCompile(`maximum context length|at most max_tokens|with it|want stream,|` +
	`not valid JSON|want ::=|at the end, or one of the|found none|one of the tools|edit of blocks|` +
	`token of the text|want one t|there is none, want|line 1: want the name|131072 states|cannot fill one in|want it, or content|with json_schema|control vectors`)

// bases are requests that are answered.
var bases = map[string]string{
	"/v1/completions":      `{"max_tokens":4}`,
	"/v1/chat/completions": `{"messages":[{"role":"user","content":"a"}],"max_tokens":4}`,
	"/v1/responses":        `{"input":"a","max_output_tokens":4}`,
	"/v1/embeddings":       `{"input":"a"}`,
	"/classify":            `{"input":"a"}`,
	"/tokenize":            `{"prompt":"a"}`,
	"/detokenize":          `{"tokens":[1]}`,
	"/inside":              `{"prompt":"a"}`,
}

// TestEveryBoundIsTheServers sends values at each bound of the document, and beyond it.
func TestEveryBoundIsTheServers(t *testing.T) {
	cases.NotShort(t)
	c := describedServer(t)
	d := c.document()
	good, bad, asked := 0, 0, map[string]bool{}
	for path, base := range bases {
		body := d.body(path)
		if body == nil {
			t.Fatalf("%s is not told", path)
		}
		judge := d.compiled("paths/" + strings.ReplaceAll(path, "/", "~1") +
			"/post/requestBody/content/application~1json/schema")
		for name, schema := range body["properties"].(object) {
			o := decoded[object](t, base)
			if path == "/tokenize" && (name == "content" || name == "messages") {
				delete(o, "prompt")
			}
			if strings.HasPrefix(name, "max_") { // they say the same
				delete(o, "max_tokens")
				delete(o, "max_output_tokens")
			}
			for _, try := range tries(name, schema.(object)) {
				o[name] = try
				sent := marshal(o)
				if asked[path+sent] {
					continue
				}
				asked[path+sent] = true
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(sent))
				if err != nil {
					t.Fatal(err)
				}
				says := judge.Validate(value)
				r, text := c.post(path, sent)
				var e struct{ Param, Message string }
				if r.StatusCode != 200 {
					e.Param = decoded[apiError](t, text).Error.Param
					e.Message = decoded[apiError](t, text).Error.Message
				}
				of := e.Param == name || strings.HasPrefix(e.Param, name+".") ||
					strings.HasPrefix(e.Param, name+"[")
				switch {
				case says == nil:
					if good++; r.StatusCode != 200 && !together.MatchString(e.Message) {
						t.Errorf("%s refuses %.200s: status %d: %.300s", path, sent, r.StatusCode, text)
					}
				case r.StatusCode/100 != 4 || !of:
					t.Errorf("%s takes %.200s: status %d: %.200s, and the document says %v", path, sent,
						r.StatusCode, text, says)
				default:
					bad++
				}
			}
		}
	}
	if t.Logf("%d values within the bounds, %d beyond them", good, bad); good < 1000 || bad < 2000 {
		t.Errorf("only %d and %d values", good, bad)
	}
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

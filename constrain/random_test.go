package constrain

// Random schemas and instances: what is accepted is what the judge says is valid.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/judge"
	"picogpt/dev/walks"
)

// A maker writes random schemas and instances of a small world: a few names, letters and numbers.
type maker struct{ *rand.Rand }

func (m maker) one(of ...string) string { return of[m.IntN(len(of))] }

func (m maker) number() string {
	return m.one("0", "1", "2", "3", "-1", "-4", "10", "12", "99", "100", "0.5", "1.25", "-2.5",
		"1e-7", "0.001", "123456")
}

func (m maker) text() string {
	return m.one(`""`, `"a"`, `"b"`, `"ab"`, `"aab"`, `"é"`, `"a\nb"`, `"\"a"`, `"abab"`, `"bbbb"`)
}

// instance writes a value; objects are marked, to be permuted later.
func (m maker) instance(depth int) any {
	switch n := m.IntN(8); {
	case n < 2:
		return m.number()
	case n < 4:
		return m.text()
	case n == 4:
		return m.one("true", "false", "null")
	case depth == 0:
		return m.one("[]", "{}", "1")
	case n == 5:
		list := []any{}
		for range m.IntN(4) {
			list = append(list, m.instance(depth-1))
		}
		return list
	}
	object := [][2]any{}
	for _, name := range []string{`"a"`, `"b"`, `"c"`, `"ab"`} {
		if m.IntN(2) == 0 {
			object = append(object, [2]any{name, m.instance(depth - 1)})
		}
	}
	return object
}

// spell writes a value with the names of objects in all orders.
func spell(v any) (texts []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		parts := []string{""}
		for _, item := range v {
			parts = combine(parts, ",", spell(item))
		}
		for i, p := range parts {
			parts[i] = "[" + p + "]"
		}
		return parts
	}
	members := v.([][2]any)
	if len(members) == 0 {
		return []string{"{}"}
	}
	for _, order := range orders(len(members)) {
		parts := []string{""}
		for _, i := range order {
			var named []string
			for _, text := range spell(members[i][1]) {
				named = append(named, members[i][0].(string)+":"+text)
			}
			parts = combine(parts, ",", named)
		}
		for _, p := range parts {
			texts = append(texts, "{"+p+"}")
		}
	}
	return texts
}

func combine(parts []string, between string, more []string) (all []string) {
	for _, p := range parts {
		for _, m := range more {
			if p != "" {
				m = p + between + m
			}
			all = append(all, m)
		}
	}
	return all
}

func orders(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, rest := range orders(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(rest), i, n-1))
		}
	}
	return all
}

// schema writes a schema of some keywords.
func (m maker) schema(depth int) string {
	if depth == 0 || m.IntN(8) == 0 {
		return m.one("true", `{"type":"integer"}`, `{"type":"string"}`, `{"type":["number","null"]}`,
			`{"minimum":1}`, `{"const":"a"}`, `{"type":"boolean"}`, "false", `{"maxLength":2}`)
	}
	var keywords []string
	add := func(format string, args ...any) {
		keywords = append(keywords, fmt.Sprintf(format, args...))
	}
	for range 1 + m.IntN(4) {
		switch m.IntN(24) {
		case 0:
			add(`"type":%s`, m.one(`"object"`, `"array"`, `"string"`, `["integer","object"]`,
				`["number","string","array"]`))
		case 1:
			add(`"minimum":%s,"exclusiveMaximum":%s`, m.number(), m.number())
		case 2:
			add(`"maximum":%s,"exclusiveMinimum":%s`, m.number(), m.number())
		case 3:
			add(`"type":"integer","multipleOf":%s`, m.one("2", "3", "0.5", "10", "1.5"))
		case 23:
			add(`"items":%s,"uniqueItems":true`, m.one(`{"type":"integer"}`, `{"type":["null","string"]}`,
				`{"enum":["a",1,"ab",null,0.5,true]}`, `{"type":"integer","minimum":-1,"maximum":3}`, `{"pattern":"^a","type":"string"}`, m.schema(0)))
		case 22:
			add(`"multipleOf":%s`, m.one("0.25", "0.5", "2.5"))
		case 4:
			add(`"minLength":%d`, m.IntN(4))
		case 5:
			add(`"maxLength":%d`, m.IntN(4))
		case 6:
			add(`"pattern":"%s"`, m.one("a", "^a", "b$", "^(ab)*$", "^[^a]", "a.b", "^.{2}$"))
		case 7:
			add(`"properties":{"a":%s,"b":%s}`, m.schema(depth-1), m.schema(depth-1))
		case 8:
			add(`"required":[%s]`, m.one(`"a"`, `"b","c"`, `"c"`))
		case 9:
			add(`"additionalProperties":%s`, m.schema(depth-1))
		case 10:
			add(`"patternProperties":{"%s":%s}`, m.one("^a", "b", "^.$", "c$"), m.schema(depth-1))
		case 11:
			add(`"minProperties":%d,"maxProperties":%d`, m.IntN(3), 1+m.IntN(3))
		case 12:
			add(`"items":%s`, m.schema(depth-1))
		case 13:
			add(`"prefixItems":[%s,%s]`, m.schema(depth-1), m.schema(depth-1))
		case 14:
			add(`"minItems":%d,"maxItems":%d`, m.IntN(3), 1+m.IntN(3))
		case 15:
			add(`"%s":[%s,%s]`, m.one("allOf", "anyOf", "oneOf"), m.schema(depth-1),
				m.schema(depth-1))
		case 21:
			add(`"propertyNames":%s`, m.schema(depth-1))
		case 17:
			add(`"not":%s`, m.schema(depth-1))
		case 18:
			add(`"if":%s,"then":%s,"else":%s`, m.schema(depth-1), m.schema(depth-1), m.schema(depth-1))
		case 19:
			add(`"dependentRequired":{"a":[%s],"c":["a"]}`, m.one(`"b"`, `"b","c"`))
		case 20:
			add(`"dependentSchemas":{"b":%s}`, m.schema(depth-1))
		case 16:
			add(`"enum":[%s,%s,{"a":1,"b":[2]},"ab",null]`, m.number(), m.text())
		}
	}
	slices.Sort(keywords)
	return "{" + strings.Join(withoutDoubles(keywords), ",") + "}"
}

// withoutDoubles leaves out what has a keyword that was there.
func withoutDoubles(keywords []string) (once []string) {
	seen := map[string]bool{}
	for _, k := range keywords {
		name := k[:strings.Index(k, ":")]
		if also := strings.Contains(k, `"multipleOf"`); !seen[name] && !(also && seen[`"type"`]) {
			seen[name] = true
			once = append(once, k)
		}
	}
	return once
}

// walk writes a text under a schema and, if the text ends, checks it with the judge.
func (m maker) walk(t *testing.T, c *Constraint, schema string, judge func(string) error) {
	t.Helper()
	w := walks.New(m.Rand)
	text, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	written, complete := w.Write(t, text, 60)
	if complete {
		if err := judge(written); err != nil {
			t.Errorf("%s: wrote %s: %v", schema, written, err)
		}
	}
}

func TestWhatIsAcceptedIsWhatIsValid(t *testing.T) {
	n := cases.Of(250, 20000)
	m := maker{rand.New(rand.NewPCG(1, 12))}
	followed, valid, invalid := 0, 0, 0
	for range n {
		schema := m.schema(2)
		check := judge.Schema(t, schema)
		c, err := JSONSchema(gpt2(), []byte(schema), SchemaOptions{})
		nothing := err != nil && strings.Contains(err.Error(), "no value is valid")
		if err != nil && !nothing {
			if !strings.Contains(err.Error(), "under not") &&
				!strings.Contains(err.Error(), "uniqueItems") &&
				!strings.Contains(err.Error(), "multipleOf") {
				t.Errorf("%s: %v", schema, err)
			}
			continue
		}
		followed++
		if !nothing {
			m.walk(t, c, schema, check)
		}
		for range 12 {
			texts := spell(m.instance(2))
			accepted := false
			for _, text := range texts[:min(len(texts), 20000)] {
				if !nothing {
					_, complete := accepts(t, c, text)
					accepted = accepted || complete
				}
			}
			want := check(texts[0]) == nil
			if accepted != want {
				t.Errorf("%s: %s: accepted %v, want %v", schema, texts[0], accepted, want)
			}
			if want {
				valid++
			} else {
				invalid++
			}
		}
	}
	if followed < n/2 || valid < n || invalid < n {
		t.Errorf("%d of %d schemas followed, %d valid and %d invalid instances: want more", followed,
			n, valid, invalid)
	}
}

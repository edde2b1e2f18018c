package serve_test

// Every field of a completion: the values that it accepts, and the errors for others.

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/internal/option"

	"picogpt/model"
	"picogpt/serve"
)

// An apiError is the JSON of an error.
type apiError struct {
	Error struct {
		Message, Type, Param, Code string
	}
}

// refused checks that a request is refused with a JSON error that names a field.
func (c *client) refused(path, body string, status int, param, message string) {
	c.t.Helper()
	r, text := c.post(path, body)
	shown := body
	if len(shown) > 120 {
		shown = shown[:120] + "…"
	}
	if r.StatusCode != status {
		c.t.Errorf("%s: status %d, want %d: %.200s", shown, r.StatusCode, status, text)
		return
	}
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		c.t.Errorf("%s: an error of type %s", shown, kind)
	}
	e := decoded[apiError](c.t, text).Error
	if e.Param != param || !strings.Contains(e.Message, message) || e.Type == "" {
		c.t.Errorf("%s: error %+v, want param %s and %q", shown, e, param, message)
	}
	if param != "" && !strings.HasPrefix(e.Message, param) {
		c.t.Errorf("%s: message %q does not begin with %s", shown, e.Message, param)
	}
}

func TestFieldsThatAreRefused(t *testing.T) {
	c := start(t, serve.Options{})
	deep := strings.Repeat("[", 100000)
	stops := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") }
	var many strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&many, `,"text %d":1`, i)
	}
	for _, x := range []struct{ fields, param, message string }{
		{`"prompt":3`, "prompt", "want a string, a list"},
		{`"json_open":1`, "json_open", "found 1"},
		{`"json_open":true`, "json_open", "want a JSON Schema with it"},
		{`"json_any_order":true`, "json_any_order", "want a JSON Schema with it"},
		{`"json_open":true,"guided_regex":"a"`, "json_open", "want a JSON Schema with it"},
		{`"prompt":{}`, "prompt", "found an object"},
		{`"prompt":[[]]`, "prompt", "want at least one id"},
		{`"prompt":[[1],[]]`, "prompt", "list 2: want at least one id"},
		{`"prompt":["a",1]`, "prompt", "want a string, as before, found 1"},
		{`"prompt":[1,"a"]`, "prompt", "want an id, as before"},
		{`"prompt":[[1],1]`, "prompt", "want a list, as before"},
		{`"prompt":[null]`, "prompt", "want strings, ids or lists of ids, found null"},
		{`"prompt":[-1]`, "prompt", "want a whole number from 0 to 50256, found -1"},
		{`"prompt":[50257]`, "prompt", "found 50257"},
		{`"prompt":[1e15]`, "prompt", "found 1e15"},
		{`"prompt":[1.5]`, "prompt", "found 1.5"},
		{`"prompt":"\ud800"`, "prompt", "a lone surrogate"},
		{`"max_tokens":-1`, "max_tokens", "want a whole number from 0"},
		{`"max_tokens":1.5`, "max_tokens", "found 1.5"},
		{`"max_tokens":"16"`, "max_tokens", `want a number, found "16"`},
		{`"max_tokens":true`, "max_tokens", "found true"},
		{`"temperature":2.1`, "temperature", "want a number from 0 to 2"},
		{`"temperature":-1`, "temperature", "found -1"},
		{`"temperature":1e999`, "temperature", "found 1e999"},
		{`"temperature":NaN`, "temperature", "not valid JSON"},
		{`"temperature":"hot"`, "temperature", "want a number"},
		{`"top_p":1.01`, "top_p", "from 0 to 1"},
		{`"top_k":-2`, "top_k", "from -1"},
		{`"min_p":2`, "min_p", "from 0 to 1"},
		{`"presence_penalty":-2.5`, "presence_penalty", "from -2 to 2"},
		{`"frequency_penalty":3`, "frequency_penalty", "from -2 to 2"},
		{`"repetition_penalty":0`, "repetition_penalty", "want a number from"},
		{`"typical_p":1.1`, "typical_p", "want a number from 0 to 1, found 1.1"},
		{`"epsilon_cutoff":1`, "epsilon_cutoff", "want a number from 0 to"},
		{`"mirostat":3`, "mirostat", "want a whole number from 0 to 2, found 3"},
		{`"dry_multiplier":-1`, "dry_multiplier", "want a number from 0"},
		{`"dry_sequence_breakers":[""]`, "dry_sequence_breakers", "want at least one byte"},
		{`"dry_sequence_breakers":["x","` + strings.Repeat("y", 41) + `"]`, "dry_sequence_breakers",
			"string 2: want at most 40 bytes, found 41"},
		{`"dry_sequence_breakers":[` + stops(65) + `]`, "dry_sequence_breakers", "at most 64"},
		{`"max_tokens":16,"min_tokens":17`, "min_tokens", "at most max_tokens, which is 16"},
		{`"min_tokens":-1`, "min_tokens", "from 0"},
		{`"n":0`, "n", "from 1 to 128"},
		{`"n":129`, "n", "from 1 to 128"},
		{`"n":1000000000`, "n", "from 1 to 128"},
		{`"best_of":0`, "best_of", "from 1"},
		{`"n":3,"best_of":2`, "best_of", "want at least n, which is 3"},
		{`"best_of":2,"stream":true`, "best_of", "for a stream"},
		{`"logprobs":-1`, "logprobs", "from 0 to 100"},
		{`"logprobs":101`, "logprobs", "from 0 to 100"},
		{`"logprobs":true`, "logprobs", "want a number"},
		{`"stop":{}`, "stop", "found an object"},
		{`"stop":7`, "stop", "want a string or a list of strings, found 7"},
		{`"stop":""`, "stop", "at least one byte"},
		{`"stop":["a",""]`, "stop", "string 2: want at least one byte"},
		{`"stop":[7]`, "stop", "want a string"},
		{`"stop":[` + stops(33) + `]`, "stop", "want at most 32"},
		{`"stop":[` + stops(20000) + `]`, "stop", "want at most 32"},
		{`"stop_token_ids":[50257]`, "stop_token_ids", "50256"},
		{`"bad_words":[""]`, "bad_words", "at least one byte"},
		{`"bad_words":[` + stops(1001) + `]`, "bad_words", "at most 1000"},
		{`"ignore_eos":1`, "ignore_eos", "want true or false"},
		{`"logit_bias":{"50257":1}`, "logit_bias", "want ids from 0 to 50256"},
		{`"logit_bias":{"-1":1}`, "logit_bias", "want ids"},
		{`"logit_bias":{"01":1}`, "logit_bias", "want ids"},
		{`"logit_bias":{"1":101}`, "logit_bias", "from -100 to 100"},
		{`"logit_bias":{"1":1,"1":2}`, "logit_bias", "comes twice"},
		{`"logit_bias":[1]`, "logit_bias", "found a list"},
		{`"sequence_bias":[[[1],2]]`, "sequence_bias", "want an object"},
		{`"sequence_bias":{"":1}`, "sequence_bias", "1 to 1024 bytes, found 0"},
		{`"sequence_bias":{"` + strings.Repeat("a", 1025) + `":1}`, "sequence_bias", "found 1025"},
		{`"sequence_bias":{"a":1,"a":2}`, "sequence_bias", "comes twice"},
		{`"sequence_bias":{"a":-101}`, "sequence_bias", "from -100 to 100"},
		{`"sequence_bias":{"a":"1"}`, "sequence_bias", "want a number"},
		{`"sequence_bias":{` + many.String()[1:] + `}`, "sequence_bias", "want at most 1000"},
		{`"echo":"yes"`, "echo", "want true or false"},
		{`"stream":0`, "stream", "want true or false"},
		{`"stream_options":{"include_usage":true}`, "stream_options", "want stream"},
		{`"stream":true,"stream_options":[]`, "stream_options", "want an object"},
		{`"stream":true,"stream_options":{"include_usage":1}`, "stream_options", "include_usage"},
		{`"seed":1.5`, "seed", "want a whole number from -2^63 to 2^64-1, found 1.5"},
		{`"seed":1e30`, "seed", "found 1e30"},
		{`"seed":18446744073709551616`, "seed", "found 18446744073709551616"},
		{`"seed":-9223372036854775809`, "seed", "found -9223372036854775809"},
		{`"seed":"1"`, "seed", "want a number"},
		{`"suffix":" end"`, "suffix", "cannot fill one in"},
		{`"user":7`, "user", "want a string"},
		{`"model":7`, "model", "want a string"},
		{`"return_token_ids":"x"`, "return_token_ids", "want true or false"},
		{`"structured_outputs":{"regex":"("}`, "structured_outputs.regex", "missing closing"},
		{`"structured_outputs":{"regex":"a","choice":["b"]}`, "structured_outputs.choice", "one form"},
		{`"guided_regex":"a","guided_choice":["b"]`, "guided_choice", "one form"},
		{`"guided_grammar":"root ::= root"`, "guided_grammar", "no text"},
		{`"guided_json":{"type":7}`, "guided_json", "type"},
		{`"guided_json":"{"`, "guided_json", "JSON"},
		{`"response_format":{"type":"yaml"}`, "response_format", "yaml"},
		{`"response_format":{"type":"structural_tag"}`, "response_format", "want format"},
		{`"response_format":{"type":"text","format":{}}`, "response_format", "found text"},
		{`"response_format":{"type":"structural_tag","format":{"type":"tag","begin":"","end":"","content":
			{"type":"qwen_xml_parameter"}}}`, "response_format", "qwen_xml_parameter is not followed"},
		{`"structural_tag":{"format":{"type":"any_text","max_tokens":3}}`, "structural_tag", "max_tokens of any_text"},
		{`"response_format":{"type":"json_schema"}`, "response_format", "found none"},
		{`"response_format":{"json_schema":{"schema":{}}}`, "response_format", "json_schema, found none"},
		{`"response_format":{"type":"text","json_schema":{"schema":{}}}`, "response_format", "found text"},
		{`"response_format":{"json_schema":{"schema":{}},"type":"json_object"}`, "response_format",
			"found json_object"},
		{`"max_tokens":1,"max_tokens":2`, "", `"max_tokens" comes twice`},
		{`"x":` + deep, "", "not valid JSON"},
		{`"guided_regex":"` + strings.Repeat("(", 30000) + `"`, "guided_regex", ""},
	} {
		c.refused("/v1/completions", "{"+x.fields+"}", http.StatusBadRequest, x.param, x.message)
	}
	for body, message := range map[string]string{
		"": "unexpected EOF", "[]": "want an object", "null": "want an object", "{": "not valid JSON",
		"{} {}": "want the end", `{"a":1}x`: "want the end", "\xff": "not valid JSON",
		"prompt=hello": "not valid JSON",
	} {
		c.refused("/v1/completions", body, http.StatusBadRequest, "", message)
	}
	c.refused("/v1/completions", "{\"prompt\":\"\xff\"}", 400, "prompt", "invalid UTF-8")
	if a := c.complete(`{"max_tokens":1}`); len(a.Choices) != 1 {
		t.Errorf("after all that: %+v", a)
	}
}

func TestNullsAndEmptyListsAreAbsent(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{})
	want := c.complete(`{"seed":3,"max_tokens":5}`)
	fields := strings.Fields(
		`model prompt suffix user temperature top_p top_k min_p presence_penalty
		frequency_penalty repetition_penalty typical_p epsilon_cutoff eta_cutoff top_h
		top_n_sigma xtc_probability xtc_threshold dynatemp_range dynatemp_exponent mirostat mirostat_tau
		mirostat_eta no_repeat_ngram_size dry_multiplier dry_base dry_allowed_length
		dry_penalty_last_n dry_sequence_breakers min_tokens n best_of logprobs stop bad_words
		stop_token_ids ignore_eos logit_bias echo stream stream_options structured_outputs guided_json
		guided_regex guided_choice guided_grammar response_format return_token_ids
		return_tokens_as_token_ids steer edits`,
	)
	for _, o := range option.Of(new(decode.Options)) {
		if name := o.Field.Name; !slices.Contains(fields, name) &&
			!slices.Contains([]string{"", "max_tokens", "seed"}, name) {
			fields = append(fields, name)
		}
	}
	var values []string
	for _, name := range fields {
		values = append(values, name+`":null`)
	}
	values = append(values,
		`prompt":[]`, `steer":[]`, `edits":[]`, `stop":[]`, `bad_words":[]`, `stop_token_ids":[]`, `logit_bias":{}`,
		`sequence_bias":{}`,
		`stream_options":{}`, `structured_outputs":{}`, `guided_choice":[]`, `suffix":""`,
		`structured_outputs":{"choice":[],"json":null}`, `response_format":{"type":"text"}`,
		`stream_options":{"include_usage":null}`, `top_k":-1`, `top_k":0`, `logit_bias":{"7":0}`)
	for _, value := range values {
		a := c.complete(`{"seed":3,"max_tokens":5,"` + value + `}`)
		if a.Choices[0].Text != want.Choices[0].Text || a.Choices[0].Logprobs != nil {
			t.Errorf("%s: %+v, want %+v", value, a.Choices[0], want.Choices[0])
		}
	}
	all := c.complete(`{"seed":3,"max_tokens":5,"` + strings.Join(values[:len(fields)], `,"`) + `}`)
	if all.Choices[0].Text != want.Choices[0].Text {
		t.Errorf("with all nulls %q, want %q", all.Choices[0].Text, want.Choices[0].Text)
	}
	if a := c.complete(`{"max_tokens":null,"seed":3}`); a.Usage.CompletionTokens != 16 {
		t.Errorf("max_tokens null gives %d tokens, want 16", a.Usage.CompletionTokens)
	}
}

func TestUnknownFieldsAreIgnoredAndNamed(t *testing.T) {
	c := start(t, serve.Options{})
	r, text := c.post(
		"/v1/completions",
		`{"prompt":"a","max_tokens":1,"zeta":{"a":[1],"a":2},"repeat_first_n":2,"tfs_z":1,
		"stream_options":{"chunk":1},"stream":true,"bad name":1,"bad\r\nX: y":1,"structured_outputs":{"odd":1}}`,
	)
	if r.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", r.StatusCode, text)
	}
	const want = "repeat_first_n, stream_options.chunk, structured_outputs.odd, tfs_z, zeta"
	if got := r.Header.Get("X-Ignored-Fields"); got != want {
		t.Errorf("X-Ignored-Fields: %q, want %q", got, want)
	}
	for range 2 { // compiled, and found
		r, _ := c.post("/v1/completions",
			`{"max_tokens":1,"json_open":true,"guided_json":{"properties":{"é":{"type":"string","format":"color"}}}}`)
		if got := r.Header.Get("X-Schema-Notes"); !strings.HasSuffix(got,
			`: format "color" is not known, and restricts nothing`) || !strings.Contains(got, "?") {
			t.Errorf("X-Schema-Notes: %q", got)
		}
	}
	for fields, want := range map[string]string{"": "#: objects have only the names that the schema has; additionalProperties true allows others",
		`"json_open":true,`: ""} {
		r, _ := c.post("/v1/completions", `{"max_tokens":1,`+fields+`"guided_json":{"properties":{}}}`)
		if got := r.Header.Get("X-Schema-Notes"); got != want {
			t.Errorf("%sX-Schema-Notes: %q, want %q", fields, got, want)
		}
	}
	if r, _ := c.post("/v1/completions", `{"max_tokens":1}`); r.Header["X-Schema-Notes"] != nil {
		t.Errorf("X-Schema-Notes where there are none: %q", r.Header["X-Schema-Notes"])
	}
	if r, _ := c.post("/v1/completions", `{"max_tokens":1}`); r.Header["X-Ignored-Fields"] != nil {
		t.Errorf("X-Ignored-Fields where there are none: %q", r.Header["X-Ignored-Fields"])
	}
}

func TestTheModelMayBeLeftOutAndMustBeTheOne(t *testing.T) {
	c := start(t, serve.Options{Name: "a/b"})
	for _, body := range []string{`{"max_tokens":1}`, `{"max_tokens":1,"model":null}`,
		`{"max_tokens":1,"model":"a/b"}`} {
		if a := c.complete(body); a.Model != "a/b" {
			t.Errorf("%s: model %q", body, a.Model)
		}
	}
	c.refused(
		"/v1/completions",
		`{"model":"gpt-4"}`,
		http.StatusNotFound,
		"model",
		`"gpt-4" is not here`,
	)
	for path, status := range map[string]int{"/v1/models/a/b": 200, "/v1/models/x": 404,
		"/v1/models": 200, "/v1/models/": 404} {
		if r, text := c.do("GET", path, ""); r.StatusCode != status {
			t.Errorf("%s: status %d, want %d: %s", path, r.StatusCode, status, text)
		}
	}
}

func TestTheContextIsTheLimit(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{Template: "{{.Text}}"})
	ids := func(n int) string { return strings.TrimSuffix(strings.Repeat("5,", n), ",") }
	if a := c.complete(
		`{"prompt":[` + ids(250) + `],"max_tokens":6,"ignore_eos":true}`,
	); *a.Choices[0].FinishReason != "length" {
		t.Errorf("finish_reason %s", *a.Choices[0].FinishReason)
	}
	for _, x := range []struct{ path, body, param, message string }{
		{"completions", `{"prompt":[` + ids(250) + `],"max_tokens":7}`, "max_tokens",
			"256 tokens, found 250 in the prompt, and 7 in max_tokens"},
		{"completions", `{"max_tokens":2147483647}`, "max_tokens",
			"found 1 in the prompt, and 2147483647 in max_tokens"},
		{"completions", `{"prompt":[` + ids(256) + `],"max_tokens":1}`, "prompt",
			"found 256 in the prompt, and 1 in max_tokens"},
		{"completions", `{"prompt":[` + ids(257) + `],"max_tokens":0}`, "prompt", "found 257 in"},
		{"completions", `{"prompt":[` + ids(256) + `]}`, "prompt",
			"256 tokens, found 256 in the prompt, and at least 1 to write"},
		{"completions", `{"prompt":[` + ids(250) + `],"min_tokens":7}`, "min_tokens",
			"found 250 in the prompt, and 7 in min_tokens"},
		{"completions", `{"prompt":[` + ids(256) + `],"min_tokens":7}`, "prompt",
			"found 256 in the prompt, and 7 in min_tokens"},
		{"completions", `{"prompt":"` + strings.Repeat("word ", 300) + `"}`, "prompt", "found 301 in"},
		{"completions", `{"prompt":["a","` + strings.Repeat("x", 1<<20) + `"]}`, "prompt", "found at least"},
		{"completions", `{"prompt":[` + ids(500000) + `]}`, "prompt", "found 500000 in"},
		{"completions", `{"prompt":[[5],[` + ids(500000) + `]]}`, "prompt", "found 500000 in"},
		{"completions", `{"prompt":[` + ids(700) + `],"truncate_prompt_tokens":250,"max_tokens":9}`,
			"max_tokens", "found 250 in the prompt, and 9 in"},
		{"chat/completions", `{"messages":[{"role":"user","content":"a"}],"max_tokens":256}`, "max_tokens",
			"found 1 in the prompt, and 256 in max_tokens"},
		{"chat/completions", `{"messages":[{"role":"user","content":"a"}],"max_completion_tokens":256}`,
			"max_completion_tokens", "found 1 in the prompt, and 256 in max_completion_tokens"},
		{"chat/completions", `{"messages":[{"role":"user","content":"` + strings.Repeat(" a", 256) + `"}]}`,
			"messages", "found 256 in the prompt, and at least 1"},
		{"chat/completions", `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 1<<20) + `"}]}`,
			"messages", "found at least"},
		{"embeddings", `{"input":[` + ids(257) + `]}`, "input", "256 tokens, found 257"},
	} {
		r, text := c.post("/v1/"+x.path, x.body)
		e := decoded[apiError](t, text).Error
		if r.StatusCode != 400 || e.Code != "context_length_exceeded" || e.Param != x.param ||
			!strings.Contains(e.Message, x.message) || !strings.HasPrefix(e.Message, x.param+": ") {
			t.Errorf("%.60s: status %d, %+v, want %s and %q", x.body, r.StatusCode, e, x.param, x.message)
		}
	}
}

// TestADefaultIsCutToTheContext: what nobody sent refuses nothing, as long as a token fits.
func TestADefaultIsCutToTheContext(t *testing.T) {
	cases.NotShort(t)
	free := testmodel.Demo(t, model.Options{Threads: 1})
	small := testmodel.Demo(t, model.Options{Threads: 1, CacheBytes: free.SessionBytes(100)})
	ids := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("464,", n), ",") + "]" }
	for _, x := range []struct {
		model *model.Model
		path  string
		body  string
		want  int // new tokens
	}{
		{free, "completions", `"prompt":` + ids(239), 16},
		{free, "completions", `"prompt":` + ids(240), 16},
		{free, "completions", `"prompt":` + ids(241), 15},
		{free, "completions", `"prompt":` + ids(255), 1},
		{free, "completions", `"max_tokens":null,"prompt":` + ids(254), 2},
		{free, "completions", `"min_tokens":20,"prompt":` + ids(4), 20},
		{free, "completions", `"min_tokens":5,"prompt":` + ids(251), 5},
		{free, "completions", `"n":2,"prompt":` + ids(250), 12},
		{free, "completions", `"use_beam_search":true,"prompt":` + ids(250), 6},
		{free, "completions", `"truncate_prompt_tokens":-1,"prompt":` + ids(250), 16},
		{free, "completions", `"truncate_prompt_tokens":250,"prompt":` + ids(700), 6},
		{free, "completions", `"prompt":[` + ids(250) + `,` + ids(3) + `]`, 6 + 16}, // each has its own
		{free, "completions", `"guidance_scale":2,"negative_prompt":"` + strings.Repeat(" dog", 250) +
			`","prompt":` + ids(3), 6},
		{free, "chat/completions", `"messages":[{"role":"user","content":"a"}]`, 255},
		{free, "chat/completions", `"messages":[{"role":"user","content":"` + strings.Repeat(" a", 255) +
			`"}]`, 1},
		{small, "completions", `"prompt":` + ids(125), 3}, // pages are of 64 tokens
		{small, "completions", `"n":2,"prompt":` + ids(60), 2 * 5},
	} {
		c := startWith(t, x.model, serve.Options{Template: "{{.Text}}"})
		_, text := c.post("/v1/"+x.path, `{"seed":1,"ignore_eos":true,`+x.body+"}")
		if u := decoded[answer](t, text).Usage; u == nil || u.CompletionTokens != x.want {
			t.Errorf("%.50s…: %+v, want %d new tokens: %.300s", x.body, u, x.want, text)
		}
	}
}

// TestWholeNumbersMayHaveAPoint, as languages write them whose numbers are floats.
func TestWholeNumbersMayHaveAPoint(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{})
	for whole, pointed := range map[string]string{
		`"prompt":[50256,464]`:              `"prompt":[50256.0,4.64e2]`,
		`"prompt":[[464],[5]]`:              `"prompt":[[464.0],[5.0]]`,
		`"max_tokens":4,"n":2`:              `"max_tokens":4.0,"n":2.0`,
		`"seed":16`:                         `"seed":16.0`,
		`"seed":1000`:                       `"seed":1e3`,
		`"seed":-5`:                         `"seed":-5.0`,
		`"seed":9007199254740993`:           `"seed":9007199254740993`,
		`"seed":10000000000000000000`:       `"seed":1E19`,
		`"top_k":3,"seed":1`:                `"top_k":3.0,"seed":1`,
		`"stop_token_ids":[11,13],"seed":1`: `"stop_token_ids":[11.0,1.3e1],"seed":1`,
		`"allowed_token_ids":[464,11]`:      `"allowed_token_ids":[464.0,11.0]`,
		`"logprobs":2,"best_of":2,"seed":1`: `"logprobs":2.0,"best_of":2.0,"seed":1`,
		`"truncate_prompt_tokens":1`:        `"truncate_prompt_tokens":1.0`,
	} {
		body := func(fields string) string {
			if !strings.Contains(fields, "seed") {
				fields += `,"seed":1`
			}
			return "{" + fields + "}"
		}
		a, b := c.complete(body(whole)), c.complete(body(pointed))
		for i := range a.Choices {
			if a.Choices[i].Text != b.Choices[i].Text {
				t.Errorf("%s: %q, want %q", pointed, b.Choices[i].Text, a.Choices[i].Text)
			}
		}
	}
	for body, text := range map[string]string{`{"tokens":[464.0,3797]}`: "The cat", `{"tokens":[464.5]}`: ""} {
		if r, got := c.post("/detokenize", body); (r.StatusCode == 200) != (text != "") ||
			!strings.Contains(got, text) {
			t.Errorf("/detokenize %s: %s", body, got)
		}
	}
}

func TestRequestsHaveLimits(t *testing.T) {
	c := start(t, serve.Options{MaxPrompts: 3, MaxN: 2, MaxBody: 1000})
	c.refused("/v1/completions", `{"prompt":["a","b","c","d"]}`, 400, "prompt", "at most 3 prompts")
	c.refused("/v1/completions", `{"n":3}`, 400, "n", "from 1 to 2")
	c.refused(
		"/v1/completions",
		fmt.Sprintf(`{"prompt":"%01000d"}`, 0),
		413,
		"",
		"more than 1000 bytes",
	)
	c = start(t, serve.Options{})
	c.refused("/v1/completions", `{"prompt":[`+strings.Repeat(`"a",`, 99999)+`"a"]}`, 400, "prompt",
		"at most 1024 prompts")
	prompts := strings.TrimSuffix(strings.Repeat(`"a",`, 1024), ",")
	c.refused("/v1/completions", `{"prompt":[`+prompts+`],"max_tokens":200,"logprobs":100}`, 400,
		"max_tokens", "more than 2097152 numbers")
}

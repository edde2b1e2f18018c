package serve_test

// Fields that clients of vLLM, llama.cpp and OpenAI send beside the usual ones.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/internal/chat"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/search"
	"picogpt/serve"
	"picogpt/tokenizer"
)

func TestFieldsThatChooseTokens(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	const prompt = "Once upon a time"
	negative, err := tokenizer.GPT2().Encode("The dog")
	if err != nil {
		t.Fatal(err)
	}
	params := func(p sample.Params) decode.Options {
		p.Temperature, p.Seed = 1, 7
		return decode.Options{MaxTokens: 12, Params: p}
	}
	off := params(sample.Params{})
	for fields, o := range map[string]decode.Options{
		`"allowed_token_ids":[257,640,11]`: params(sample.Params{Allowed: []int{257, 640, 11}}),
		`"allowed_token_ids":[]`:           off,
		`"guidance_scale":3,"negative_prompt":"The dog"`: params(sample.Params{
			Guidance: &sample.Guidance{Scale: 3, Negative: negative}}),
		`"negative_prompt":"The dog"`: off, `"guidance_scale":1`: off,
		`"guidance_scale":2`: params(sample.Params{Guidance: &sample.Guidance{Scale: 2}}),
		`"repeat_last_n":2,"repeat_penalty":5`: params(sample.Params{RepeatPenalty: 5,
			RepeatLastN: 2}),
		`"repeat_penalty":5,"repeat_last_n":-1,"presence_penalty":1`: params(sample.Params{
			RepeatPenalty: 5, PresencePenalty: 1}),
		`"repeat_penalty":5,"repeat_last_n":0,"presence_penalty":1`:      off,
		`"repeat_last_n":0,"repetition_penalty":5,"frequency_penalty":1`: off,
	} {
		want, _ := direct(t, m, prompt, o)
		a := c.complete(bodyOf(prompt, `"max_tokens":12,"seed":7,`+fields))
		if got := a.Choices[0].Text; got != want {
			t.Errorf("%s: %q, want %q", fields, got, want)
		}
	}
	seen := map[string]bool{}
	for _, seed := range []string{"-1", "18446744073709551615"} {
		seen[c.complete(bodyOf(prompt, `"seed":`+seed)).Choices[0].Text] = true
	}
	low := c.complete(bodyOf(prompt, `"seed":-9223372036854775808`)).Choices[0].Text
	if high := c.complete(bodyOf(prompt, `"seed":9223372036854775808`)); len(seen) != 1 ||
		low != high.Choices[0].Text {
		t.Errorf("a negative seed is not its two's complement: %v, %q", seen, low)
	}
}

func TestFieldsThatChooseTokensAreRefused(t *testing.T) {
	c := start(t, serve.Options{Batcher: batch.Options{MaxStreams: 4}})
	for _, x := range []struct{ fields, param, message string }{
		{`"allowed_token_ids":[50257]`, "allowed_token_ids", "50256"},
		{`"allowed_token_ids":257`, "allowed_token_ids", "want an array"},
		{`"allowed_token_ids":[257],"logit_bias":{"257":-100},"bad_words":[" a"]`, "", "allowed tokens"},
		{`"guidance_scale":"2"`, "guidance_scale", "want a number"},
		{`"guidance_scale":1e9`, "guidance_scale", "from -1e+06 to 1e+06"},
		{`"negative_prompt":2`, "negative_prompt", "want a string"},
		{`"negative_prompt":"` + strings.Repeat("a", 16<<10+1) + `"`, "negative_prompt", "16384 bytes"},
		{`"guidance_scale":2,"negative_prompt":"` + strings.Repeat("a b ", 200) + `"`, "negative_prompt",
			"context"},
		{`"repeat_last_n":-2`, "repeat_last_n", "from -1"},
		{`"n_probs":101`, "n_probs", "from 0 to 100"},
		{`"truncate_prompt_tokens":-2`, "truncate_prompt_tokens", "from -1"},
		{`"truncate_prompt_tokens":300,"prompt":[` + strings.Repeat("5,", 600) + `5]`, "prompt",
			"maximum context length"},
		{`"prompt_logprobs":-1`, "prompt_logprobs", "from 0 to 100"},
		{`"prompt_logprobs":1,"stream":true`, "prompt_logprobs", "want stream false"},
		{`"include_stop_str_in_output":1`, "include_stop_str_in_output", "want true or false"},
		{`"skip_special_tokens":"no"`, "skip_special_tokens", "want true or false"},
		{`"use_beam_search":2`, "use_beam_search", "want true or false"},
		{`"use_beam_search":true,"n":5`, "use_beam_search", "at most 4 beams, which are n or best_of"},
		{`"use_beam_search":true,"best_of":5`, "use_beam_search", "at most 4 beams"},
		{`"use_beam_search":true,"n":3,"best_of":2`, "best_of", "at least n"},
		{`"use_beam_search":true,"stream":true`, "use_beam_search", "want stream false"},
		{`"use_beam_search":true,"echo":true,"logprobs":1`, "use_beam_search", "neither prompt_logprobs"},
		{`"use_beam_search":true,"prompt_logprobs":1`, "use_beam_search", "neither prompt_logprobs"},
		{`"use_beam_search":true,"guided_choice":["a"]`, "use_beam_search", "no form"},
		{`"use_beam_search":true,"temperature":1,"mirostat":2`, "use_beam_search", "mirostat"},
		{`"length_penalty":101`, "length_penalty", "from -100 to 100"},
		{`"early_stopping":"maybe"`, "early_stopping", "want true, false, never, found maybe"},
		{`"early_stopping":1`, "early_stopping", "want a string"},
	} {
		c.refused("/v1/completions", `{"max_tokens":3,`+x.fields+"}", 400, x.param, x.message)
	}
}

func TestBeamsAreThoseOfSearch(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	prompts := []string{"Once upon a time", strings.Repeat("The cat sat on the mat. ", 12)}
	for fields, with := range map[string]struct {
		search.BeamOptions
		temperature float64
	}{
		`"n":3`: {search.BeamOptions{Beams: 3, Return: 3, LengthPenalty: 1}, 0},
		`"n":2,"best_of":4,"length_penalty":2,"early_stopping":true`: {search.BeamOptions{Beams: 4,
			Return: 2, LengthPenalty: 2, EarlyStopping: search.EarlyStoppingTrue}, 0},
		`"n":2,"temperature":1.5,"length_penalty":0,"early_stopping":"never"`: {search.BeamOptions{
			Beams: 2, Return: 2, EarlyStopping: search.EarlyStoppingNever}, 1.5},
	} {
		fields += `,"max_tokens":5,"seed":3,"use_beam_search":true,"logprobs":1`
		a, tokens := c.complete(bodyOf(prompts, fields)), 0
		for i, prompt := range prompts {
			ids, err := tokenizer.GPT2().Encode(prompt)
			if err != nil {
				t.Fatal(err)
			}
			o := decode.Options{MaxTokens: 5, Vocabulary: tokenizer.GPT2(),
				Params: sample.Params{Temperature: with.temperature, Seed: 3}}
			session := m.NewSession()
			want, err := search.Beams(t.Context(), session, ids, with.BeamOptions, o)
			session.Release()
			if err != nil {
				t.Fatal(err)
			}
			for k := range want {
				got := a.Choices[i*with.Return+k]
				if got.Text != want[k].Text() || got.Index != i*with.Return+k ||
					number(t, *got.Logprobs.TokenLogprobs[3]) != want[k].Tokens[3].LogProb {
					t.Errorf("%s: choice %d is %q, want %q", fields, got.Index, got.Text,
						want[k].Text())
				}
				tokens += len(want[k].Tokens)
			}
		}
		if n := len(a.Choices); n != 2*with.Return || a.Usage.CompletionTokens != tokens {
			t.Errorf("%s: %d choices of %d tokens, want %d of %d", fields, n,
				a.Usage.CompletionTokens, 2*with.Return, tokens)
		}
	}
	// Where fewer texts can be written, there are fewer choices.
	if a := c.complete(`{"prompt":"Tom","max_tokens":2,"n":3,"use_beam_search":true,"ignore_eos":true,
		"allowed_token_ids":[11]}`); len(a.Choices) != 1 || a.Choices[0].Text != ",," {
		t.Errorf("%+v", a.Choices)
	}
	eventually(t, "all is given back", func() bool { return c.server.Waiting() == 0 })
	c.idle(m)
}

func TestTheEndOfATextMayBeShown(t *testing.T) {
	c := start(t, serve.Options{})
	const prompt = "Once upon a time"
	whole := c.complete(bodyOf(prompt, `"max_tokens":8,"temperature":0`)).Choices[0].Text
	const begin = ", there was a little girl"
	if !strings.HasPrefix(whole, begin) {
		t.Fatalf("the text is %q", whole)
	}
	for fields, want := range map[string]struct {
		text string
		stop any
	}{
		`"stop":"little"`: {", there was a ", "little"},
		`"stop":"little","include_stop_str_in_output":true`:            {", there was a little", "little"},
		`"stop":["was a l","was"],"include_stop_str_in_output":true`:   {", there was", "was"},
		`"stop":["as","was"],"include_stop_str_in_output":true`:        {", there was", "was"},
		`"stop_token_ids":[1310]`:                                      {", there was a", json.Number("1310")},
		`"stop_token_ids":[1310],"include_stop_str_in_output":true`:    {", there was a little", json.Number("1310")},
		`"logit_bias":{"50256":100}`:                                   {"", nil},
		`"logit_bias":{"50256":100},"skip_special_tokens":false`:       {"", nil},
		`"logit_bias":{"50256":100},"include_stop_str_in_output":true`: {"", nil},
		`"logit_bias":{"50256":100},"include_stop_str_in_output":true,"skip_special_tokens":false`: {
			"<|endoftext|>", nil},
		`"logit_bias":{"50256":100},"ignore_eos":true,"max_tokens":2`: {"", nil},
		`"logit_bias":{"50256":100},"ignore_eos":true,"max_tokens":2,"skip_special_tokens":false`: {
			"<|endoftext|><|endoftext|>", nil},
	} {
		body := bodyOf(prompt, `"temperature":0,`+fields)
		a := c.complete(body).Choices[0]
		if a.Text != want.text || a.StopReason != want.stop {
			t.Errorf("%s: %q for %v, want %q for %v", fields, a.Text, a.StopReason, want.text, want.stop)
		}
		_, stream := c.post("/v1/completions", strings.Replace(body, "{", `{"stream":true,`, 1))
		got := ""
		for _, event := range events(t, strings.TrimSuffix(stream, "data: [DONE]\n\n")) {
			got += decoded[answer](t, event).Choices[0].Text
		}
		if got != want.text {
			t.Errorf("%s: the stream has %q, want %q", fields, got, want.text)
		}
	}
}

func TestPromptsAreCut(t *testing.T) {
	c := start(t, serve.Options{})
	ids := func(from, n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint(1000+from+i))
		}
		return strings.Join(all, ",")
	}
	text := strings.Repeat("a b ", 300) + "Once upon a time"
	for _, x := range []struct {
		prompt, fields string
		want           string // ids
	}{
		{"[" + ids(0, 9) + "]", `"truncate_prompt_tokens":4`, ids(5, 4)},
		{"[" + ids(0, 9) + "]", `"truncate_prompt_tokens":0`, ids(0, 9)},
		{"[[" + ids(0, 2000) + "],[5]]", `"truncate_prompt_tokens":4`, ids(1996, 4)},
		{"[" + ids(0, 513) + "]", `"truncate_prompt_tokens":-1`, ids(513-250, 250)},
		{`"` + text + `"`, `"truncate_prompt_tokens":4`, "4874,2402,257,640"},
	} {
		a := c.complete(`{"temperature":0,"max_tokens":6,"logit_bias":{"50256":-100},"return_token_ids":true,"echo":true,"prompt":` + x.prompt + "," +
			x.fields + "}")
		got := a.Choices[0]
		if shown := strings.Trim(strings.ReplaceAll(fmt.Sprint(got.PromptTokenIDs), " ", ","), "[]"); shown != x.want {
			t.Errorf("%.40s, %s: the prompt is %s, want %s", x.prompt, x.fields, shown, x.want)
		}
		whole, err := tokenizer.GPT2().Decode(slices.Concat(got.PromptTokenIDs, got.TokenIDs))
		if err != nil || got.Text != whole {
			t.Errorf("%.40s, %s: the text is %q, want %q", x.prompt, x.fields, got.Text, whole)
		}
	}
}

// A promptScored is an answer with prompt_logprobs.
type promptScored struct {
	Choices []struct {
		PromptLogprobs promptScores `json:"prompt_logprobs"`
	}
	Scores promptScores `json:"prompt_logprobs"` // of a conversation
	Usage  struct {
		CompletionTokens int `json:"completion_tokens"`
	}
}

type promptScores []map[string]struct {
	Logprob json.Number
	Rank    *int
	Text    string `json:"decoded_token"`
}

func TestPromptsAreScoredAsEchoes(t *testing.T) {
	c := start(t, serve.Options{Template: chat.Plain})
	const prompt = "The zebra sat. é"
	ids, err := tokenizer.GPT2().Encode(prompt)
	if err != nil {
		t.Fatal(err)
	}
	echo := c.complete(bodyOf(prompt, `"max_tokens":0,"echo":true,"logprobs":3`)).Choices[0].Logprobs
	check := func(about string, got promptScores, top int) {
		t.Helper()
		if len(got) != len(ids) || got[0] != nil {
			t.Fatalf("%s: %d tokens after %v, want %d after null", about, len(got), got[0], len(ids))
		}
		for i, id := range ids[1:] {
			own, ok := got[i+1][fmt.Sprint(id)]
			if !ok || own.Logprob != *echo.TokenLogprobs[i+1] {
				t.Errorf("%s: token %d: %+v, want %v", about, i+1, got[i+1], *echo.TokenLogprobs[i+1])
			}
			likely := (*echo.TopLogprobs[i+1])
			for _, one := range got[i+1] {
				x, listed := likely[one.Text]
				if one.Rank != nil && (!listed || x != one.Logprob || *one.Rank < 1 || *one.Rank > top) {
					t.Errorf("%s: token %d: %+v of rank %d", about, i+1, one, *one.Rank)
				}
			}
			if n := len(got[i+1]); n != top && n != top+1 {
				t.Errorf("%s: token %d: %d entries, want the best %d", about, i+1, n, top)
			}
		}
	}
	for fields, top := range map[string]int{
		`"max_tokens":0,"prompt_logprobs":2`: 2, `"max_tokens":4,"prompt_logprobs":0,"n":2`: 0,
		`"max_tokens":4,"prompt_logprobs":3,"logprobs":1,"best_of":3`: 3,
		`"max_tokens":4,"prompt_logprobs":1,"logprobs":3,"echo":true`: 1,
	} {
		_, text := c.post("/v1/completions", bodyOf(prompt, fields))
		for _, choice := range decoded[promptScored](t, text).Choices {
			check(fields, choice.PromptLogprobs, top)
		}
	}
	a := c.complete(bodyOf(prompt, `"max_tokens":4,"prompt_logprobs":3,"logprobs":1,"seed":1`))
	if l := a.Choices[0].Logprobs; len(l.Tokens) != 4 || len(*l.TopLogprobs[0]) > 2 {
		t.Errorf("beside prompt_logprobs, the new tokens have %+v", l)
	}
	_, text := c.post("/v1/chat/completions",
		`{"messages":[{"role":"user","content":"`+prompt+`"}],"max_tokens":1,"prompt_logprobs":1}`)
	check("a conversation", decoded[promptScored](t, text).Scores, 1)
	// llama.cpp's n_probs are logprobs
	for _, fields := range []string{`"n_probs":2`, `"n_probs":5,"logprobs":2`, `"logprobs":2,"n_probs":5`} {
		got := c.complete(bodyOf(prompt, `"max_tokens":1,"temperature":0,`+fields)).Choices[0].Logprobs
		if got == nil || len(*got.TopLogprobs[0]) != 2 {
			t.Errorf("%s: %+v", fields, got)
		}
	}
	if got := c.complete(bodyOf(prompt, `"max_tokens":1,"n_probs":0`)).Choices[0].Logprobs; got != nil {
		t.Errorf("n_probs 0: %+v", got)
	}
}

func TestRolesAreRendered(t *testing.T) {
	const special = "<|endoftext|>"
	for _, x := range []struct{ template, messages, want string }{
		{`{{.Text}}`, `[["system","Be kind."],["user","Hi"]]`, "Be kind.~\n~Hi"},
		{`{{.Text}}`, `[["developer","Be kind."],["system","Be short."],["user","Hi"]]`,
			"Be kind.~\n~Be short.~\n~Hi"},
		{chat.Plain, `[["system","S"],["user","A"],["assistant","B"],["system","T"],["user","C"]]`,
			"S~\n~A~B~\n~T~\n~\n~C"},
		{chat.DialoGPT, `[["system","S"],["user","A"]]`, "S~\n~A~" + special},
		{`[{{.Role}} {{.Turn}}] {{.Text}}`, `[["system","S"],["user","A"],["developer","D"],["user","B"]]`,
			"[~system~ 0~]~ S~[~user~ 0~]~ A~[~developer~ 1~]~ D~[~user~ 1~]~ B"},
	} {
		c := start(t, serve.Options{Template: x.template})
		var messages []map[string]string
		for _, m := range decoded[[][2]string](t, x.messages) {
			messages = append(messages, map[string]string{"role": m[0], "content": m[1]})
		}
		b, _ := json.Marshal(map[string]any{"messages": messages, "max_tokens": 1,
			"return_token_ids": true})
		r, text := c.post("/v1/chat/completions", string(b))
		if r.StatusCode != 200 {
			t.Errorf("%s: %d: %s", x.messages, r.StatusCode, text)
			continue
		}
		var want []int
		for _, piece := range strings.Split(x.want, "~") {
			ids, err := tokenizer.GPT2().WithSpecial().Encode(piece)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, ids...)
		}
		if got := decoded[answer](t, text).Choices[0].PromptTokenIDs; !slices.Equal(got, want) {
			shown, _ := tokenizer.GPT2().Decode(got)
			t.Errorf("%s: %v, %q, want %v", x.messages, got, shown, want)
		}
	}
	c := start(t, serve.Options{Template: chat.Plain})
	// what stands in a message is text, whoever wrote it
	_, text := c.post("/v1/chat/completions", `{"messages":[{"role":"system","content":"`+special+`"},
		{"role":"user","content":"a"}],"max_tokens":1,"return_token_ids":true}`)
	if got := decoded[answer](t, text).Choices[0].PromptTokenIDs; slices.Contains(got, 50256) {
		t.Errorf("a message ends the text: %v", got)
	}
	c.refused("/v1/chat/completions", `{"messages":[{"role":"robot","content":"a"}]}`, 400, "messages",
		"want the role system, developer, user, assistant or tool, found")
	c.refused("/v1/chat/completions", `{"messages":[{"content":"a"}]}`, 400, "messages",
		"want the role system, developer, user, assistant or tool, found none")
	c.refused("/v1/chat/completions", `{"messages":[{"role":"system","content":"a"}]}`, 400, "messages",
		"at the end")
}

func TestAModelMayHaveSeveralNames(t *testing.T) {
	c := start(t, serve.Options{Name: "one", Aliases: []string{"two/three", "four"}, Version: "v1.2.3"})
	for _, name := range []string{"one", "two/three", "four"} {
		if a := c.complete(`{"model":"` + name + `","max_tokens":1}`); a.Model != "one" {
			t.Errorf("%s: the answer is of %s", name, a.Model)
		}
		_, text := c.do("GET", "/v1/models/"+name, "")
		if got := decoded[struct{ ID string }](t, text).ID; got != name {
			t.Errorf("/v1/models/%s is %s", name, got)
		}
	}
	_, text := c.do("GET", "/v1/models", "")
	list := decoded[struct{ Data []struct{ ID string } }](t, text).Data
	if len(list) != 3 || list[0].ID != "one" || list[1].ID != "two/three" || list[2].ID != "four" {
		t.Errorf("the models %s", text)
	}
	c.refused("/v1/completions", `{"model":"five"}`, 404, "model", "want one")
	if _, text := c.do("GET", "/version", ""); strings.TrimSpace(text) != `{"version":"v1.2.3"}` {
		t.Errorf("/version: %s", text)
	}
}

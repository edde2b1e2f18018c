package lines

// Prompts of rows, and their texts. The testscripts of gpt generate show the rest.

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"

	"picogpt/decode"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
	"picogpt/sample"
	"picogpt/tokenizer"
)

func TestWhatAnObjectAsksToContinue(t *testing.T) {
	tok := tokenizer.GPT2()
	missing := errors.New("no tokenizer")
	for _, c := range []struct {
		in     PromptReader
		object string
		want   string // text, ids and seed, or the error
	}{
		{PromptReader{Tokenizer: tok}, `{"prompt":"Once upon"}`, `"Once upon" [7454 2402] seed <nil>`},
		{PromptReader{Tokenizer: tok}, `{"prompt":"Once upon","tokens":null,"seed":18446744073709551615}`,
			`"Once upon" [7454 2402] seed 18446744073709551615`},
		{PromptReader{}, `{"tokens":[1],"seed":-1}`, "<nil> [1] seed 18446744073709551615"},
		{PromptReader{}, `{"tokens":[7,8],"seed":0}`, `<nil> [7 8] seed 0`},
		{PromptReader{}, `{"tokens":[],"prompt":null,"seed":null}`, `<nil> [] seed <nil>`},
		{PromptReader{Missing: missing}, `{"prompt":""}`, `"" [] seed <nil>`},
		{PromptReader{Missing: missing}, `{"prompt":"a"}`, "no tokenizer"},
		{PromptReader{Tokenizer: tok, Special: true}, `{"prompt":"<|endoftext|>"}`,
			`"<|endoftext|>" [50256] seed <nil>`},
		{PromptReader{Tokenizer: tok}, `{"prompt":"<|"}`, `"<|" [27 91] seed <nil>`},
		{PromptReader{Tokenizer: tok, TextField: "q"}, `{"q":"Once","prompt":3,"tokens":"x"}`,
			`"Once" [7454] seed <nil>`},
		{PromptReader{Tokenizer: tok, TextField: "q"}, `{"prompt":"Once"}`, "want q"},
		{PromptReader{Tokenizer: tok, TextField: "q"}, `{"q":null}`, "want q"},
		{PromptReader{Tokenizer: tok, TextField: "q"}, `{"q":[]}`, "q: want a string"},
		{PromptReader{}, `{}`, "want prompt, or tokens"},
		{PromptReader{}, `{"text":"a"}`, "want prompt, or tokens"},
		{PromptReader{}, `{"prompt":"a","tokens":[1]}`, "want prompt, or tokens"},
		{PromptReader{}, `{"prompt":5}`, "prompt: want a string"},
		{PromptReader{}, `{"tokens":[1.5]}`, "tokens: want an array of whole numbers"},
		{PromptReader{}, `{"tokens":[1],"seed":-9223372036854775809}`,
			"seed: want a whole number from -2^63 to 2^64-1"},
		{PromptReader{}, `{"tokens":[1],"seed":18446744073709551616}`,
			"seed: want a whole number from -2^63 to 2^64-1"},
		{PromptReader{}, `{"tokens":[1],"seed":"7"}`,
			"seed: want a whole number from -2^63 to 2^64-1"},
		{PromptReader{}, `{"tokens":[1],"seed":1e3}`,
			"seed: want a whole number from -2^63 to 2^64-1"},
	} {
		o, err := rows.ParseObject([]byte(c.object))
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.in.Object(o)
		got := "<nil>"
		if p.Text != nil {
			got = fmt.Sprintf("%q", *p.Text)
		}
		got += fmt.Sprintf(" %v seed ", p.IDs)
		if p.Seed != nil {
			got += fmt.Sprint(*p.Seed)
		} else {
			got += "<nil>"
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v, %s: %s, want %s", c.in, c.object, got, c.want)
		}
	}
}

// tokens yields the tokens of two samples, which take turns.
func tokens(yield func(decode.Token, error) bool) {
	for _, t := range []decode.Token{
		{Sample: 1, ID: 5, LogProb: -1, Text: "<", Dropped: 3,
			Top: []sample.Alternative{{ID: 5, LogProb: -1}}},
		{Sample: 0, ID: 7, LogProb: -2, Text: "a", Finish: decode.FinishLength},
		{Sample: 1, ID: 50256, LogProb: -3, Text: "b", Dropped: 1,
			Finish: decode.FinishEndOfText},
	} {
		if !yield(t, nil) {
			return
		}
	}
}

func TestRecords(t *testing.T) {
	for _, c := range []struct {
		form Form
		want [2]string
	}{
		{Form{Text: true}, [2]string{
			`{"source":"s","line":3,"id":[7],"sample":0,"seed":9,"prompt_ids":[1],"ids":[7],` +
				`"text":"a","logprobs":[-2],"dropped":0,"finish_reason":"length"}`,
			`{"source":"s","line":3,"id":[7],"sample":1,"seed":10,"prompt_ids":[1],"ids":[5],` +
				`"text":"<b","logprobs":[-1],"dropped":4,"finish_reason":"end_of_text"}`}},
		{Form{Top: true}, [2]string{
			`{"source":"s","line":3,"id":[7],"sample":0,"seed":9,"prompt_ids":[1],"ids":[7],` +
				`"text":null,"logprobs":[-2],"top":[null],"dropped":0,"finish_reason":"length"}`,
			`{"source":"s","line":3,"id":[7],"sample":1,"seed":10,"prompt_ids":[1],"ids":[5],` +
				`"text":null,"logprobs":[-1],"top":[[{"id":5,"text":"","logprob":-1}]],` +
				`"dropped":4,"finish_reason":"end_of_text"}`}},
	} {
		samples, err := c.form.Collect(tokens, 2, 9, []int{1})
		if err != nil || len(samples) != 2 {
			t.Fatal(samples, err)
		}
		for i, s := range samples {
			line, err := strictjson.Line(TextRecord{"s", 3, json.RawMessage("[7]"), s})
			if err != nil || string(line) != c.want[i]+"\n" {
				t.Errorf("%+v: %v\n%swant\n%s", c.form, err, line, c.want[i])
			}
		}
	}
}

func TestAnErrorEndsAllSamples(t *testing.T) {
	broken := errors.New("broken")
	var failing iter.Seq2[decode.Token, error] = func(yield func(decode.Token, error) bool) {
		_ = yield(decode.Token{ID: 1}, nil) && yield(decode.Token{}, broken)
	}
	if samples, err := (Form{}).Collect(failing, 2, 0, nil); samples != nil || err != broken {
		t.Errorf("%v, %v", samples, err)
	}
}

package serve_test

// Log-probabilities: their tokens, their format, and the offsets of their tokens.

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/serve"
	"picogpt/tokenizer"
)

func number(t testing.TB, n json.Number) float64 {
	t.Helper()
	x, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// bodyOf writes a request of ids.
func bodyOf(prompts any, fields string) string {
	b, _ := json.Marshal(prompts) // strings and ids have a JSON
	return `{"prompt":` + string(b) + "," + fields + "}"
}

func TestNewTokensHaveTheModelsOwnLogProbabilities(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	const prompt = "The cat sat"
	_, want := direct(
		t,
		m,
		prompt,
		decode.Options{MaxTokens: 12, Top: 3, Params: sample.Params{Temperature: 0.7, Seed: 4}},
	)
	a := c.complete(bodyOf(prompt, `"max_tokens":12,"temperature":0.7,"seed":4,"logprobs":3`))
	l, at := a.Choices[0].Logprobs, 0
	if n := len(want); len(l.Tokens) != n || len(l.TokenLogprobs) != n || len(l.TopLogprobs) != n ||
		len(l.TextOffset) != n {
		t.Fatalf("lists of %d, %d, %d and %d, want %d of each", len(l.Tokens), len(l.TokenLogprobs),
			len(l.TopLogprobs), len(l.TextOffset), n)
	}
	for i, token := range want {
		if got := number(t, *l.TokenLogprobs[i]); got != token.LogProb {
			t.Errorf("token %d: %v, want %v", i, got, token.LogProb)
		}
		top := *l.TopLogprobs[i]
		if top[l.Tokens[i]] != *l.TokenLogprobs[i] {
			t.Errorf("token %d: %s in the list and %s among the likeliest", i, *l.TokenLogprobs[i],
				top[l.Tokens[i]])
		}
		for _, alternative := range token.Top {
			if got := number(t, top[alternative.Text]); got != alternative.LogProb {
				t.Errorf(
					"token %d: %q has %v, want %v",
					i,
					alternative.Text,
					got,
					alternative.LogProb,
				)
			}
		}
		if len(top) != 3 && len(top) != 4 {
			t.Errorf("token %d: %d alternatives, want 3 or, with the token, 4", i, len(top))
		}
		if l.TextOffset[i] != at {
			t.Errorf("token %d is at %d, want %d", i, l.TextOffset[i], at)
		}
		at += utf8.RuneCountInString(l.Tokens[i])
	}
	if strings.Join(l.Tokens, "") != a.Choices[0].Text {
		t.Errorf("the tokens are %q, the text %q", l.Tokens, a.Choices[0].Text)
	}
}

// TestScoresAreThoseOfEval asks as lm-evaluation-harness does: with a context and its continuation
// as a prompt, and one token more.
func TestScoresAreThoseOfEval(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	tok := tokenizer.GPT2()
	texts := []string{"Once upon a time, there was a cat.", "Tom", "Lily saw “stars” — 12 of them",
		"The the the the the", "😀 é"}
	var prompts [][]int
	for _, text := range texts {
		ids, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, ids)
	}
	for _, tokens := range []int{1, 0} {
		a := c.complete(bodyOf(prompts, fmt.Sprintf(
			`"model":"demo","temperature":0,"max_tokens":%d,"logprobs":1,"seed":1234,"echo":true`,
			tokens,
		)))
		for i, text := range texts {
			want, err := eval.ScoreOne(t.Context(), m, tok, eval.Request{Text: text},
				eval.ScoreOptions{Top: 1})
			if err != nil {
				t.Fatal(err)
			}
			l := a.Choices[i].Logprobs
			if len(l.Tokens) != len(prompts[i])+tokens {
				t.Fatalf("%q: %d entries, want %d", text, len(l.Tokens), len(prompts[i])+tokens)
			}
			if l.TokenLogprobs[0] != nil || l.TopLogprobs[0] != nil {
				t.Errorf("%q: the first entry is not null", text)
			}
			for k, token := range want.Tokens[1:] {
				got, top := *l.TokenLogprobs[k+1], *l.TopLogprobs[k+1]
				if number(t, got) != token.LogProb {
					t.Errorf("%q, token %d: %s, want %v", text, k+1, got, token.LogProb)
				}
				best := json.Number("")
				for _, x := range top {
					if best == "" || number(t, x) > number(t, best) {
						best = x
					}
				}
				if (best == got) != token.Greedy { // as texts: equal numbers are equal texts
					t.Errorf("%q, token %d: %s and the best %s, greedy is %v", text, k+1, got, best,
						token.Greedy)
				}
			}
			if got := a.Choices[i].Text; !strings.HasPrefix(got, text) ||
				tokens == 0 && got != text {
				t.Errorf("the echo %q, want %q", got, text)
			}
			if reason := *a.Choices[i].FinishReason; reason != "length" && reason != "stop" {
				t.Errorf("finish_reason %s", reason)
			}
			checkOffsets(t, l, a.Choices[i].Text)
		}
		if a.Usage.CompletionTokens != tokens*len(texts) {
			t.Errorf("%d new tokens, want %d", a.Usage.CompletionTokens, tokens*len(texts))
		}
	}
}

// checkOffsets checks that each token that is text is at its offset.
func checkOffsets(t testing.TB, l *logprobs, text string) {
	t.Helper()
	runes := []rune(text)
	for i, token := range l.Tokens {
		if strings.HasPrefix(token, "bytes:") || token == "<|endoftext|>" {
			continue
		}
		at := l.TextOffset[i]
		if at > len(runes) || !strings.HasPrefix(string(runes[at:]), token) {
			t.Errorf("token %q at %d of %q", token, at, text)
		}
	}
}

// TestGGUFClientsFindTheContinuation finds it as lm-evaluation-harness's gguf class does.
func TestGGUFClientsFindTheContinuation(t *testing.T) {
	c := start(t, serve.Options{})
	for _, x := range [][2]string{{"Once upon a", " time there"}, {"Où est-ce “là”", " — ici"}} {
		a := c.complete(
			bodyOf(x[0]+x[1], `"logprobs":10,"temperature":0,"max_tokens":1,"echo":true`),
		)
		l, first := a.Choices[0].Logprobs, 0
		for l.TextOffset[first] < utf8.RuneCountInString(x[0]) {
			first++
		}
		if got := strings.Join(l.Tokens[first:len(l.Tokens)-1], ""); got != x[1] {
			t.Errorf("the continuation %q, want %q", got, x[1])
		}
		if !slices.IsSorted(l.TextOffset) {
			t.Errorf("offsets %v", l.TextOffset)
		}
	}
}

func TestPartsOfCharactersAreBytes(t *testing.T) {
	c := start(t, serve.Options{})
	a := c.complete(bodyOf("a😀b", `"logprobs":0,"max_tokens":0,"echo":true`))
	l := a.Choices[0].Logprobs
	want := []string{"a", `bytes:\xf0\x9f\x98`, `bytes:\x80`, "b"}
	if !slices.Equal(l.Tokens, want) || !slices.Equal(l.TextOffset, []int{0, 1, 1, 2}) {
		t.Errorf("tokens %q at %v, want %q at [0 1 1 2]", l.Tokens, l.TextOffset, want)
	}
	a = c.complete(bodyOf("a😀b",
		`"logprobs":1,"max_tokens":0,"echo":true,"return_tokens_as_token_ids":true`))
	l = a.Choices[0].Logprobs
	if want := []string{
		"token_id:64",
		"token_id:47249",
		"token_id:222",
		"token_id:65",
	}; !slices.Equal(
		l.Tokens,
		want,
	) {
		t.Errorf("tokens %q, want %q", l.Tokens, want)
	}
	for name := range *l.TopLogprobs[1] {
		if !strings.HasPrefix(name, "token_id:") {
			t.Errorf("an alternative %q", name)
		}
	}
	// a prompt that ends in the middle of a character is text with U+FFFD in it
	a = c.complete(bodyOf([]int{64, 47249}, `"logprobs":0,"max_tokens":0,"echo":true`))
	if got := a.Choices[0].Text; got != "a\ufffd\ufffd\ufffd" {
		t.Errorf("half a character is %q", got)
	}
}

func TestAnEndOfTextHasAnEntryAndNoText(t *testing.T) {
	c := start(t, serve.Options{})
	a := c.complete(bodyOf("The end.", `"max_tokens":3,"logprobs":1,"logit_bias":{"50256":100}`))
	choice := a.Choices[0]
	if choice.Text != "" || *choice.FinishReason != "stop" || choice.StopReason != nil {
		t.Errorf("%+v", choice)
	}
	if l := choice.Logprobs; !slices.Equal(l.Tokens, []string{"<|endoftext|>"}) ||
		l.TextOffset[0] != 0 {
		t.Errorf("entries %+v, want one", l)
	}
	if a.Usage.CompletionTokens != 1 {
		t.Errorf("%d tokens, want 1", a.Usage.CompletionTokens)
	}
	a = c.complete(
		bodyOf(
			"The end.",
			`"max_tokens":3,"ignore_eos":true,"logit_bias":{"50256":100},"return_token_ids":true`,
		),
	)
	if choice := a.Choices[0]; choice.Text != "" || *choice.FinishReason != "length" ||
		!slices.Equal(choice.TokenIDs, []int{50256, 50256, 50256}) {
		t.Errorf("with ignore_eos: %+v", choice)
	}
}

func TestTheEndOfTextInAPromptIsTheToken(t *testing.T) {
	c := start(t, serve.Options{})
	for _, prompt := range []string{`"<|endoftext|>"`, `[50256]`, `null`, `""`, `[]`, `["<|endoftext|>"]`} {
		a := c.complete(`{"prompt":` + prompt + `,"max_tokens":4,"seed":9,"return_token_ids":true}`)
		if got := a.Choices[0].PromptTokenIDs; !slices.Equal(got, []int{50256}) {
			t.Errorf("%s is %v", prompt, got)
		}
		want := c.complete(`{"max_tokens":4,"seed":9}`).Choices[0].Text
		if got := a.Choices[0].Text; got != want {
			t.Errorf("%s: %q, want %q", prompt, got, want)
		}
	}
	a := c.complete(`{"prompt":"","echo":true,"max_tokens":2,"logprobs":0,"seed":1}`)
	l := a.Choices[0].Logprobs
	if len(l.Tokens) != 3 || l.Tokens[0] != "<|endoftext|>" || l.TokenLogprobs[0] != nil {
		t.Errorf("the echo of nothing: %+v", l)
	}
}

func TestMinusInfinityIs9999(t *testing.T) {
	for x, want := range map[float64]string{math.Inf(-1): "-9999", -10000: "-9999", -0.5: "-0.5",
		math.NaN(): "null", -1e-7: "-1e-07", 0: "0"} {
		if got := string(serve.AppendLogProb(nil, x)); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
}

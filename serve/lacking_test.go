package serve_test

// A vocabulary that has no token for some bytes.

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/dev/toys"
	"picogpt/model"
	"picogpt/serve"
)

// TestDroppedBytesAreEchoed: an echoed prompt is as it came, with the bytes that its tokens lack, and
// offsets are places in it: lm-evaluation-harness finds a continuation by them.
func TestDroppedBytesAreEchoed(t *testing.T) {
	cases.NotShort(t)
	tok, err := toys.Lacking("<\xc3*")
	if err != nil {
		t.Fatal(err)
	}
	c := startTokenizer(t, testmodel.Demo(t, model.Options{Threads: 1}), tok,
		serve.Options{MaxBody: 32 << 20})
	const prompt = "<Once* up<on né a <<"
	a := c.complete(bodyOf(prompt, `"logprobs":0,"max_tokens":1,"echo":true,"seed":1`)).Choices[0]
	if !strings.HasPrefix(a.Text, prompt) {
		t.Errorf("%q, want %q before the new text", a.Text, prompt)
	}
	l, runes := a.Logprobs, []rune(a.Text)
	for i, token := range l.Tokens {
		rest := string(runes[l.TextOffset[i]:])
		if token == ` upon` {
			token = " up<on"
		}
		if token == `bytes:\xa9` {
			token = "é"
		}
		if !strings.HasPrefix(rest, token) {
			t.Errorf("token %q at %d, where %q is", token, l.TextOffset[i], rest)
		}
	}
	last := len(l.Tokens) - 1
	if !slices.IsSorted(l.TextOffset) || l.TextOffset[last] != len([]rune(prompt)) {
		t.Errorf("offsets %v, want %d at the end", l.TextOffset, len([]rune(prompt)))
	}
	for _, body := range []string{
		bodyOf(strings.Repeat("<", 1<<20)+"a", `"max_tokens":1`), // a single token
		bodyOf("<<<", `"max_tokens":1,"echo":true,"logprobs":1`), // none
	} {
		if r, answer := c.post("/v1/completions", body); r.StatusCode != http.StatusOK {
			t.Errorf("%.40s…: %s", body, answer)
		}
	}
}

package serve_test

// Texts that the cache can never hold.

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
)

func TestWhatCanNeverFitIsRefused(t *testing.T) {
	cases.NotShort(t)
	free := testmodel.Demo(t, model.Options{Threads: 1})
	m := testmodel.Demo(t, model.Options{Threads: 1, CacheBytes: free.SessionBytes(100)})
	c := startWith(t, m, serve.Options{Template: "{{.Text}}"})
	ids := func(n int) string { return "[" + strings.Repeat("1000,", n-1) + "1000]" }
	body := func(prompt, tokens int, fields string) string {
		return fmt.Sprintf(`{"prompt":%s,"max_tokens":%d,"ignore_eos":true,"seed":1%s}`, ids(prompt),
			tokens, fields)
	}
	for _, x := range []struct {
		path, body string
		fits       bool
	}{
		{"/v1/completions", body(40, 61, ""), true}, // the last token is not evaluated
		{"/v1/completions", body(40, 100, ""), false},
		{"/v1/completions", body(1, 101, ""), true},
		{"/v1/completions", body(140, 1, ""), false},
		{"/v1/completions", body(140, 0, ""), true}, // nothing is evaluated
		{"/v1/completions", body(140, 0, `,"echo":true,"logprobs":1`), false},
		{"/v1/completions", body(140, 5, `,"truncate_prompt_tokens":-1`), true},
		{"/v1/completions", body(140, 5, `,"truncate_prompt_tokens":130`), false},
		{"/v1/completions", body(20, 12, `,"n":5`), true},
		{"/v1/completions", body(60, 41, `,"n":5`), false},
		{"/v1/completions", body(20, 12, `,"guidance_scale":2,"negative_prompt":"a"`), true},
		{"/v1/completions", body(60, 41, `,"guidance_scale":2,"negative_prompt":"a"`), false},
		{"/v1/completions", `{"prompt":["a",` + `"` + strings.Repeat(" cat", 140) + `"]}`, false},
		{"/v1/embeddings", `{"input":` + ids(100) + `}`, true},
		{"/v1/embeddings", `{"input":["a","` + strings.Repeat(" cat", 140) + `"]}`, false},
		{"/v1/chat/completions", `{"ignore_eos":true,"messages":[{"role":"user","content":"` +
			strings.Repeat(" cat", 60) + `"}]}`, true}, // 40 tokens are its default
	} {
		if !x.fits {
			param := "prompt"
			if strings.Contains(x.path, "embed") {
				param = "input"
			}
			c.refused(x.path, x.body, 400, param, "of the server's cache, which has")
			continue
		}
		if r, text := c.post(x.path, x.body); r.StatusCode != 200 {
			t.Errorf("%s, %.300s: status %d: %s", x.path, x.body, r.StatusCode, text)
		}
	}
	c.idle(m)
}

// The beams of a text need their pages at the same time: what the check lets in ends with 200, however
// small the cache is, and what it refuses is 400, at once and not after other texts have ended.
func TestBeamsThatCanNeverFitAreRefused(t *testing.T) {
	cases.NotShort(t)
	// pages are counted alike in small models
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 257, Positions: 256})
	dir := t.TempDir()
	if err := fixture.ByteTokenizer(dir); err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	free := testmodel.New(t, config, file, model.Options{Threads: 1})
	for _, guided := range []string{"", `,"guidance_scale":1.5,"negative_prompt":"a cat"`} {
		served, refused := 0, 0
		for _, texts := range []int64{1, 2, 4, 8} { // of 100 tokens, which the cache holds
			m := testmodel.New(t, config, file,
				model.Options{Threads: 1, CacheBytes: texts * free.SessionBytes(100)})
			c := startTokenizer(t, m, tok, serve.Options{})
			for _, prompt := range []int{1, 30, 63, 64, 100} {
				for _, beams := range []int{2, 5} {
					for _, most := range []int{3, 40, 70} {
						body := fmt.Sprintf(`{"prompt":[%s7],"max_tokens":%d,"n":%d,"use_beam_search":true,
							"ignore_eos":true%s}`, strings.Repeat("64,", prompt-1), most, beams, guided)
						r, text := c.post("/v1/completions", body)
						switch {
						case r.StatusCode == 200:
							served++
						case r.StatusCode == 400 && strings.Contains(text, "of the server's cache, which has"):
							refused++
						default:
							t.Errorf("a cache for %d texts, %s: status %d: %s", texts, body, r.StatusCode,
								text)
						}
					}
				}
			}
			c.idle(m)
		}
		if served < 30 || refused < 30 {
			t.Errorf("%d were served and %d refused, want both", served, refused)
		}
	}
}

package serve_test

// Conversations in Jinja: one text of all messages.

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"picogpt/batch"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

const inJinja = `{{ bos_token }}{% for m in messages %}[{{ m.role }}{{ ' ' + m.name if m.name }}] ` +
	`{{ m.content }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}{{ more }}`

// TestAConversationIsOneTextInJinja: its ids are those of the whole, with special tokens; a last
// message of the assistant goes on.
func TestAConversationIsOneTextInJinja(t *testing.T) {
	c := start(t, serve.Options{Template: inJinja, TemplateTokens: map[string]string{
		"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}, TemplateNote: "be careful"})
	const hi = `{"role":"system","content":"Be kind."},{"role":"user","name":"Ann","content":[{"type":"text","text":"Hi"}]}`
	const begin = "<|endoftext|>[system] Be kind.<|endoftext|>[user Ann] Hi<|endoftext|>"
	for _, x := range []struct{ fields, want string }{
		{`"messages":[` + hi + `]`, begin + "[assistant]"},
		{`"messages":[` + hi + `],"add_generation_prompt":false`, begin},
		{`"messages":[` + hi + `],"add_generation_prompt":null,"chat_template_kwargs":{"more":[1,{"a":null}]}`,
			begin + "[assistant][1, {'a': None}]"},
		{`"messages":[` + hi + `,{"role":"assistant","content":"Yes, "}]`, begin + "[assistant] Yes, "},
		{`"messages":[` + hi + `,{"role":"assistant","content":"Yes"}],"continue_final_message":true`, begin + "[assistant] Yes"},
		{`"messages":[` + hi + `,{"role":"assistant","content":"Yes"}],"continue_final_message":false`,
			begin + "[assistant] Yes<|endoftext|>[assistant]"},
		{`"messages":[{"role":"user","content":"a<|endoftext|>b"}]`,
			"<|endoftext|>[user] a<|endoftext|>b<|endoftext|>[assistant]"},
	} {
		r, text := c.post("/v1/chat/completions", `{"max_tokens":1,"return_token_ids":true,`+x.fields+"}")
		want, err := tokenizer.GPT2().WithSpecial().Encode(x.want)
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode != 200 || !slices.Equal(decoded[answer](t, text).Choices[0].PromptTokenIDs, want) ||
			!strings.Contains(r.Header.Get("Warning"), "be careful") {
			t.Errorf("%s: %d %s, %q, want %q", x.fields, r.StatusCode, r.Header.Get("Warning"), text, x.want)
		}
		_, text = c.post("/tokenize", "{"+x.fields+"}") // as vLLM has it
		if got := decoded[struct{ Tokens []int }](t, text).Tokens; !slices.Equal(got, want) {
			t.Errorf("/tokenize %s: %s, want %d", x.fields, text, want)
		}
	}
	for fields, param := range map[string]string{
		`"messages":[` + hi + `],"continue_final_message":true`:                                                      "messages",
		`"messages":[{"role":"assistant","content":"a"}],"continue_final_message":true,"add_generation_prompt":true`: "continue_final_message",
		`"messages":[` + hi + `],"chat_template":"{{ 1 }}"`:                                                          "chat_template",
		`"messages":[` + hi + `],"chat_template_kwargs":{"messages":[]}`:                                             "chat_template_kwargs",
		`"messages":[` + hi + `],"chat_template_kwargs":[]`:                                                          "chat_template_kwargs",
		`"messages":[` + hi + `],"chat_template_kwargs":{"more":{"a":1,"a":2}}`:                                      "chat_template_kwargs",
		`"messages":[{"role":"user","content":"` + strings.Repeat("a b ", 200) + `"}]`:                               "messages",
	} {
		c.refused("/v1/chat/completions", `{"max_tokens":1,`+fields+"}", 400, param, "")
	}
}

// TestTheLengthOfAConversationIsToldThoughItIsTooLong for the model, to a bound.
func TestTheLengthOfAConversationIsToldThoughItIsTooLong(t *testing.T) {
	c := start(t, serve.Options{Template: inJinja})
	talk := func(n int) string {
		return `{"messages":[{"role":"user","content":"` + strings.Repeat("a ", n) + `"}]}`
	}
	_, text := c.post("/tokenize", talk(5000))
	if n := decoded[struct{ Count int }](t, text).Count; n < 5000 {
		t.Errorf("%.200s", text)
	}
	c.refused("/tokenize", talk(1<<19+1), 400, "messages", "want at most 1048576 bytes")
	c.refused("/tokenize", `{"messages":[{"role":"user","content":"a"}],"prompt":"a"}`, 400, "prompt", "not both")
	c.refused("/tokenize", `{"messages":[{"role":"user","content":"a"}],"tool_choice":"required"}`, 400, "tool_choice", "want tools")
}

// TestATemplateOfFilesOfOthersIsBounded: one that never ends, or refuses the messages, is the
// request's error.
func TestATemplateOfFilesOfOthersIsBounded(t *testing.T) {
	for template, message := range map[string]string{
		`{% set l = messages * 9999 %}{% for a in l %}{% for b in l %}{% endfor %}{% endfor %}`: "too many steps",
		`{{ messages }}{{ "a" * 99999999 }}`:                                                    "too much text",
		`{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}{{ messages }}`:                         "deep",
		`{{ raise_exception('only ' ~ messages|length) }}`:                                      "template: line 1: only 1",
		`{{ messages[0].nope.x }}`:                                                              "template: line 1: a dict has no nope",
	} {
		c := start(t, serve.Options{Template: template})
		c.refused("/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}]}`, 400, "messages", message)
	}
}

// TestEqualBeginningsOfConversationsAreEvaluatedOnce: each turn is rendered anew.
func TestEqualBeginningsOfConversationsAreEvaluatedOnce(t *testing.T) {
	c := start(t, serve.Options{Template: inJinja,
		Batcher: batch.Options{PrefixBytes: 1 << 28}})
	messages := `{"role":"user","content":"` + strings.Repeat("They ran. ", 40) + `"}`
	for i := range 3 {
		r, text := c.post("/v1/chat/completions", `{"max_tokens":4,"temperature":0,"messages":[`+messages+`]}`)
		used := decoded[struct {
			Usage struct {
				Details struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
			Choices []struct{ Message struct{ Content string } }
		}](t, text)
		if n := used.Usage.Details.Cached; r.StatusCode != 200 || i > 0 && n < 100 {
			t.Errorf("turn %d: %d tokens were there: %s", i, n, text)
		}
		messages += `,{"role":"assistant","content":"ok"},{"role":"user","content":"And?"}`
	}
}

// TestTheTokenizersEndEndsAnAnswer: where the model's is another; a request may write past both.
func TestTheTokenizersEndEndsAnAnswer(t *testing.T) {
	const girl = `{"messages":[{"role":"user","content":"Once upon a time, there was a girl."}],"temperature":0,"max_tokens":200`
	config := bytes.ReplaceAll(demo.Config(), []byte(`"eos_token_id": 50256`), []byte(`"eos_token_id": 11111`))
	for ends, finish := range map[string]string{"<|endoftext|>": "stop", " explore": "length", "": "length"} {
		m := testmodel.New(t, config, demo.Weights(), model.Options{Threads: 1})
		c := startWith(t, m, serve.Options{Template: "{{ messages[0].content }}", TemplateJinja: true,
			TemplateTokens: map[string]string{"eos_token": ends}})
		for fields, want := range map[string]string{"": finish, `,"ignore_eos":true`: "length"} {
			_, text := c.post("/v1/chat/completions", girl+fields+"}")
			if got := decoded[answer](t, text).Choices[0].FinishReason; got == nil || *got != want {
				t.Errorf("eos_token %q, %s: finish_reason in %s, want %s", ends, fields, text, want)
			}
		}
	}
}

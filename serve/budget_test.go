package serve_test

// The texts of forms end within max_tokens, or the room of the context.

import (
	"encoding/json"
	"fmt"
	"testing"

	"picogpt/serve"
)

const boundForm = `"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object",
	"properties":{"name":{"type":"string"},"list":{"type":"array","items":{"type":"string"}}},
	"required":["name","list"]}}}`

type boundAnswer struct {
	Choices []struct {
		Text         string
		Message      struct{ Content string }
		FinishReason string `json:"finish_reason"`
		Budget       *struct {
			Masks     int
			Kept      float64
			Outranked string
		} `json:"form_budget"`
	}
	Usage struct {
		Completion int `json:"completion_tokens"`
	}
}

func TestFormsEndInTime(t *testing.T) {
	c := start(t, serve.Options{Template: "{{.Text}}"})
	narrowed := 0
	for seed := range 6 {
		for _, fields := range []string{`"max_tokens":20,`, `"max_tokens":33,`, ``} {
			body := bodyOf("As JSON: ", fmt.Sprintf(`"seed":%d,"temperature":1.5,`, seed)+fields+boundForm)
			r, text := c.post("/v1/completions", body)
			if r.StatusCode != 200 {
				t.Fatalf("%s: %s", body, text)
			}
			a := decoded[boundAnswer](t, text)
			one := a.Choices[0]
			if !json.Valid([]byte(one.Text)) || one.FinishReason != "stop" {
				t.Errorf("%s: %q, %s", body, one.Text, one.FinishReason)
			}
			if one.Budget != nil {
				if narrowed += one.Budget.Masks; one.Budget.Kept < 0 || one.Budget.Kept > 1 {
					t.Errorf("%s: %+v", body, one.Budget)
				}
			}
		}
	}
	if narrowed == 0 {
		t.Error("no mask was narrowed")
	}
	_, text := c.post("/v1/chat/completions",
		`{"messages":[{"role":"user","content":"As JSON:"}],"temperature":1.5,"seed":1,`+boundForm+`}`)
	if one := decoded[boundAnswer](t, text).Choices[0]; !json.Valid([]byte(one.Message.Content)) ||
		one.FinishReason != "stop" {
		t.Errorf("a conversation: %s", text)
	}
}

func TestABudgetThatHoldsNoText(t *testing.T) {
	c := start(t, serve.Options{})
	for _, more := range []string{``, `"stream":true,`} {
		c.refused("/v1/completions", bodyOf("As JSON: ", more+`"max_tokens":3,`+boundForm), 400, "max_tokens",
			"enough")
	}
	_, text := c.post("/v1/completions", bodyOf("As JSON: ", `"max_tokens":3,"may_cut":true,`+boundForm))
	if one := decoded[boundAnswer](t, text).Choices[0]; one.FinishReason != "length" {
		t.Errorf("by the letter: %s", text)
	}
	_, text = c.post("/v1/completions", `{"prompt":"A","max_tokens":6,"allowed_token_ids":[2],"guided_regex":"#+x"}`)
	if one := decoded[boundAnswer](t, text).Choices[0]; one.FinishReason != "length" || one.Budget == nil ||
		one.Budget.Outranked != "allowed tokens" {
		t.Errorf("banned: %s", text)
	}
}

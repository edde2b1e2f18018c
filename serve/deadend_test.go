package serve_test

// Dead ends: texts that no id may continue.

import (
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/serve"
)

// forked is a form of two texts, of which the banned string leaves one; some choices begin the
// other, and have its first letter.
const forked = `"guided_choice":["aXb","cd"],"bad_words":["X"],"logit_bias":{"64":50,"66":50},` +
	`"max_tokens":9,"seed":1`

// only is a form of which nothing is left after its first letter.
const only = `"guided_choice":["aXb"],"bad_words":["X"],"max_tokens":9,"seed":1`

const noID = "want at least one id to draw, found none"

// A failed choice is one that may have an error.
type failedChoice struct {
	choice
	Error *struct{ Message, Type string }
}

// split checks choices of forked, and returns how many of them are whole, and how many dead ends.
func split(t *testing.T, about string, choices []failedChoice) (whole, dead int) {
	t.Helper()
	for _, c := range choices {
		switch {
		case c.Text == "cd" && *c.FinishReason == "stop" && c.Error == nil:
			whole++
		case c.Text == "a" && *c.FinishReason == "error" && c.Error != nil &&
			strings.Contains(c.Error.Message, noID) && c.Error.Type == "invalid_request_error":
			dead++
		default:
			t.Errorf("%s: choice %d: %q, %s, %+v", about, c.Index, c.Text, *c.FinishReason, c.Error)
		}
	}
	return whole, dead
}

func TestADeadEndEndsItsOwnChoice(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{})
	for about, body := range map[string]string{
		"samples":    `{"prompt":"Once","n":16,` + forked + "}",
		"prompts":    `{"prompt":["Once","Lily","Tom","x"],"n":4,` + forked + "}",
		"held texts": `{"prompt":"Once","n":16,"stop":["ab"],` + forked + "}", // "a" begins a stop string
	} {
		type answer struct{ Choices []failedChoice }
		r, text := c.post("/v1/completions", body)
		if r.StatusCode != 200 {
			t.Fatalf("%s: status %d: %s", about, r.StatusCode, text)
		}
		whole, dead := split(t, about, decoded[answer](t, text).Choices)
		if whole == 0 || dead == 0 || whole+dead != 16 {
			t.Errorf("%s: %d are whole and %d dead ends, want 16 of both kinds", about, whole, dead)
		}
		_, text = c.post("/v1/completions", strings.Replace(body, "{", `{"stream":true,`, 1))
		data := events(t, text)
		all := make([]failedChoice, 16)
		for _, event := range data[:len(data)-1] {
			for _, part := range decoded[answer](t, event).Choices {
				part.Text = all[part.Index].Text + part.Text
				all[part.Index] = part
			}
		}
		if w, d := split(t, about, all); w != whole || d != dead || data[len(data)-1] != "[DONE]" {
			t.Errorf("%s: the stream has %d and %d, want %d and %d", about, w, d, whole, dead)
		}
	}
	if a := c.complete(`{"prompt":"Once","n":2,"best_of":16,` + forked + "}"); a.Choices[0].Text != "cd" ||
		a.Choices[1].Text != "cd" {
		t.Errorf("the best are %+v", a.Choices)
	}
}

func TestOnlyDeadEndsAreAnError(t *testing.T) {
	c := start(t, serve.Options{})
	for about, body := range map[string]string{
		"one": `{"prompt":"Once",` + only + "}", "samples": `{"prompt":"Once","n":3,` + only + "}",
		"prompts": `{"prompt":["Once","Lily"],` + only + "}",
		"at once": `{"prompt":"Once","stream":true,"guided_choice":["X"],"bad_words":["X"]}`,
	} {
		c.refused("/v1/completions", body, 400, "", noID)
		if c.server.Waiting() != 0 {
			t.Errorf("%s: %d texts are left", about, c.server.Waiting())
		}
	}
	// The status of a stream that has begun is sent: its last event is the error.
	_, text := c.post("/v1/completions", `{"prompt":["Once","Lily"],"stream":true,`+only+"}")
	data := events(t, text)
	dead := 0
	for _, event := range data[:len(data)-2] {
		dead += strings.Count(event, `"finish_reason":"error"`)
	}
	last := decoded[apiError](t, data[len(data)-2]).Error
	if dead != 2 || !strings.Contains(last.Message, noID) || data[len(data)-1] != "[DONE]" {
		t.Errorf("the stream: %s", text)
	}
}

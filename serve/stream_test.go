package serve_test

// Streams: the same texts in parts.

import (
	"bufio"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/serve"
)

// whole puts the events of a stream together into one answer.
func whole(t testing.TB, body string) (a answer, chunks int) {
	t.Helper()
	data := events(t, body)
	if data[len(data)-1] != "[DONE]" {
		t.Fatalf("the stream ends with %s", data[len(data)-1])
	}
	for _, event := range data[:len(data)-1] {
		part := decoded[answer](t, event)
		if a.ID != "" && part.ID != a.ID {
			t.Errorf("an event of %s in %s", part.ID, a.ID)
		}
		a.ID, a.Object, a.Model, a.Created = part.ID, part.Object, part.Model, part.Created
		a.SystemFingerprint = part.SystemFingerprint
		if part.Usage != nil {
			a.Usage = part.Usage
		}
		for _, c := range part.Choices {
			chunks++
			for len(a.Choices) <= c.Index {
				a.Choices = append(a.Choices, choice{Index: len(a.Choices)})
			}
			to := &a.Choices[c.Index]
			if to.FinishReason != nil {
				t.Errorf("choice %d goes on after its end", c.Index)
			}
			to.Text += c.Text
			to.FinishReason, to.StopReason = c.FinishReason, c.StopReason
			to.TokenIDs = append(to.TokenIDs, c.TokenIDs...)
			if c.PromptTokenIDs != nil {
				to.PromptTokenIDs = c.PromptTokenIDs
			}
			if l := c.Logprobs; l != nil {
				if to.Logprobs == nil {
					to.Logprobs = &logprobs{}
				}
				to.Logprobs.Tokens = append(to.Logprobs.Tokens, l.Tokens...)
				to.Logprobs.TokenLogprobs = append(to.Logprobs.TokenLogprobs, l.TokenLogprobs...)
				to.Logprobs.TopLogprobs = append(to.Logprobs.TopLogprobs, l.TopLogprobs...)
				to.Logprobs.TextOffset = append(to.Logprobs.TextOffset, l.TextOffset...)
			}
		}
	}
	return a, chunks
}

func TestAStreamIsTheAnswerInParts(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{Fingerprint: "fp_1"})
	for _, fields := range []string{
		`"prompt":"Once upon a time","max_tokens":20`,
		`"prompt":["Lily","Tom and","The"],"n":3,"max_tokens":12,"logprobs":2`,
		`"prompt":"a😀b","echo":true,"logprobs":1,"max_tokens":6`,
		`"prompt":["One day","He"],"echo":true,"logprobs":0,"max_tokens":0`,
		`"prompt":"Once upon a time","stop":["was"," a "],"max_tokens":60,"return_token_ids":true`,
		`"prompt":"Once","stop_token_ids":[13],"max_tokens":60,"logprobs":1`,
		`"prompt":[[7454,2402],[64,47249]],"echo":true,"max_tokens":5,"temperature":1.9`,
		`"prompt":"x","max_tokens":0`,
		`"max_tokens":100,"logit_bias":{"47249":100,"222":100},"temperature":2,"logprobs":1`,
		`"prompt":"Is it?","structured_outputs":{"choice":["yes","no"]}`,
	} {
		fields = `"seed":5,` + fields
		want := c.complete("{" + fields + "}")
		r, body := c.post("/v1/completions",
			`{"stream":true,"stream_options":{"include_usage":true},`+fields+"}")
		if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
			t.Fatalf("%s: a stream of type %s: %s", fields, kind, body)
		}
		got, _ := whole(t, body)
		want.ID, want.Created, got.ID, got.Created = "", 0, "", 0
		for i := range got.Choices { // of an empty list JSON has two forms
			if len(got.Choices[i].TokenIDs) == 0 {
				got.Choices[i].TokenIDs = want.Choices[i].TokenIDs
			}
			if l := want.Choices[i].Logprobs; l != nil && len(l.Tokens) == 0 {
				got.Choices[i].Logprobs = l
			}
		}
		if !reflect.DeepEqual(got, want) {
			g, _ := json.Marshal(got)
			w, _ := json.Marshal(want)
			t.Errorf("%s:\nthe stream %s\nthe answer %s", fields, g, w)
		}
	}
}

func TestAStreamHasAnEventForEachToken(t *testing.T) {
	c := start(t, serve.Options{})
	const fields = `"prompt":"Once upon a time","max_tokens":20,"seed":5,"stream":true`
	_, body := c.post("/v1/completions", "{"+fields+"}")
	if _, n := whole(t, body); n != 20 {
		t.Errorf("%d events for 20 tokens", n)
	}
	if strings.Contains(body, "usage") {
		t.Errorf("usage that was not asked for: %s", body)
	}
	_, body = c.post("/v1/completions", `{`+fields+`,"stream_options":{"include_usage":true}}`)
	data := events(t, body)
	for i, event := range data[:len(data)-1] {
		last := i == len(data)-2
		if strings.Contains(event, `"usage":null`) == last ||
			strings.Contains(event, `"choices":[]`) != last {
			t.Errorf("event %d: %s", i, event)
		}
	}
	_, body = c.post(
		"/v1/completions",
		`{`+fields+`,"stream_options":{"continuous_usage_stats":true}}`,
	)
	data = events(t, body)
	for i, event := range data[:len(data)-1] {
		if u := decoded[answer](
			t,
			event,
		).Usage; u == nil || u.CompletionTokens != i+1 ||
			u.PromptTokens != 4 {
			t.Errorf("event %d: usage %+v", i, u)
		}
	}
}

func TestTokensComeAsTheyAreMade(t *testing.T) {
	c := start(t, serve.Options{})
	r, err := http.Post(
		c.url+"/v1/completions",
		"application/json",
		strings.NewReader(
			`{"prompt":"Once","max_tokens":200,"ignore_eos":true,"stream":true,"n":128}`,
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close() // well before the end
	if line, err := bufio.NewReader(r.Body).
		ReadString('\n'); err != nil ||
		!strings.HasPrefix(line, "data: ") {
		t.Errorf("first %q, %v", line, err)
	}
}

func TestAnErrorInsideAStreamIsAnEvent(t *testing.T) {
	c := start(t, serve.Options{})
	// ids that cannot be drawn all along: a form that asks for an end at once, and no end of text
	const fields = `"prompt":"a","max_tokens":9,"structured_outputs":{"choice":["ab"]},"min_tokens":9,"seed":1`
	c.refused("/v1/completions", "{"+fields+"}", 400, "", "want at least one id to draw")
	r, body := c.post("/v1/completions", `{"stream":true,`+fields+"}")
	data := events(t, body)
	if r.StatusCode != 200 || len(data) < 3 || data[len(data)-1] != "[DONE]" {
		t.Fatalf("status %d: %s", r.StatusCode, body)
	}
	e := decoded[apiError](t, data[len(data)-2]).Error
	if !strings.Contains(e.Message, "want at least one id to draw") ||
		e.Type != "invalid_request_error" {
		t.Errorf("the error %+v", e)
	}
	c.refused("/v1/completions", `{"stream":true,"prompt":[[]]}`, 400, "prompt", "at least one id")
}

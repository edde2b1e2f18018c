package main

// Requests of many kinds, and a check that their answers are the same as without other requests.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
)

// An ask is a request and its answer from a server that does nothing else.
type ask struct {
	path   string
	body   []byte
	stream bool
	want   string
}

// mix returns requests of many kinds with their right answers, which it requests one by one.
// Because of seeds the answers are the same each time.
func mix(ctx context.Context, c *client) ([]ask, error) {
	const completions = "/v1/completions"
	kinds := []struct {
		path   string
		f      fields
		status int
	}{
		{completions, fields{"prompt": "Once upon a time", "temperature": 0, "max_tokens": 8}, 200},
		{completions, fields{"prompt": "Lily and Tom", "seed": 1, "max_tokens": 8}, 200},
		{completions, fields{"prompt": "The dog", "seed": 2, "max_tokens": 8, "stream": true}, 200},
		{completions, fields{"prompt": "The cat", "seed": 3, "max_tokens": 6, "n": 2,
			"stream": true}, 200},
		{completions, fields{"prompt": []string{"One", "Two"}, "seed": 4, "max_tokens": 4, "n": 2}, 200},
		{completions, fields{"prompt": ids(60, 1), "max_tokens": 0, "echo": true, "logprobs": 1}, 200},
		{completions, fields{"prompt": ids(100, 2), "seed": 5, "max_tokens": 4, "top_k": 40,
			"logprobs": 3}, 200},
		{completions, fields{"prompt": "Is it? ", "seed": 6, "max_tokens": 4,
			"structured_outputs": fields{"choice": []string{"yes", "no"}}}, 200},
		{completions, fields{"prompt": "One day", "seed": 7, "max_tokens": 8, "stop": []string{"."},
			"presence_penalty": 0.5}, 200},
		{"/v1/embeddings", fields{"input": []string{"a small bird", "a big tree"}}, 200},
		{"/tokenize", fields{"prompt": "Once upon a time"}, 200},
		{completions, fields{"prompt": "a", "max_tokens": -1}, 400},
		{completions, fields{"prompt": "a", "model": "there is no such"}, 404},
		{completions, fields{"prompt": [][]int{{}}}, 400},
	}
	var all []ask
	for _, k := range kinds {
		body, err := json.Marshal(k.f)
		if err != nil {
			return nil, err
		}
		a := ask{path: k.path, body: body, stream: k.f["stream"] == true}
		if a.want, err = a.send(ctx, c); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(a.want, fmt.Sprint(k.status, " ")) {
			return nil, fmt.Errorf("%s %s: %s: want status %d", a.path, body, a.want, k.status)
		}
		all = append(all, a)
	}
	return all, nil
}

// fresh returns a new request, so that the tree of prompts gets new branches and drops old ones.
// Its answer is not known, but its number of tokens is.
func fresh(random *rand.Rand) ask {
	prompt := make([]int, 20+random.IntN(160))
	for i := range prompt {
		prompt[i] = random.IntN(4001)
	}
	body, err := json.Marshal(fields{"prompt": prompt, "max_tokens": 1 + random.IntN(24),
		"ignore_eos": true, "stream": true, "seed": random.IntN(1 << 30)})
	if err != nil {
		panic(err) // numbers and strings are always JSON
	}
	return ask{path: "/v1/completions", body: body, stream: true}
}

// right reports whether an answer is the wanted one.
func (a *ask) right(got string) bool {
	if a.want == "" { // fresh
		return strings.HasPrefix(got, "200 ") && strings.HasSuffix(got, "length")
	}
	return got == a.want
}

// refused is the answer to a request that finds the queue full.
const refused = "429"

// send returns the status and the part of the answer that is the same each time.
func (a *ask) send(ctx context.Context, c *client) (string, error) {
	answer, err := c.post(ctx, a.path, a.body)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusTooManyRequests {
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			return "", err
		}
		if answer.Header.Get("Retry-After") == "" {
			return "429 without Retry-After", nil
		}
		return refused, nil
	}
	status := fmt.Sprint(answer.StatusCode, " ")
	if a.stream && answer.StatusCode == http.StatusOK {
		text, err := joined(answer.Body)
		return status + text, err
	}
	var whole map[string]json.RawMessage
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(b, &whole); err != nil {
		return "", fmt.Errorf("%s: status %d: %q: %w", a.path, answer.StatusCode, b, err)
	}
	for _, own := range []string{"id", "created", "usage"} { // they differ between requests
		delete(whole, own)
	}
	b, err = json.Marshal(whole)
	return status + string(b), err
}

// joined reads a stream and returns the text and the end of each choice.
func joined(body io.Reader) (string, error) {
	texts, ends := map[int]string{}, map[int]string{}
	err := events(body, func(e event) {
		for _, c := range e.Choices {
			texts[c.Index] += c.Text
			if c.Finish != "" {
				ends[c.Index] = c.Finish
			}
		}
	})
	var b strings.Builder
	for i := range len(texts) {
		fmt.Fprintf(&b, "%q %s", texts[i], ends[i])
	}
	return b.String(), err
}

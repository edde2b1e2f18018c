package main

// Requests, and the times at which the tokens of a stream arrive.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// A client reuses its connections.
type client struct {
	url  string
	http *http.Client
}

func newClient(url string) *client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy, t.MaxIdleConns, t.MaxIdleConnsPerHost = nil, 0, 4096
	return &client{url, &http.Client{Transport: t}}
}

// fields are those of a request.
type fields map[string]any

func (c *client) get(ctx context.Context, path string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, "GET", c.url+path, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// post sends a body, and returns the answer. The caller must close its body.
func (c *client) post(ctx context.Context, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return c.http.Do(r)
}

// whole posts and reads the whole answer; any status except 200 is an error.
func (c *client) whole(ctx context.Context, path string, f fields) ([]byte, error) {
	b, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	answer, err := c.post(ctx, path, b)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != 200 {
		err = fmt.Errorf("%s: status %d: %s", path, answer.StatusCode, body)
	}
	return body, err
}

// An event is one of a stream of completions.
type event struct {
	Choices []struct {
		Index  int
		Text   string
		Finish string `json:"finish_reason"`
	}
}

// events reads a stream to its end and calls each with every event. A stream that is cut short is
// an error.
func events(body io.Reader, each func(event)) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			_, err := io.Copy(io.Discard, body) // so that the connection can be reused
			return err
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("stream: %q: %w", data, err)
		}
		each(e)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return fmt.Errorf("stream: want [DONE] at its end: %w", io.ErrUnexpectedEOF)
}

// stream requests a completion of max_tokens and returns the arrival time of each part. There is a
// part for each token, or fewer if tokens end within a character. It is an error if the completion
// ends in another way.
func (c *client) stream(ctx context.Context, f fields) (times []time.Time, err error) {
	f["stream"], f["ignore_eos"] = true, true
	b, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	answer, err := c.post(ctx, "/v1/completions", b)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != 200 {
		body, _ := io.ReadAll(answer.Body)
		return nil, fmt.Errorf("stream: status %d: %s", answer.StatusCode, body)
	}
	end := ""
	err = events(answer.Body, func(e event) {
		for _, c := range e.Choices {
			times, end = append(times, time.Now()), c.Finish
		}
	})
	if err == nil && end != "length" {
		err = fmt.Errorf("stream: finish_reason %q after %d parts, want length", end, len(times))
	}
	return times, err
}

// ids returns n ids that differ from those of another salt, so that no cache has them.
func ids(n, salt int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = (i*7919 + 11 + salt*101) % 4001 // every vocabulary of ours has 4001
	}
	return list
}

package serve_test

// Texts that wait: what their clients see meanwhile, and for how long they may.

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"picogpt/batch"
	"picogpt/internal/chattemplate"
	"picogpt/serve"
)

// TestAWaitingStreamSaysSo in the bubble's time: its headers and a comment after three seconds, and
// others every fifteen, so that proxies keep the connection.
func TestAWaitingStreamSaysSo(t *testing.T) {
	o := serve.Options{Template: chattemplate.Plain,
		Batcher: batch.Options{MaxStreams: 1, MaxDelay: time.Hour}}
	for path, body := range map[string]string{
		"/v1/completions":      `{"prompt":"Tom","max_tokens":3,"stream":true}`,
		"/v1/chat/completions": `{"messages":[{"role":"user","content":"a"}],"max_tokens":3,"stream":true}`,
	} {
		inPipes(t, o, func(t *testing.T, p *pipes) {
			leave := p.server.Occupy()
			e := p.dial()
			fmt.Fprint(e, strings.Replace(raw(body), "/v1/completions", path, 1))
			for _, x := range []struct {
				after time.Duration
				want  string
			}{
				{2 * time.Second, ""},
				{2 * time.Second, ": waiting\n\n"}, // 4 s
				{13 * time.Second, ": waiting\n\n"},
				{2 * time.Second, ": waiting\n\n: waiting\n\n"}, // 19 s
			} {
				time.Sleep(x.after)
				synctest.Wait()
				if _, got := e.status(); got != x.want {
					t.Errorf("%s: %q, want %q", path, got, x.want)
				}
			}
			leave()
			synctest.Wait()
			status, got := e.status()
			rest, ok := strings.CutPrefix(got, ": waiting\n\n: waiting\n\ndata: ")
			if status != 200 || !ok || !strings.HasSuffix(rest, "data: [DONE]\n\n") {
				t.Errorf("%s: %d %q", path, status, got)
			}
		})
	}
}

// TestAWaitingStreamThatFailsSaysSo as an event, because its headers are sent.
func TestAWaitingStreamThatFailsSaysSo(t *testing.T) {
	o := serve.Options{Timeout: 10 * time.Second,
		Batcher: batch.Options{MaxStreams: 1, MaxDelay: time.Hour}}
	inPipes(t, o, func(t *testing.T, p *pipes) {
		defer p.server.Occupy()()
		e := p.dial()
		fmt.Fprint(e, raw(`{"prompt":"Tom","max_tokens":3,"stream":true}`))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		_, got := e.status()
		if !strings.HasPrefix(got, ": waiting\n\ndata: {\"error\":") ||
			!strings.HasSuffix(got, "\n\ndata: [DONE]\n\n") || !strings.Contains(got, `"timeout"`) {
			t.Errorf("%q", got)
		}
	})
}

package serve

// Streamed answers: server-sent events, one write for each.

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"picogpt/decode"
)

// events writes the body of a streamed answer.
type events struct {
	job   *job
	buf   []byte
	waits bool // no event is sent
}

func newEvents(j *job) *events {
	e := &events{job: j, waits: true}
	if r := j.response; r != nil {
		r.event = func(x eventJSON) {
			e.buf = append(append(append(e.buf, "event: "...), x.Type...), '\n')
			e.data(encode(x))
		}
	}
	return e
}

// answerInParts sends each token as it arrives. An error before the headers are sent has a status.
func (j *job) answerInParts(ctx context.Context) error {
	e := newEvents(j)
	stop := sync.OnceFunc(e.keepAlive())
	defer stop() // also after a panic
	j.took = e.took
	err := j.write(ctx)
	stop()
	j.mu.Lock() // a comment may be being written
	defer j.mu.Unlock()
	if err == nil {
		return e.end()
	}
	return e.fail(err)
}

// fail ends a stream with an error. If the headers are not sent, or nobody waits, it returns that.
func (e *events) fail(err error) error {
	if err == nil || !e.started() || errors.Is(err, errGone) {
		return err
	}
	e.job.visit.failed = err
	if r := e.job.response; r != nil {
		r.fail(asAPI(err).json())
	} else {
		e.data(asAPI(err).body())
	}
	return e.close()
}

// started reports whether the headers are sent.
func (e *events) started() bool { return e.job.visit.status != 0 }

// took sends the text of a token.
func (e *events) took(c *choice, t *decode.Token) error {
	j := e.job
	if t != nil && t.Prompt && t.Finish == "" {
		return nil // the prompt's tokens are sent with the first new one
	}
	news := len(c.text) + len(c.echo) + len(c.entries) + len(c.ids) + len(c.calls)
	if news == 0 && c.finish == "" && !j.usages {
		return nil
	}
	if j.response != nil {
		if c.failed != nil { // which is all that was asked for: the answer is an error
			return nil
		}
		e.waits = false
		j.response.add(j, c)
		c.sent()
		return e.send()
	}
	var used *usage
	if j.usages {
		used = &usage{Prompt: len(j.prompt[c.index/j.n].ids), Completion: c.tokens}
	}
	for len(c.calls) > 1 || len(c.calls) > 0 && len(c.text) > 0 {
		n := 1 // an event has a text, or the beginning of a call, or more of one
		if len(c.text) > 0 {
			n = 0
		}
		e.event([]*choice{{index: c.index, first: c.first, reader: c.reader, text: c.text,
			calls: c.calls[:n]}}, used)
		c.first, c.text, c.calls = false, nil, c.calls[n:]
	}
	e.event([]*choice{c}, used)
	if c.sent(); c.failed != nil && !e.started() { // if all end so, the answer is an error
		return nil
	}
	return e.send()
}

// event adds an event to the buffer.
func (e *events) event(choices []*choice, used *usage) {
	e.waits = false
	e.data(encode(e.job.newAnswer(choices, used)))
}

func (e *events) data(b []byte) {
	e.buf = append(append(append(e.buf, "data: "...), b...), "\n\n"...)
}

// end sends the usage, if the client wants it, and closes the stream.
func (e *events) end() error {
	switch {
	case e.job.response != nil:
		e.job.response.close(&e.job.used)
	case e.job.usage:
		e.event(nil, &e.job.used)
	}
	return e.close()
}

// close sends the last line.
func (e *events) close() error {
	if e.job.response == nil {
		e.data([]byte("[DONE]"))
	}
	e.send() // an error means that the client is gone
	return nil
}

// send writes the buffer to the client.
func (e *events) send() error {
	v := e.job.visit
	if !e.started() {
		h := v.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // for nginx
		v.WriteHeader(http.StatusOK)
	}
	_, err := v.Write(e.buf)
	e.buf = e.buf[:0]
	if err == nil {
		err = v.control.Flush()
	}
	if err != nil {
		return errGone
	}
	return nil
}

// keepAlive sends comments while no token arrives, so that proxies do not close the connection: the
// first, with the headers, once the text has waited a few seconds. It sends comments because events
// without data would end OpenAI's client for Python. stop ends it.
func (e *events) keepAlive() (stop func()) {
	done, seen := make(chan struct{}), e.job.visit.bytes
	var sender sync.WaitGroup
	sender.Go(func() {
		patience := e.job.server.patience
		timer := time.NewTimer(patience.wait)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
			}
			e.job.mu.Lock()
			if v := e.job.visit; v.bytes == seen {
				comment := ": ping\n\n"
				if e.waits {
					comment = ": waiting\n\n"
				}
				e.buf = append(e.buf, comment...)
				e.send() // the next token reports that the client is gone
			}
			seen = e.job.visit.bytes
			e.job.mu.Unlock()
			timer.Reset(patience.ping)
		}
	})
	return func() { close(done); sender.Wait() }
}

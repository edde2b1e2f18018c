package serve

// Times on the wire and in the metrics, with a clock that the test has.

import (
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"picogpt/batch"
	"picogpt/dev/testmodel"
	"picogpt/internal/chat"
	"picogpt/model"
	"picogpt/tokenizer"
)

// TestAnswersAreOfTheTimeOfTheirRequest, which began an hour ago: all events have one time.
func TestAnswersAreOfTheTimeOfTheirRequest(t *testing.T) {
	s := ofTheDemo(t)
	created := regexp.MustCompile(`"created":(\d+),`)
	var began int64
	for path, follows := range map[string]string{"/v1/completions": `"prompt":"a"`,
		"/v1/chat/completions": `"messages":[{"role":"user","content":"a"}]`} {
		handle := s.routes[path].answer
		s.routes[path] = route{method: "POST", answer: func(v *visit) error {
			v.start = v.start.Add(-time.Hour)
			began = v.start.Unix()
			return handle(v)
		}}
		for _, fields := range []string{``, `"stream":true,"stream_options":{"include_usage":true},`} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(`{`+fields+
				`"max_tokens":3,"ignore_eos":true,`+follows+`}`)))
			all := created.FindAllStringSubmatch(w.Body.String(), -1)
			// Tokens that wait for the client share an event; the last event is that of the usage.
			if least := 1 + min(len(fields), 1); len(all) < least {
				t.Fatalf("%s: %d times, want %d or more: %s", path, len(all), least, w.Body)
			}
			for _, at := range all {
				if at[1] != strconv.FormatInt(began, 10) {
					t.Errorf("%s, %s: an answer of %s to a request of %d", path, fields, at[1], began)
				}
			}
		}
	}
}

func ofTheDemo(t *testing.T) *Server {
	t.Helper()
	s, err := New(testmodel.Demo(t, model.Options{Threads: 1}), tokenizer.GPT2(),
		Options{Template: chat.Plain})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestTimesOfPrompts(t *testing.T) {
	s := ofTheDemo(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		after := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
		time.Sleep(30 * time.Second)
		s.metrics.prompt(&pace{progress: batch.Progress{Submitted: began, Placed: after(3),
			First: after(10)}})
		s.metrics.prompt(&pace{progress: batch.Progress{Submitted: began, Placed: after(100)}})
		s.metrics.prompt(&pace{progress: batch.Progress{Submitted: began}})
	})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for name, want := range map[string]string{"queue_time_seconds_sum": "103",
		"queue_time_seconds_count": "2", "prefill_time_seconds_sum": "7",
		"prefill_time_seconds_count": "1", "decode_time_seconds_sum": "20"} {
		line := `vllm:request_` + name + `{model_name="model"} ` + want + "\n"
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("no %s", line)
		}
	}
}

// TestASilentStreamIsKeptAlive in the bubble's time: by a comment for each 15 seconds without a byte.
func TestASilentStreamIsKeptAlive(t *testing.T) {
	s := ofTheDemo(t)
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		v := newVisit(w, httptest.NewRequest("POST", "/v1/completions", nil), s.patience)
		e := &events{job: &job{completion: newCompletion(), server: s, visit: v}, waits: true}
		stop := e.keepAlive()
		const event, ping = "data: {}\n\n", ": ping\n\n"
		send := func() {
			e.job.mu.Lock()
			defer e.job.mu.Unlock()
			e.waits = false
			e.buf = append(e.buf, event...)
			e.send()
		}
		send()
		time.Sleep(17 * time.Second)
		send()                       // at 17 s
		time.Sleep(25 * time.Second) // looks at 18 and 33
		stop()
		v.release()
		if got := w.Body.String(); got != event+event+ping {
			t.Errorf("%q", got)
		}
	})
}

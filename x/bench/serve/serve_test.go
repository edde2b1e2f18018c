package main

// What decides that a run has failed.

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func curveOf(n int, at func(i int) sample) (curve []sample) {
	for i := range n {
		curve = append(curve, at(i))
	}
	return curve
}

func TestGrowthAfterTheFirstThirdFails(t *testing.T) {
	const mb = 1e6
	flat := sample{400 * mb, 300 * mb, 500 * mb, 80, 40}
	for _, test := range []struct {
		name, want string // "" is no error
		at         func(i int) sample
	}{
		{"flat", "", func(int) sample { return flat }},
		{"caches that fill in the first third", "", func(i int) sample {
			s := flat
			s.rss = min(400, 100+float64(i)*20) * mb
			return s
		}},
		{"resident memory", "resident memory: grows", func(i int) sample {
			s := flat
			s.rss += float64(i) * 5 * mb
			return s
		}},
		{"the heap", "Go heap: grows", func(i int) sample {
			s := flat
			s.nextGC += float64(i) * 5 * mb
			return s
		}},
		{"a heap between collections", "", func(i int) sample {
			s := flat
			s.heap += float64(i%30) * 5 * mb
			return s
		}},
		{"goroutines", "goroutines: grows", func(i int) sample {
			s := flat
			s.goroutines += float64(i) * 3
			return s
		}},
		{"files", "open files: grows", func(i int) sample {
			s := flat
			s.files += float64(i) * 3
			return s
		}},
	} {
		err := grows(curveOf(60, test.at))
		if test.want == "" && err != nil {
			t.Errorf("%s: %v, want no error", test.name, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	if grows(curveOf(2, func(int) sample { return flat })) == nil {
		t.Error("a curve of two samples: want an error")
	}
}

func TestWhatIsLeftFails(t *testing.T) {
	before := metrics{"go_goroutines": 10, "process_open_fds": 11}
	if err := left(before, before); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"num_requests_running", "num_requests_waiting", "go_goroutines",
		"process_open_fds"} {
		after := metrics{"go_goroutines": 10, "process_open_fds": 11}
		after[name]++
		if err := left(before, after); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("one more of %s: %v", name, err)
		}
	}
}

// TestWrongAnswersAreSeen sends requests to a server that answers in ways that must not count.
func TestWrongAnswersAreSeen(t *testing.T) {
	const event = `data: {"choices":[{"index":0,"text":"a","finish_reason":"length"}]}` + "\n\n"
	answers := map[string]func(w http.ResponseWriter){
		"/cut":   func(w http.ResponseWriter) { w.Write([]byte(event)) },
		"/whole": func(w http.ResponseWriter) { w.Write([]byte(event + "data: [DONE]\n\n")) },
		"/other": func(w http.ResponseWriter) { w.Write([]byte(`{"id":"1","choices":[]}`)) },
		"/bare":  func(w http.ResponseWriter) { w.WriteHeader(429) },
		"/full": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers[r.URL.Path](w)
	}))
	defer s.Close()
	c := newClient(s.URL)
	defer c.http.CloseIdleConnections()
	for path, want := range map[string]string{
		"/cut": "wrong", "/whole": "right", "/other": "wrong", "/bare": "wrong", "/full": "refused",
	} {
		var n counts
		a := ask{path: path, stream: path != "/other", want: `200 "a" length`}
		got, err := a.send(context.Background(), c)
		n.note(&a, got, err)
		if !strings.Contains(n.String(), "1 "+want) {
			t.Errorf("%s: %v, want one %s (%q, error %v)", path, &n, want, got, err)
		}
	}
}

func TestMetricsAreAdded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("# HELP x\nvllm:num_requests_running{model_name=\"a b\"} 2\n" +
			"go_goroutines 1e+01\nvllm:x{a=\"1\"} 1\nvllm:x{a=\"2\"} 2\n"))
	}))
	defer s.Close()
	m, err := newClient(s.URL).metrics(context.Background())
	if err != nil || m["num_requests_running"] != 2 || m["go_goroutines"] != 10 || m["x"] != 3 {
		t.Errorf("%v, error %v", m, err)
	}
}

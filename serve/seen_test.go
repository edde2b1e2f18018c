package serve_test

// What those who run the server see: metrics, lines of the log, ids of requests.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"picogpt/dev/cases"
	"picogpt/serve"
)

// metric returns the number of a metric, "" if there is none.
func metric(page, name string) string {
	_, rest, _ := strings.Cut("\n"+page, "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// TestAnHourOfProbes is what probes and scrapes ask for in an hour, as often as the manifests have
// it, beside one text: they are no texts, and no lines.
func TestAnHourOfProbes(t *testing.T) {
	cases.NotShort(t)
	var log bytes.Buffer
	c := start(t, serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c.complete(`{"max_tokens":2}`)
	log.Reset()
	for path, n := range map[string]int{"/health": 360, "/ready": 1800, "/metrics": 60} {
		for range n {
			w := httptest.NewRecorder()
			c.server.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != 200 {
				t.Fatalf("%s: %d", path, w.Code)
			}
		}
	}
	if log.Len() > 0 {
		t.Errorf("the log: %.300s", &log)
	}
	for _, path := range []string{"/", "/page/link.js", "/page/link.js"} {
		if r, _ := c.do("GET", path, ""); r.StatusCode != 200 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	_, page := c.do("GET", "/metrics", "")
	for name, want := range map[string]string{
		`vllm:e2e_request_latency_seconds_count{model_name="demo"}`:                     "1",
		`vllm:time_to_first_token_seconds_count{model_name="demo"}`:                     "1",
		`http_requests_total{handler="/health",model_name="demo",status="200"}`:         "360",
		`http_requests_total{handler="/page/{file}",model_name="demo",status="200"}`:    "2",
		`http_requests_total{handler="/v1/completions",model_name="demo",status="200"}`: "1",
		`http_requests_total{handler="/",model_name="demo",status="200"}`:               "1",
		`vllm:request_success_total{finished_reason="length",model_name="demo"}`:        "1",
		`vllm:request_queue_time_seconds_bucket{model_name="demo",le="7680"}`:           "1",
		`vllm:inter_token_latency_seconds_bucket{model_name="demo",le="80"}`:            "1",
		`vllm:time_to_first_token_seconds_bucket{model_name="demo",le="2560"}`:          "1",
		`vllm:request_generation_tokens_bucket{model_name="demo",le="200"}`:             "1",
		`vllm:request_generation_tokens_bucket{model_name="demo",le="500"}`:             "", // beyond the context
	} {
		if got := metric(page, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestRequestsAreCountedByPattern: what clients make up makes no new metric.
func TestRequestsAreCountedByPattern(t *testing.T) {
	c := start(t, serve.Options{})
	for _, path := range []string{"/x", "/y\"\n{", "/page/none", "/v1/models/demo", "/v1/models/a/b"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path = path
		c.server.ServeHTTP(httptest.NewRecorder(), r)
	}
	c.do("PUT", "/tokenize", "")
	_, page := c.do("GET", "/metrics", "")
	var got []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "http_requests_total{") {
			got = append(got, strings.TrimSpace(strings.ReplaceAll(line, `model_name="demo",`, "")))
		}
	}
	want := []string{`http_requests_total{handler="/tokenize",status="405"} 1`,
		`http_requests_total{handler="/v1/models/{id}",status="200"} 1`,
		`http_requests_total{handler="/v1/models/{id}",status="404"} 1`,
		`http_requests_total{handler="other",status="404"} 3`}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEchoedTokensAreNoFirstTokens: a score has no first token, a text with echo has one.
func TestEchoedTokensAreNoFirstTokens(t *testing.T) {
	var log bytes.Buffer
	c := start(t, serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c.complete(`{"prompt":"Once upon a time","echo":true,"logprobs":1,"max_tokens":0}`)
	const name = `vllm:time_to_first_token_seconds_count{model_name="demo"}`
	_, page := c.do("GET", "/metrics", "")
	if got := metric(page, name); got != "0" || strings.Contains(log.String(), "first_token") {
		t.Errorf("a score: %s first tokens; %s", got, &log)
	}
	c.complete(`{"prompt":"Once upon a time","echo":true,"logprobs":1,"max_tokens":1}`)
	_, page = c.do("GET", "/metrics", "")
	if got := metric(page, name); got != "1" || !strings.Contains(log.String(), "first_token_ms=") {
		t.Errorf("a text: %s first tokens; %s", got, &log)
	}
}

// complaint is what linters say of vLLM's own names, and of no others.
var complaint = regexp.MustCompile(`^vllm:\w+ metric names should not contain ':'$|` +
	`^vllm:iteration_tokens_total non-(counter|histogram and non-summary) metrics should not have "_total" suffix$`)

// TestMetricsPassTheLinter runs promtool's own rules, and promtool where it is installed.
func TestMetricsPassTheLinter(t *testing.T) {
	c := start(t, serve.Options{Version: "v1", Commit: "c", Build: "gpt v1, commit c"})
	c.complete(`{"max_tokens":2}`)
	_, page := c.do("GET", "/metrics", "")
	if !strings.Contains(page, `gpt_build_info{arithmetic="1",build="gpt v1, commit c",`) ||
		!strings.Contains(page, `,version="v1"} 1`) || !strings.Contains(page, `commit="c",goversion="go1.`) {
		t.Error("no gpt_build_info of this build")
	}
	if _, says := c.do("GET", "/version", ""); !strings.Contains(says, `{"build":"gpt v1, commit c",`) {
		t.Errorf("/version says %s", says)
	}
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) == 0 {
		t.Error("the linter does not see vLLM's colons")
	}
	for _, p := range problems {
		if line := p.Metric + " " + p.Text; !complaint.MatchString(line) {
			t.Error(line)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		return // what stands above is its library
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(page)
	out, _ := check.CombinedOutput() // its status tells of vLLM's colons
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); !complaint.MatchString(line) {
			t.Errorf("promtool: %s", line)
		}
	}
}

// TestIdsOfRequests: those of clients that can be trusted with a header and a log are taken.
func TestIdsOfRequests(t *testing.T) {
	var log bytes.Buffer
	c := start(t, serve.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	const made = ""
	long := strings.Repeat("a", 128)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, x := range [][4]string{ // sent, wanted, for X-Request-Id and traceparent
		{"", made, "", made}, {"Az09._-", "Az09._-", parent, parent}, {long, long, "", made},
		{long + "a", made, parent + "0", made}, {"a b", made, parent + "-", made},
		{"é", made, strings.ToUpper(parent), made}, {"a\"", made, "0" + parent, made},
		{"a/b", made, strings.Replace(parent, "00-", "ff-", 1), made},
		{"ok", "ok", strings.Replace(parent, "00-", "cc-", 1), parent},
		{"ok", "ok", "cc" + parent[2:] + "-more" + long, parent},
		{"ok", "ok", "cc" + parent[2:] + "more", made},
		{"ok", "ok", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", made},
		{"ok", "ok", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", made},
		{"ok", "ok", strings.ReplaceAll(parent, "-", "_"), made},
		{"ok", "ok", strings.Replace(parent, "4", "-", 1), made},
	} {
		log.Reset()
		r, text := c.post("/v1/completions", `{"max_tokens":1}`, "X-Request-Id", x[0], "Traceparent", x[2])
		name, trace := r.Header.Get("X-Request-Id"), r.Header.Get("Traceparent")
		if x[1] == made && (name == x[0] || len(name) < 20) || x[1] != made && name != x[1] {
			t.Errorf("X-Request-Id %.20q is answered by %.20q", x[0], name)
		}
		if x[3] == made && (trace == x[2] || !regexp.MustCompile(
			"^00-[0-9a-f]{32}-[0-9a-f]{16}-01$").MatchString(trace)) || x[3] != made && trace != x[3] {
			t.Errorf("traceparent %q is answered by %q", x[2], trace)
		}
		line := decoded[map[string]any](t, log.String())
		if line["request"] != name || line["trace_id"] != trace[3:35] ||
			(x[3] != made) != (line["parent_id"] == trace[36:52]) ||
			(x[3] == made) != (line["span_id"] == trace[36:52]) {
			t.Errorf("%q, %q: the log has %v", name, trace, line)
		}
		if id := decoded[answer](t, text).ID; x[1] != made && line["id"] != strings.TrimPrefix(id, "cmpl-") ||
			strings.Contains(id, name) != (x[1] == made) {
			t.Errorf("the answer's id is %s, that of the request %s; the log %v", id, name, line)
		}
	}
	r := httptest.NewRequest("GET", "/health", nil)
	r.Header["X-Request-Id"], r.Header["Traceparent"] = []string{"a", "b"}, []string{parent, parent}
	w := httptest.NewRecorder()
	c.server.ServeHTTP(w, r)
	if id := w.Header().Get("X-Request-Id"); len(id) < 20 || w.Header().Get("Traceparent") == parent {
		t.Errorf("of two ids one is taken: %v", w.Header())
	}
}

// TestTheLineOfARequest: times with their unit, in the order in which they pass.
func TestTheLineOfARequest(t *testing.T) {
	var log bytes.Buffer
	debug := &slog.HandlerOptions{Level: slog.LevelDebug}
	c := start(t, serve.Options{Log: slog.New(slog.NewJSONHandler(&log, debug))})
	agent := strings.Repeat("a", 199) + "\x1b" + strings.Repeat("b", 9000)
	for i, x := range []struct{ body, phases string }{
		{`{"prompt":["Once","Lily"],"n":2,"max_tokens":3}`, "queue_ms prompt_ms decode_ms"},
		{`{"prompt":"Once upon","echo":true,"logprobs":1,"max_tokens":0}`, "queue_ms prompt_ms decode_ms"},
		{`{"prompt":"Once","max_tokens":0}`, ""}, {`{"prompt":1.5}`, ""},
	} {
		log.Reset()
		r := httptest.NewRequest("POST", "/v1/completions", strings.NewReader(x.body))
		r.Header.Set("User-Agent", agent)
		c.server.ServeHTTP(httptest.NewRecorder(), r)
		line := decoded[map[string]any](t, log.String())
		sum := 0.0
		var got []string
		for _, name := range []string{"queue_ms", "prompt_ms", "decode_ms"} {
			if n, ok := line[name].(json.Number); ok {
				ms, err := n.Float64()
				if err != nil || ms < 0 {
					t.Errorf("%s is %s", name, n)
				}
				sum += ms
				got = append(got, name)
			}
		}
		took, err := line["took_ms"].(json.Number).Float64()
		if strings.Join(got, " ") != x.phases || err != nil || sum > took {
			t.Errorf("request %d: %q take %v ms of %v, want %s", i, got, sum, took, x.phases)
		}
		if got := fmt.Sprint(line["agent"]); got != `"`+strings.Repeat("a", 199)+`\x1b"…` {
			t.Errorf("the agent is %q", got)
		}
	}
	if line := decoded[map[string]any](t, log.String()); line["key"] != nil || line["address"] != nil {
		t.Errorf("without keys and proxies: %v", line)
	}
	for path, want := range map[string]string{"/health": "DEBUG", "/ready": "DEBUG", "/metrics": "DEBUG",
		"/nothing": "INFO"} {
		log.Reset()
		c.do("GET", path, "")
		if got := decoded[map[string]any](t, log.String())["level"]; got != want {
			t.Errorf("%s: level %v, want %s", path, got, want)
		}
	}
	log.Reset()
	c.post("/metrics", "")
	if got := decoded[map[string]any](t, log.String())["level"]; got != "INFO" {
		t.Errorf("a probe that is refused: level %v", got)
	}
}

// TestTheLogNamesTheKeyAndTheClient of a request that came through a proxy.
func TestTheLogNamesTheKeyAndTheClient(t *testing.T) {
	var log bytes.Buffer
	c := start(t, serve.Options{Log: slog.New(slog.NewJSONHandler(&log, nil)),
		NamedKeys:      []serve.Key{{Name: "alice", Value: "secret"}},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	c.do("GET", "/v1/models", "", "Authorization", "Bearer secret", "X-Forwarded-For", "203.0.113.7")
	line := decoded[map[string]any](t, log.String())
	if line["key"] != "alice" || line["address"] != "203.0.113.7" ||
		!strings.HasPrefix(fmt.Sprint(line["client"]), "127.0.0.1:") || strings.Contains(log.String(), "secret") {
		t.Errorf("the line %v", line)
	}
}

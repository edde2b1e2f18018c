package serve_test

// Access control, and methods.

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"picogpt/serve"
)

// paths holds all paths, with the method that each answers.
var paths = map[string]string{
	"/": "GET", "/health": "GET", "/ready": "GET", "/metrics": "GET", "/tokenizer_info": "GET",
	"/v1/models": "GET", "/v1/models/demo": "GET", "/v1/completions": "POST",
	"/v1/embeddings": "POST", "/v1/chat/completions": "POST", "/tokenize": "POST",
	"/detokenize": "POST", "/classify": "POST", "/inside": "POST",
}

func TestAKeyIsWantedEverywhereButForHealth(t *testing.T) {
	c := start(t, serve.Options{Keys: []string{"secret", "other"}})
	for path, method := range paths {
		open := path == "/health" || path == "/ready"
		for _, x := range []struct {
			header string
			in     bool
		}{
			{"", false}, {"Bearer ", false}, {"Bearer", false}, {"Bearer wrong", false},
			{"Bearer secre", false}, {"Bearer secret2", false}, {"secret", false},
			{"Basic secret", false}, {"Bearer secret", true}, {"bearer other", true},
			{"Basic " + base64.StdEncoding.EncodeToString([]byte("me:secret")), true},
			{"Basic " + base64.StdEncoding.EncodeToString([]byte("secret:")), false},
		} {
			for _, host := range []string{"", "evil.example/health"} {
				header := []string{"Authorization", x.header}
				if host != "" {
					header = append(header, "Host", "evil.example")
				}
				r, text := c.do(method, path, "{}", header...)
				if refused := r.StatusCode == http.StatusUnauthorized; refused == (x.in || open) {
					t.Errorf("%s with %q: status %d: %s", path, x.header, r.StatusCode, text)
				} else if refused && decoded[apiError](t, text).Error.Code != "invalid_api_key" {
					t.Errorf("%s with %q: %s", path, x.header, text)
				}
			}
		}
	}
	for _, path := range []string{"/nothing", "/health/", "//health", "/health?x=/v1", "/v1/../health", "/ready/../metrics"} {
		r, text := c.do("GET", path, "")
		if want := http.StatusUnauthorized; r.StatusCode != want &&
			!strings.HasPrefix(path, "/health?") {
			t.Errorf("%s: status %d, want %d: %s", path, r.StatusCode, want, text)
		}
	}
	if r, _ := c.do("GET", "/", ""); !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Basic") {
		t.Errorf("a browser is not asked for the key: %q", r.Header.Get("WWW-Authenticate"))
	}
}

func TestWithoutKeysAnyIsGoodEnough(t *testing.T) {
	c := start(t, serve.Options{})
	for _, header := range []string{"", "Bearer ", "Bearer anything"} { // lm-eval sends the second
		if r, text := c.do("GET", "/v1/models", "", "Authorization", header); r.StatusCode != 200 {
			t.Errorf("%q: status %d: %s", header, r.StatusCode, text)
		}
	}
}

func TestHostIsCheckedOnLoopback(t *testing.T) {
	c := start(t, serve.Options{Loopback: true, Hosts: []string{"GPT.internal"}})
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST:1": 200, "127.0.0.1:99": 200,
		"127.9.9.9": 200, "[::1]:8080": 200, "[::1]": 200, "gpt.internal:80": 200, "localhost.": 200,
		"evil.example": 403, "evil.example:8080": 403, "127.0.0.1.evil.example": 403,
		"192.168.0.1": 403, "localhost.evil.example": 403, "[::2]": 403, "0.0.0.0": 403,
		"127.0.0.1@evil.example": 403, "xlocalhost": 403,
	} {
		if r, text := c.do("GET", "/v1/models", "", "Host", host); r.StatusCode != want {
			t.Errorf("%s: status %d, want %d: %s", host, r.StatusCode, want, text)
		}
	}
	open := start(t, serve.Options{})
	if r, _ := open.do("GET", "/v1/models", "", "Host", "evil.example"); r.StatusCode != 200 {
		t.Errorf("not on loopback: status %d", r.StatusCode)
	}
}

func TestPagesOfOthersAreRefused(t *testing.T) {
	c := start(t, serve.Options{})
	for _, header := range [][]string{
		{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
	} {
		header = append(header, "Content-Type", "text/plain")
		r, text := c.post("/v1/completions", `{"max_tokens":1}`, header...)
		if r.StatusCode != 403 || r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%q: status %d, header %v: %s", header, r.StatusCode, r.Header, text)
		}
	}
	for _, header := range [][]string{
		{"Origin", c.url}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}, {},
	} {
		if r, text := c.post(
			"/v1/completions",
			`{"max_tokens":1}`,
			header...); r.StatusCode != 200 {
			t.Errorf("%q: status %d: %s", header, r.StatusCode, text)
		}
	}
}

func TestOriginsThatAreAllowed(t *testing.T) {
	c := start(
		t,
		serve.Options{Origins: []string{"https://a.example", "null"}, Keys: []string{"k"}},
	)
	for origin, allowed := range map[string]bool{
		"https://a.example": true, "null": true, "https://b.example": false,
		"https://a.example.evil.example": false, "http://a.example": false, "*": false,
	} {
		r, _ := c.do("OPTIONS", "/v1/completions", "", "Origin", origin,
			"Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,x-stainless-os")
		want := ""
		if allowed {
			want = origin
		}
		if got := r.Header.Get("Access-Control-Allow-Origin"); got != want || r.StatusCode != 204 {
			t.Errorf("OPTIONS from %s: %d, allowed %q", origin, r.StatusCode, got)
		}
		if allowed &&
			r.Header.Get(
				"Access-Control-Allow-Headers",
			) != "authorization,content-type,x-stainless-os" {
			t.Errorf(
				"OPTIONS from %s: headers %q",
				origin,
				r.Header.Get("Access-Control-Allow-Headers"),
			)
		}
		r, _ = c.post(
			"/v1/completions",
			`{"max_tokens":1}`,
			"Origin",
			origin,
			"Authorization",
			"Bearer k",
		)
		if got := r.Header.Get(
			"Access-Control-Allow-Origin",
		); got != want ||
			(r.StatusCode == 200) != allowed {
			t.Errorf("POST from %s: %d, allowed %q", origin, r.StatusCode, got)
		}
		if !strings.Contains(r.Header.Get("Vary"), "Origin") {
			t.Errorf("Vary: %q", r.Header.Get("Vary"))
		}
	}
	any := start(t, serve.Options{Origins: []string{"*"}})
	r, _ := any.post("/v1/completions", `{"max_tokens":1}`, "Origin", "https://b.example")
	if got := r.Header.Get("Access-Control-Allow-Origin"); got != "*" || r.StatusCode != 200 {
		t.Errorf("any origin: %d, allowed %q", r.StatusCode, got)
	}
}

func TestMethods(t *testing.T) {
	c := start(t, serve.Options{})
	for path, method := range paths {
		for _, other := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
			r, text := c.do(other, path, "{}")
			switch known := other == method || other == "HEAD" && method == "GET"; {
			case other == "OPTIONS":
				if r.StatusCode != 204 || !strings.Contains(r.Header.Get("Allow"), method) {
					t.Errorf("OPTIONS %s: %d, %q", path, r.StatusCode, r.Header.Get("Allow"))
				}
			case known && r.StatusCode == 405, !known && r.StatusCode != 405:
				t.Errorf("%s %s: status %d: %s", other, path, r.StatusCode, text)
			case !known && !strings.Contains(r.Header.Get("Allow"), method):
				t.Errorf("%s %s: Allow %q", other, path, r.Header.Get("Allow"))
			case other == "HEAD" && text != "":
				t.Errorf("HEAD %s has a body: %s", path, text)
			}
			if r.Header.Get("X-Request-Id") == "" {
				t.Errorf("%s %s: no X-Request-Id", other, path)
			}
		}
	}
	c.refused("/nothing", "{}", 404, "", "/nothing: no such path")
}

// TestIDsOfAnswersAreTheServers: those of clients may collide.
func TestIDsOfAnswersAreTheServers(t *testing.T) {
	c := start(t, serve.Options{})
	seen := map[string]bool{}
	for range 3 {
		_, text := c.post("/v1/completions", `{"prompt":"a","max_tokens":1,"request_id":"mine"}`,
			"X-Request-Id", "mine")
		id := decoded[answer](t, text).ID
		if strings.Contains(id, "mine") || seen[id] {
			t.Errorf("id %q in %s", id, text)
		}
		seen[id] = true
	}
}

// TestPathsAreTakenAsTheyAre: an http.ServeMux would redirect these to other paths, or say in text
// what is wrong.
func TestPathsAreTakenAsTheyAre(t *testing.T) {
	c := start(t, serve.Options{})
	for _, path := range []string{"//health", "/v1/../health", "/health/", "/v1/models/",
		"/v1/completions/"} {
		for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(method, "/", nil)
			r.URL.Path = path
			c.server.ServeHTTP(w, r)
			status, allow, kind := http.StatusNotFound, "", "application/json"
			if method == "OPTIONS" {
				status, allow, kind = http.StatusNoContent, "OPTIONS", ""
			}
			h := w.Header()
			if w.Code != status || h.Get("Allow") != allow || h.Get("Content-Type") != kind {
				t.Errorf("%s %s: %d %v", method, path, w.Code, h)
			}
		}
	}
}

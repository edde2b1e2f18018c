package serve_test

// Keys that are replaced while texts are written.

import (
	"net/http"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
)

func TestTextsOfARemovedKeyEnd(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{Keys: []string{"old"},
		NamedKeys: []serve.Key{{"alice", "a"}, {"bob", "b"}}})
	type got struct {
		status int
		text   string
	}
	begin := func(key, body string) chan got {
		ended := make(chan got, 1)
		go func() {
			r, text := c.post("/v1/completions", body, "Authorization", "Bearer "+key)
			ended <- got{r.StatusCode, text}
		}()
		return ended
	}
	whole, stream := begin("a", endless), begin("a", strings.Replace(endless, "{", `{"stream":true,`, 1))
	kept := begin("b", `{"prompt":"Once","max_tokens":40,"ignore_eos":true,"n":8,"seed":1}`)
	unnamed := begin("old", `{"max_tokens":1}`)
	eventually(t, "texts of both are there", func() bool { return c.server.Waiting() > 256 })
	if err := c.server.SetNamedKeys([]serve.Key{{"bob", "b"}, {"alice", "a2"}}); err != nil {
		t.Fatal(err)
	}
	if r := <-whole; r.status != http.StatusUnauthorized ||
		decoded[apiError](t, r.text).Error.Code != "invalid_api_key" {
		t.Errorf("a text of the removed key: %+v", r)
	}
	r := <-stream
	if r.status == http.StatusOK { // it had begun
		data := events(t, r.text)
		r.text = data[len(data)-2]
	}
	if decoded[apiError](t, r.text).Error.Code != "invalid_api_key" {
		t.Errorf("a stream of the removed key: %d, %.300s", r.status, r.text)
	}
	for about, ended := range map[string]chan got{"kept": kept, "not named": unnamed} {
		if r := <-ended; r.status != http.StatusOK {
			t.Errorf("a text of a key that is %s: %+v", about, r)
		}
	}
	for key, want := range map[string]int{"a": 401, "a2": 200, "b": 200, "old": 200} {
		r, _ := c.do("GET", "/v1/models", "", "Authorization", "Bearer "+key)
		if r.StatusCode != want {
			t.Errorf("then key %s: status %d, want %d", key, r.StatusCode, want)
		}
	}
	if err := c.server.SetNamedKeys(nil); err != nil {
		t.Fatal(err)
	}
	if r, _ := c.do("GET", "/v1/models", ""); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("a server without its last named key is open: %d", r.StatusCode)
	}
	c.idle(m)
}

func TestNamedKeysThatCannotBeMeant(t *testing.T) {
	c := start(t, serve.Options{Keys: []string{"old"}})
	for want, named := range map[string][]serve.Key{
		"named key 2 of 2: want a name":              {{"a", "x"}, {"", "y"}},
		`the key of b: want at least one byte`:       {{"a", "x"}, {"b", ""}},
		`the key of b: want a key of its own, found`: {{"a", "x"}, {"b", "x"}},
		`found that of one without a name`:           {{"a", "old"}},
	} {
		if err := c.server.SetNamedKeys(named); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", named, err, want)
		}
	}
	if err := c.server.SetNamedKeys([]serve.Key{{"a", "x"}, {"a", "y"}}); err != nil {
		t.Errorf("two keys of one name, as while one is replaced: %v", err)
	}
	if err := start(t, serve.Options{}).server.SetNamedKeys([]serve.Key{{"a", "x"}}); err == nil {
		t.Error("a server that is open takes keys")
	}
}

package serve_test

// Who shares evaluated prompts, and what usage tells of them.

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"picogpt/batch"
	"picogpt/dev/cases"
	"picogpt/serve"
)

// cached asks for a token after a prompt, and returns cached_tokens and how many tokens of the
// prompt needed no evaluation.
func (c *client) cached(prompt, fields string, header ...string) (told, found int) {
	c.t.Helper()
	before := c.server.PrefixHits()
	r, text := c.post("/v1/completions", bodyOf(prompt, `"max_tokens":1`+fields), header...)
	usage := decoded[struct {
		Usage struct {
			Details *struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}](c.t, text).Usage
	if r.StatusCode != 200 || usage.Details == nil {
		c.t.Fatalf("%d: %s", r.StatusCode, text)
	}
	return usage.Details.Cached, c.server.PrefixHits() - before
}

func TestWhoSharesPrompts(t *testing.T) {
	cases.NotShort(t)
	prompt := strings.TrimSuffix(strings.Repeat("The cat sat. ", 5), " ")
	const tokens = 20
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	named := []serve.Key{{Name: "ann", Value: "a"}, {Name: "ben", Value: "b"}, {Name: "ann", Value: "c"}}
	with := func(key, address string) []string {
		return []string{"Authorization", "Bearer " + key, "X-Forwarded-For", address}
	}
	ann := with("a", "192.0.2.1")
	for _, x := range []struct {
		about       string
		o           serve.Options
		from        []string // the second request's; the first is ann's
		told, found int
	}{
		{"the same key", serve.Options{NamedKeys: named}, ann, tokens - 1, tokens - 1},
		{"another key of the same name", serve.Options{NamedKeys: named}, with("c", "192.0.2.2"),
			tokens - 1, tokens - 1},
		{"another's key", serve.Options{NamedKeys: named}, with("b", "192.0.2.1"), 0, 0},
		{"another's key, by client", serve.Options{NamedKeys: named, CacheShare: serve.ShareClient},
			with("b", "192.0.2.1"), 0, 0},
		{"another's key, all", serve.Options{NamedKeys: named, CacheShare: serve.ShareAll},
			with("b", "192.0.2.1"), 0, tokens - 1},
		{"another's key on a loopback address", serve.Options{NamedKeys: named, Loopback: true},
			with("b", "192.0.2.1"), 0, 0},
		{"one key for all", serve.Options{Keys: []string{"a"}}, with("a", "192.0.2.2"), 0, tokens - 1},
		{"one key for all, by client", serve.Options{Keys: []string{"a"}, CacheShare: serve.ShareClient},
			with("a", "192.0.2.2"), 0, 0},
		{"no keys, the same address", serve.Options{}, ann, tokens - 1, tokens - 1},
		{"no keys, another address", serve.Options{}, with("", "192.0.2.2"), 0, 0},
		{"no keys, another address, all", serve.Options{CacheShare: serve.ShareAll},
			with("", "192.0.2.2"), 0, tokens - 1},
		{"no keys on a loopback address", serve.Options{Loopback: true}, with("", "192.0.2.2"), 0,
			tokens - 1},
		{"no keys on a loopback address, by client", serve.Options{Loopback: true,
			CacheShare: serve.ShareClient}, with("", "192.0.2.2"), 0, 0},
	} {
		x.o.TrustedProxies, x.o.Batcher = proxies, batch.Options{PrefixBytes: 1 << 26}
		c := start(t, x.o)
		if told, found := c.cached(prompt, "", ann...); told != 0 || found != 0 {
			t.Errorf("%s: the first time %d of %d tokens", x.about, told, found)
		}
		told, found := c.cached(prompt, "", x.from...)
		if told != x.told || found != x.found {
			t.Errorf("%s: %d cached tokens, %d found, want %d and %d", x.about, told, found, x.told,
				x.found)
		}
		if told, _ := c.cached(prompt, `,"cache_salt":"s"`, ann...); told != 0 {
			t.Errorf("%s: with a salt %d cached tokens", x.about, told)
		}
	}
}

// TestFormsAreSharedAsPrompts: the time of an answer does not tell whether another tenant has used a
// form.
func TestFormsAreSharedAsPrompts(t *testing.T) {
	for share, want := range map[string]int{serve.ShareKey: 2, serve.ShareClient: 2, serve.ShareAll: 1} {
		c := start(t, serve.Options{CacheShare: share, NamedKeys: []serve.Key{{Name: "ann", Value: "a"},
			{Name: "ben", Value: "b"}}})
		for _, key := range []string{"a", "b", "a"} {
			c.post("/v1/completions", `{"max_tokens":1,"guided_choice":["x"]}`, "Authorization",
				"Bearer "+key)
		}
		if n := c.server.Forms(); n != want {
			t.Errorf("%s: %d forms are kept, want %d", share, n, want)
		}
	}
}

// TestAStreamTellsWhatWasCached at its end, and several prompts add up.
func TestAStreamTellsWhatWasCached(t *testing.T) {
	c := start(t, serve.Options{Batcher: batch.Options{PrefixBytes: 1 << 26}})
	one, two := strings.Repeat("a b c d ", 5), strings.Repeat("e f g h ", 5)
	for i, want := range []int{0, 40} {
		_, text := c.post("/v1/completions", bodyOf([]string{one, two}, `"max_tokens":1,"stream":true,
			"stream_options":{"include_usage":true}`))
		end := fmt.Sprintf(`"prompt_tokens_details":{"cached_tokens":%d}}}`, want)
		if !strings.Contains(text, end) || strings.Count(text, "cached_tokens") != 1 {
			t.Errorf("the stream %d: no %s in %s", i+1, end, text)
		}
	}
}

package hub_test

// Names, variables, and what is found in a cache that others wrote.

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picogpt/checkpoint/hub"
)

func TestParseName(t *testing.T) {
	for s, want := range map[string]hub.Name{
		"gpt2":                       {Repo: "gpt2"},
		"openai-community/gpt2":      {Repo: "openai-community/gpt2"},
		"a/b.c_d-e@main":             {Repo: "a/b.c_d-e", Revision: "main"},
		"a/b@refs/pr/22":             {Repo: "a/b", Revision: "refs/pr/22"},
		"a/b@feature/été+1":          {Repo: "a/b", Revision: "feature/été+1"},
		"stanford-crfm/alias-gpt2@v": {Repo: "stanford-crfm/alias-gpt2", Revision: "v"},
	} {
		if n, err := hub.ParseName(s); err != nil || n != want {
			t.Errorf("%s: %v, %v", s, n, err)
		} else if n.String() != s {
			t.Errorf("%s: written as %s", s, n)
		}
	}
	for _, s := range []string{
		"", "/", "a/", "/a", "a//b", "a/b/c", "..", "a/..", "../a", "a/../b", `a\b`, "./a", "a/.",
		"a--b", "a..b", "a.git", "-a", "a-", ".a", "a b", "a/b\n", "a\x00", "é", "~/a", "a:b",
		strings.Repeat("a", 97), "a@", "a@..", "a@../b", "a@/b", "a@b/", "a@b//c", `a@b\c`, "a@.b",
		"a@b.lock", "a@b c", "a@b~1", "a@b^", "a@b:c", "a@x..y", "a@refs/../../b", "a@\xff",
		"a@\x01", "@main", "a@\u202ex",
	} {
		if n, err := hub.ParseName(s); err == nil {
			t.Errorf("%q: %v, want an error", s, n)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: an error of several lines: %v", s, err)
		}
	}
	for _, n := range []hub.Name{{Repo: "../../etc"}, {Repo: "a", Revision: "../../../etc"}} {
		if _, err := hub.Find(n, hub.Options{Cache: t.TempDir()}); err == nil ||
			errors.Is(err, hub.ErrAbsent) {
			t.Errorf("%v: %v, want an error of the name", n, err)
		}
	}
}

func TestFilesThatClimbAreRefused(t *testing.T) {
	h, o := start(t, gpt2("a/b"))
	for _, file := range []string{"../x", "a/../../x", "/etc/passwd", `a\b`, "a/./b", "a//b", ".",
		"", "a\x00b", "a\nb", "\xff"} {
		if _, err := hub.Pull(t.Context(), name("a/b"), o, file); err == nil {
			t.Errorf("%q: want an error", file)
		}
	}
	if got := h.Requests(); len(got) > 0 {
		t.Errorf("asked %v", got)
	}
}

// clearEnv unsets the variables that Environment reads.
func clearEnv(t *testing.T) {
	for _, name := range []string{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME",
		"XDG_CACHE_HOME", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH",
		"HF_HUB_DISABLE_IMPLICIT_TOKEN", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_ENDPOINT",
		"HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_DISABLE_SYMLINKS"} {
		t.Setenv(name, "")
	}
}

func TestEnvironment(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "hf"), 0o777); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"hf/token": "hf_home\n", "mine": " hf_mine\r\n",
		"long": strings.Repeat("x", 5000)} {
		if err := os.WriteFile(filepath.Join(home, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := func(parts ...string) string {
		return filepath.Join(home, filepath.Join(parts...))
	}
	type env = map[string]string
	for _, c := range []struct {
		env  env
		want hub.Options
	}{
		{env{}, hub.Options{Cache: path(".cache", "huggingface", "hub")}},
		{env{"XDG_CACHE_HOME": path("xdg")}, hub.Options{Cache: path("xdg", "huggingface", "hub")}},
		{env{"XDG_CACHE_HOME": path("xdg"), "HF_HOME": path("hf")},
			hub.Options{Cache: path("hf", "hub"), Token: "hf_home"}},
		{env{"HF_HOME": path("hf"), "HUGGINGFACE_HUB_CACHE": path("old")},
			hub.Options{Cache: path("old"), Token: "hf_home"}},
		{env{"HF_HOME": "~/hf", "HUGGINGFACE_HUB_CACHE": path("old"),
			"HF_HUB_CACHE": "$HOME/c/$NOT"},
			hub.Options{Cache: path("c", "$NOT"), Token: "hf_home"}},
		{env{"HF_HUB_CACHE": "/c", "HF_TOKEN_PATH": "~/mine"},
			hub.Options{Cache: "/c", Token: "hf_mine"}},
		{env{"HF_HUB_CACHE": "/c", "HF_TOKEN_PATH": "~/mine", "HUGGING_FACE_HUB_TOKEN": "hf_2"},
			hub.Options{Cache: "/c", Token: "hf_2"}},
		{env{"HF_HUB_CACHE": "/c", "HUGGING_FACE_HUB_TOKEN": "hf_2", "HF_TOKEN": " hf_1\n"},
			hub.Options{Cache: "/c", Token: "hf_1"}},
		{env{"HF_HUB_CACHE": "/c", "HF_TOKEN": "hf_1", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "yes"},
			hub.Options{Cache: "/c"}},
		{env{"HF_HUB_CACHE": "/c", "HF_TOKEN_PATH": path("none")}, hub.Options{Cache: "/c"}},
		{env{"HF_HUB_CACHE": "/c", "HF_HUB_OFFLINE": "1"},
			hub.Options{Cache: "/c", Offline: true}},
		{env{"HF_HUB_CACHE": "/c", "TRANSFORMERS_OFFLINE": "on", "HF_HUB_OFFLINE": "0"},
			hub.Options{Cache: "/c", Offline: true}},
		{env{"HF_HUB_CACHE": "/c", "HF_HUB_OFFLINE": "no", "HF_HUB_DISABLE_SYMLINKS": "True"},
			hub.Options{Cache: "/c", NoSymlinks: true}},
		{env{"HF_HUB_CACHE": "/c", "HF_ENDPOINT": "http://localhost:1/hf/",
			"HF_HUB_ETAG_TIMEOUT": "3", "HF_HUB_DOWNLOAD_TIMEOUT": "40"},
			hub.Options{Cache: "/c", Endpoint: "http://localhost:1/hf",
				HeadTimeout: 3 * time.Second, ReadTimeout: 40 * time.Second}},
	} {
		t.Run("", func(t *testing.T) {
			clearEnv(t)
			t.Setenv("HOME", home)
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			o, err := hub.Environment()
			if err != nil || o.Proxy == nil {
				t.Fatal(err, o.Proxy == nil)
			}
			got, want := o, c.want
			if got.Cache != want.Cache || got.Token != want.Token ||
				got.Offline != want.Offline || got.Endpoint != want.Endpoint ||
				got.NoSymlinks != want.NoSymlinks || got.HeadTimeout != want.HeadTimeout ||
				got.ReadTimeout != want.ReadTimeout {
				t.Errorf("%v: %+v, want %+v", c.env, got, want)
			}
		})
	}
	for key, value := range (env{"HF_HUB_ETAG_TIMEOUT": "soon", "HF_HUB_DOWNLOAD_TIMEOUT": "0",
		"HF_TOKEN_PATH": path("long")}) {
		t.Run(key, func(t *testing.T) {
			clearEnv(t)
			t.Setenv("HOME", home)
			t.Setenv(key, value)
			if _, err := hub.Environment(); err == nil || strings.Contains(err.Error(), "xxx") {
				t.Error(err)
			}
		})
	}
	clearEnv(t)
	t.Setenv("HOME", "")
	o, err := hub.Environment()
	if err != nil || o.Cache != "" {
		t.Errorf("no home: %q, %v", o.Cache, err)
	}
	if _, err := hub.Pull(t.Context(), name("a"), o); !errors.Is(err, hub.ErrNoCache) {
		t.Errorf("no home: %v, want ErrNoCache", err)
	}
}

// TestACacheThatOthersWrote has what one finds: half of a snapshot, references to nothing, folders
// of other kinds.
func TestACacheThatOthersWrote(t *testing.T) {
	o := hub.Options{Cache: t.TempDir()}
	a, b := strings.Repeat("a", 40), strings.Repeat("b", 40)
	for file, text := range map[string]string{
		"models--gpt2/refs/main":                                           a,
		"models--gpt2/snapshots/" + a + "/tokenizer.json":                  "{}",
		"models--gpt2/.no_exist/" + a + "/vocab.txt":                       "",
		"models--openai-community--gpt2/refs/main":                         b + "\n",
		"models--openai-community--gpt2/refs/v1":                           b,
		"models--openai-community--gpt2/snapshots/" + b + "/config.json":   "{}",
		"models--openai-community--gpt2/snapshots/" + a + "/sub/x.gguf":    "12345",
		"models--openai-community--gpt2/snapshots/junk/config.json":        "{}",
		"models--org--dangling/refs/main":                                  a,
		"models--org--broken/refs/main":                                    "../../../etc",
		"models--org--broken/snapshots/config.json":                        "{}",
		"datasets--org--data/refs/main":                                    a,
		"models--..--etc/refs/main":                                        a,
		"version.txt":                                                      "1",
		".locks/models--gpt2/" + strings.Repeat("c", 64) + ".lock":         "",
		"models--openai-community--gpt2/refs/refs/pr/" + "7":               a,
		"models--openai-community--gpt2/snapshots/" + a + "/.hidden/x.txt": "",
	} {
		path := filepath.Join(o.Cache, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// the name that was asked for has half a snapshot, the other one a config
	if s := find(t, "gpt2", o); s.Name.Repo != "openai-community/gpt2" || s.Commit != b {
		t.Errorf("found %+v", s)
	}
	if s := find(t, "openai-community/gpt2@refs/pr/7", o); s.Commit != a || s.Size() != 5 {
		t.Errorf("found %+v of %d bytes", s, s.Size())
	}
	for _, n := range []string{"org/dangling", "org/broken", "org/data", "gpt2@" + b[:39] + "c"} {
		if s, err := hub.Find(name(n), o); !errors.Is(err, hub.ErrAbsent) {
			t.Errorf("%s: %+v, %v, want ErrAbsent", n, s, err)
		}
	}
	half := find(t, "gpt2@"+a, hub.Options{Cache: o.Cache})
	if half.Name.Repo != "gpt2" || !half.Has("tokenizer.json") || half.Has("vocab.txt") ||
		half.Unknown("vocab.txt") || half.Unknown("tokenizer.json") || !half.Unknown("vocab.json") {
		t.Errorf("half a snapshot: %+v", half)
	}
	all, err := hub.List(o)
	var got []string
	for _, s := range all {
		got = append(got, s.Name.String()+" "+strings.Join(s.Refs, ","))
	}
	want := []string{"gpt2 main", "openai-community/gpt2 main,v1", "openai-community/gpt2@junk ",
		"openai-community/gpt2@refs/pr/7 refs/pr/7"}
	if err != nil || strings.Join(got, ";") != strings.Join(want, ";") {
		t.Errorf("listed %q, %v, want %q", got, err, want)
	}
	if all, err := hub.List(hub.Options{Cache: filepath.Join(o.Cache, "none")}); err != nil ||
		len(all) > 0 {
		t.Errorf("no cache: %v, %v", all, err)
	}
}

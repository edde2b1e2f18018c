package main

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"picogpt/cmd/gpt/internal/listen"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
)

func TestFilesOfKeys(t *testing.T) {
	for text, want := range map[string]string{
		"alice a\nbob\tb\n":                            "alice=a bob=b",
		"\ufeffalice a\r\n\r\n  # nobody x\nbob b # x": "alice=a bob=b",
		"alice a#1\n":                                  "alice=a#1",
		"alice a\nalice a2":                            "alice=a alice=a2",
		"":                                             "found none",
		"# all are gone\n":                             "found none",
		"alice a\nsecret":                              "line 2: want a name and a key, found 1 words",
		"alice a secret\n":                             "line 1: want a name and a key, found 3 words",
	} {
		keys, err := parseKeys(text)
		var got []string
		for _, k := range keys {
			got = append(got, k.Name+"="+k.Value)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if s := strings.Join(got, " "); !strings.HasSuffix(s, want) || strings.Contains(s, "secret") {
			t.Errorf("%q: %s, want %s", text, s, want)
		}
	}
}

func TestAFileOfKeysIsReadAgain(t *testing.T) {
	m, file := testmodel.Demo(t, model.Options{Threads: 1}), filepath.Join(t.TempDir(), "keys")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("alice a\n")
	keys, contents, err := readKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := serve.New(m, tokenizer.GPT2(), serve.Options{NamedKeys: keys})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var log bytes.Buffer
		go watchKeys(t.Context(), file, contents, s, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(time.Second)
		for _, x := range []struct{ write, in, out, log string }{
			{"alice a\n", "a", "b", ""},
			{"alice a\nbob b\n", "b", "c", "keys=2"},
			{"alice\n", "b", "c", "keys are as before"},
			{"", "b", "c", "found none"},
			{"alice x\nbob x\n", "b", "x", "want a key of its own"},
			{"bob b\n", "b", "a", "keys=1"},
		} {
			log.Reset()
			write(x.write)
			time.Sleep(listen.Every)
			synctest.Wait()
			for key, want := range map[string]int{x.in: 200, x.out: 401} {
				r, w := httptest.NewRequest("GET", "/v1/models", nil), httptest.NewRecorder()
				r.Header.Set("Authorization", "Bearer "+key)
				if s.ServeHTTP(w, r); w.Code != want {
					t.Errorf("%q: key %s: status %d, want %d", x.write, key, w.Code, want)
				}
			}
			if !strings.Contains(log.String(), x.log) || x.log == "" && log.Len() > 0 {
				t.Errorf("%q: the log %s, want %q", x.write, &log, x.log)
			}
		}
	})
}

func TestNetworksOfProxies(t *testing.T) {
	for network, want := range map[string]string{
		"10.0.0.0/8": "10.0.0.0/8", "10.1.2.3/8": "10.0.0.0/8", "10.1.2.3": "10.1.2.3/32",
		"fd00::/8": "fd00::/8", "::1": "::1/128", "": "", "all": "", "10.0.0.0/33": "", "fe80::1%lo": "",
	} {
		got, err := parseNetwork(network)
		if err == nil != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: %v, %v; want %s", network, got, err, want)
		}
	}
}

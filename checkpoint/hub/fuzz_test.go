package hub

// What comes from servers and users, at random.

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/weights"
)

// inside reports whether a name with slashes stays below a folder.
func inside(name string) bool {
	const dir = "/cache/snapshots/x"
	path := filepath.Join(dir, filepath.FromSlash(name))
	return strings.HasPrefix(path, dir+"/") && !strings.ContainsAny(name, "\\\x00\n")
}

func FuzzList(f *testing.F) {
	for _, text := range []string{
		`{"sha": "x", "siblings": [{"rfilename": "config.json"}, {"rfilename": "a/b.gguf"}]}`,
		`{"siblings": [{"rfilename": "../x"}]}`, `{"siblings": [{"rfilename": "/etc/passwd"}]}`,
		`{"siblings": [{"rfilename": "a\\b"}]}`, `{"siblings": [{}]}`, `{"siblings": null}`,
		`{"siblings": [{"rfilename": "model.ckpt.index"}, {"rfilename": "model.ckpt.data-0"}]}`,
		`{"siblings": [{"rfilename": "a.pt", "size": 1, "lfs": {"sha256": "00"}}]}`, `{}`, ``,
		`{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "../x"}}`,
		`{"weight_map": {"a": "pytorch_model-00001-of-00001.bin"}}`,
		`{"weight_map": {"a": "."}}`, `{"weight_map": {"a": ".."}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files, err := parseList([]byte(text))
		if err == nil {
			for _, name := range files {
				if !inside(name) {
					t.Errorf("list: %q leads out of the folder", name)
				}
			}
			chosen, _ := onlyCheckpoint(files)
			for _, name := range chosen {
				if !slices.Contains(files, name) {
					t.Errorf("chose %q, which is not in the list", name)
				}
			}
		}
		shards, err := weights.Shards([]byte(text))
		for _, name := range shards {
			if err == nil && (!inside(name) || strings.Contains(name, "/")) {
				t.Errorf("index: %q is no plain name", name)
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"gpt2", "openai-community/gpt2@refs/pr/22", "a/../b", "a@../..",
		"a--b/c", `a\b`, "a@main.lock", "@", "a/b@v1.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			return
		}
		if n.String() != s {
			t.Errorf("%q is written as %q", s, n)
		}
		if folder := n.folder(); !inside(folder) || strings.Contains(folder, "/") {
			t.Errorf("%q has the folder %q", s, folder)
		}
		if revision := n.revision(); !inside(revision) {
			t.Errorf("%q has the revision %q", s, revision)
		}
	})
}

func FuzzHeaders(f *testing.F) {
	for _, s := range []string{"bytes 0-1/2", "bytes 9-/x", "bytes */9", "120", "-1", "",
		"Thu, 01 Jan 1970 00:00:00 GMT", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseSize(s); err == nil && (n < 0 || n > maxFile) {
			t.Errorf("size %q is %d", s, n)
		}
		if from, size, err := parseRange(s); err == nil && (from < 0 || size < 0) {
			t.Errorf("range %q is %d of %d", s, from, size)
		}
		if d := retryAfter(s); d < 0 {
			t.Errorf("retry after %q is %v", s, d)
		}
	})
}

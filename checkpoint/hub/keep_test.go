package hub_test

// What the cache has: checked, mended, removed.

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/checkpoint/hub"
	"picogpt/dev/fakehub"
	"picogpt/internal/outfile"
)

// damage changes a byte of a file, behind its link.
func damage(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestDamageIsFoundAndMended: a changed byte, a link that leads nowhere, and a file that no pull
// chooses; with links and without.
func TestDamageIsFoundAndMended(t *testing.T) {
	for _, links := range []bool{true, false} {
		repo := gpt2("a/b")
		h, o := start(t, repo)
		o.NoSymlinks = !links
		s, err := hub.Pull(t.Context(), parsed("a/b"), o)
		if err == nil {
			_, err = hub.Pull(t.Context(), parsed("a/b"), o, "tf_model.h5")
		}
		if err != nil {
			t.Fatal(err)
		}
		damage(t, filepath.Join(s.Dir, "model.safetensors"))
		damage(t, filepath.Join(s.Dir, "tf_model.h5"))
		blob := filepath.Join(s.Dir, "..", "..", "blobs", fakehub.Etag(repo.Files["vocab.json"], false))
		if err := os.Remove(blob); err != nil && links {
			t.Fatal(err)
		}
		found := map[string]string{}
		if err := s.Verify(t.Context(), func(f hub.Checked) {
			if f.Err != nil {
				found[f.File] = f.Err.Error()
			}
		}); err != nil {
			t.Fatal(err)
		}
		if links && (len(found) != 3 || found["model.safetensors"] !=
			"damaged: 300000 bytes whose SHA-256 is not the hub's" || found["vocab.json"] == "" ||
			found["tf_model.h5"] == "") || !links && len(found) != 6 {
			t.Errorf("links %t: %q", links, found)
		}
		offline := o
		offline.Offline, offline.Verify = true, true
		if _, err := hub.Pull(t.Context(), parsed("a/b"), offline); links &&
			(!errors.Is(err, hub.ErrOffline) || !strings.Contains(err.Error(), "damaged")) {
			t.Errorf("offline: %v", err)
		}
		h.Requests()
		o.Verify = true
		if _, err := hub.Pull(t.Context(), parsed("a/b"), o); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range h.Requests() {
			if r.Method == "GET" {
				got += filepath.Base(r.Path) + " "
			}
		}
		want := "vocab.json model.safetensors tf_model.h5 "
		if !links {
			want = "model.safetensors tf_model.h5 "
		}
		if got != want {
			t.Errorf("links %t: downloaded %s, want %s", links, got, want)
		}
		for name, b := range repo.Files {
			if got, err := os.ReadFile(filepath.Join(s.Dir, name)); string(got) != string(b) {
				t.Errorf("links %t: %s: %d bytes, %v", links, name, len(got), err)
			}
		}
	}
}

// TestRemove: of two revisions one goes with the files that it alone has, and then all.
func TestRemove(t *testing.T) {
	old, now := gpt2("a/b"), gpt2("a/b")
	old.Files["merges.txt"], old.OnlyRef, old.Refs = []byte("older"), true, []string{"v1"}
	h, o := start(t, old)
	if _, err := hub.Pull(t.Context(), name("a/b@v1"), o); err != nil {
		t.Fatal(err)
	}
	h.Put(now)
	s, err := hub.Pull(t.Context(), name("a/b"), o)
	if err != nil {
		t.Fatal(err)
	}
	if removed, freed, err := hub.Remove(name("a/b@v1"), o); err != nil || freed < 5 || freed > 1000 ||
		removed != name("a/b@v1") {
		t.Errorf("%v: %d bytes, %v", removed, freed, err)
	}
	if _, err := hub.Find(name("a/b@v1"), o); !errors.Is(err, hub.ErrAbsent) {
		t.Errorf("after it: %v", err)
	}
	wantWhole(t, o, now, true)
	leave(t, o, strings.Repeat("ab", 32)+".00000001.incomplete", make([]byte, 1000))
	if n := s.Unfinished(); n != 1000 {
		t.Errorf("%d bytes are unfinished", n)
	}
	locks := filepath.Join(o.Cache, ".locks", "models--a--b")
	f, err := os.Create(filepath.Join(locks, strings.Repeat("ab", 32)+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	if busy, err := outfile.TryLock(f); err == nil && !busy {
		if _, _, err := hub.Remove(name("a/b"), o); !errors.Is(err, hub.ErrBusy) {
			t.Errorf("while a pull goes on: %v", err)
		}
	}
	f.Close()
	if _, freed, err := hub.Remove(name("a/b"), o); err != nil || freed < 300_000+1000 {
		t.Errorf("%d bytes, %v", freed, err)
	}
	if got := tree(t, o.Cache); strings.Contains(got, "a--b") {
		t.Errorf("what is left:\n%s", got)
	}
	if _, _, err := hub.Remove(name("a/b"), o); !errors.Is(err, hub.ErrAbsent) {
		t.Error(err)
	}
}

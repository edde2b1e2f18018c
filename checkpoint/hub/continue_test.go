package hub_test

// Downloads that were not finished, and go on.

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/checkpoint/hub"
	"picogpt/dev/cases"
	"picogpt/dev/fakehub"
	"picogpt/internal/outfile"
)

// leftovers returns the files in the cache that are not finished, by name.
func leftovers(t *testing.T, o hub.Options) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	paths, _ := filepath.Glob(filepath.Join(o.Cache, "models--a--b", "blobs", "*.incomplete"))
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(path)] = b
	}
	return found
}

// leave puts an unfinished file into the cache.
func leave(t *testing.T, o hub.Options, name string, b []byte) {
	t.Helper()
	dir := filepath.Join(o.Cache, "models--a--b", "blobs")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// cutOff pulls with a connection that is cut after n bytes of the weights, and a user who has seen
// enough then.
func cutOff(t *testing.T, h *fakehub.Hub, o hub.Options, n int) error {
	h.Break(fakehub.For("files", "GET", weightsFile, 0, fakehub.Cut(n)))
	defer h.Break(nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p hub.Progress) {
		if strings.Contains(p.Note, "trying again") {
			cancel()
		}
	}
	_, err := hub.Pull(ctx, parsed("a/b"), o)
	return err
}

// TestAPullGoesOn is cut 100 times at random. Each pull begins where the one before it ended, and
// nothing has its final name before it is whole.
func TestAPullGoesOn(t *testing.T) {
	cases.NotShort(t)
	repo, random := gpt2("a/b"), rand.New(rand.NewPCG(3, 29))
	body := repo.Files["model.safetensors"]
	h, o := start(t, repo)
	have := 0
	for i := range 100 {
		n := random.IntN(2 * len(body) / 110)
		if i%10 == 0 {
			n = 0
		}
		h.Requests()
		if err := cutOff(t, h, o, n); err != context.Canceled {
			t.Fatalf("cut %d: %v", i, err)
		}
		asked := ""
		for _, r := range h.Requests() {
			if r.Host == "files" {
				asked = r.Range
			}
		}
		if want := fmt.Sprintf("bytes=%d-", have); asked != want && have > 0 {
			t.Fatalf("cut %d: asked for %q, want %s", i, asked, want)
		}
		have += n
		left := leftovers(t, o)
		if have == 0 != (len(left) == 0) || len(left) > 1 {
			t.Fatalf("cut %d: %d files are left after %d bytes", i, len(left), have)
		}
		for name, b := range left {
			if !bytes.Equal(b, body[:have]) {
				t.Fatalf("cut %d: %s has %d bytes, want the first %d", i, name, len(b), have)
			}
		}
		if _, err := os.Stat(filepath.Join(o.Cache, "models--a--b", "snapshots", repo.Commit(),
			"model.safetensors")); err == nil {
			t.Fatalf("cut %d: the file is there with %d bytes", i, have)
		}
	}
	note := ""
	o.Progress = func(p hub.Progress) { note += p.Note }
	if _, err := hub.Pull(t.Context(), parsed("a/b"), o); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d bytes of 300000 are there", have); !strings.Contains(note, want) {
		t.Errorf("note %q, want %s", note, want)
	}
	wantWhole(t, o, repo, true)
}

// TestLeftovers: what pulls find that others have left.
func TestLeftovers(t *testing.T) {
	cases.NotShort(t)
	repo := gpt2("a/b")
	body := repo.Files["model.safetensors"]
	etag := fakehub.Etag(body, true)
	wrong := bytes.Repeat([]byte("x"), 200_000)
	get := func(f fakehub.Fault) fakehub.Fault {
		return fakehub.All(fakehub.For("files", "GET", weightsFile, 1, f))
	}
	for name, c := range map[string]struct {
		left   map[string][]byte
		fault  fakehub.Fault
		ranges string // of the requests for the weights
	}{
		"the longest of several": {map[string][]byte{etag + ".00000001.incomplete": body[:1000],
			etag + ".00000002.incomplete": body[:2000], etag + ".incomplete": body[:1500]}, nil,
			"bytes=2000-"},
		"one of before 2026": {map[string][]byte{etag + ".incomplete": body[:1500]}, nil, "bytes=1500-"},
		"all but the name":   {map[string][]byte{etag + ".00000001.incomplete": body}, nil, "none"},
		"empty":              {map[string][]byte{etag + ".00000001.incomplete": nil}, nil, ""},
		"too long": {map[string][]byte{etag + ".00000001.incomplete": append(body[:300_000:300_000],
			'x')}, nil, ""},
		"wrong bytes": {map[string][]byte{etag + ".00000001.incomplete": wrong}, nil, "bytes=200000- "},
		"wrong bytes, as many": {map[string][]byte{etag + ".00000001.incomplete": wrong[:0:0],
			etag + ".00000002.incomplete": make([]byte, 300_000)}, nil, ""},
		"a server without parts": {map[string][]byte{etag + ".00000001.incomplete": body[:5000]},
			get(fakehub.Whole(0)), "bytes=5000-"},
		"wrong, and a server without parts": {map[string][]byte{
			etag + ".00000001.incomplete": wrong}, get(fakehub.Whole(0)), "bytes=200000-"},
		"a range that is refused": {map[string][]byte{etag + ".00000001.incomplete": body[:5000]},
			get(fakehub.Status(416)), "bytes=5000- "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, o := start(t, repo)
			for name, b := range c.left {
				leave(t, o, name, b)
			}
			h.Break(c.fault)
			if _, err := hub.Pull(t.Context(), parsed("a/b"), o); err != nil {
				t.Fatal(err)
			}
			wantWhole(t, o, repo, true)
			var ranges []string
			for _, r := range h.Requests() {
				if r.Host == "files" {
					ranges = append(ranges, r.Range)
				}
			}
			got := strings.Join(ranges, " ")
			if len(ranges) == 0 {
				got = "none"
			}
			if got != c.ranges {
				t.Errorf("ranges %q, want %q", got, c.ranges)
			}
		})
	}
}

// TestOthersLeftoversStay: those of other files, links, and folders of such a name.
func TestOthersLeftoversStay(t *testing.T) {
	repo := gpt2("a/b")
	h, o := start(t, repo)
	etag := fakehub.Etag(repo.Files["model.safetensors"], true)
	other := strings.Repeat("ab", 32)
	leave(t, o, other+".00000001.incomplete", []byte("another file"))
	leave(t, o, other, []byte("another blob"))
	blobs := filepath.Join(o.Cache, "models--a--b", "blobs")
	if err := os.Symlink(other, filepath.Join(blobs, etag+".00000002.incomplete")); err != nil {
		t.Skip("no links here: ", err)
	}
	if _, err := hub.Pull(t.Context(), parsed("a/b"), o); err != nil {
		t.Fatal(err)
	}
	h.Close()
	for name, want := range map[string]string{other + ".00000001.incomplete": "another file",
		other: "another blob"} {
		if b, err := os.ReadFile(filepath.Join(blobs, name)); string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(blobs, etag)); len(b) != 300_000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// TestALeftoverOfALiveProcessIsNotTaken: who has the lock writes to it.
func TestALeftoverOfALiveProcessIsNotTaken(t *testing.T) {
	repo := gpt2("a/b")
	h, o := start(t, repo)
	body := repo.Files["model.safetensors"]
	etag := fakehub.Etag(body, true)
	leave(t, o, etag+".00000001.incomplete", body[:1000])
	locks := filepath.Join(o.Cache, ".locks", "models--a--b")
	if err := os.MkdirAll(locks, 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(locks, etag+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	if taken, err := outfile.TryLock(f); taken || err != nil {
		t.Skip("no locks here: ", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p hub.Progress) {
		if strings.Contains(p.Note, "another process") {
			cancel()
		}
	}
	if _, err := hub.Pull(ctx, parsed("a/b"), o); err != context.Canceled {
		t.Error(err)
	}
	if left := leftovers(t, o); len(left) != 1 || len(left[etag+".00000001.incomplete"]) != 1000 {
		t.Errorf("%d files are left", len(left))
	}
	f.Close()
	h.Requests()
	if _, err := hub.Pull(t.Context(), parsed("a/b"), o); err != nil {
		t.Error(err)
	}
	wantWhole(t, o, repo, true)
}

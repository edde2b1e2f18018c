package hub_test

// Caches that were copied or made by hand: without links, and with folders that are no commits.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint/hub"
	"picogpt/dev/cases"
	"picogpt/dev/fakehub"
)

// unlinked is a cache as cp -L copies it: the files of the snapshots and the blobs.
func unlinked(t *testing.T) (s *hub.Snapshot, repo *fakehub.Repo, o hub.Options) {
	t.Helper()
	repo = gpt2("a/b")
	_, o = start(t, repo)
	s, err := hub.Pull(t.Context(), parsed("a/b"), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range s.Files() {
		file := filepath.Join(s.Dir, name)
		b, err := os.ReadFile(file)
		if err == nil {
			err = os.Remove(file)
		}
		if err == nil {
			err = os.WriteFile(file, b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s, repo, o
}

// verified returns the files that are not right, with what is wrong.
func verified(t *testing.T, s *hub.Snapshot) (wrong []string) {
	t.Helper()
	if err := s.Verify(t.Context(), func(f hub.Checked) {
		switch {
		case errors.Is(f.Err, hub.ErrNoHash):
			wrong = append(wrong, f.File+"?")
		case f.Err != nil:
			wrong = append(wrong, f.File)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return wrong
}

// TestHashesOfACacheWithoutLinks: the names of blobs, what huggingface_hub has recorded of the
// commit or of each file, or nothing.
func TestHashesOfACacheWithoutLinks(t *testing.T) {
	s, repo, _ := unlinked(t)
	all := s.Files()
	want := func(when string, want ...string) {
		t.Helper()
		if got := verified(t, s); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	want("with all blobs")
	damage(t, filepath.Join(s.Dir, "model.safetensors"))
	want("a damaged file", "model.safetensors")
	damage(t, filepath.Join(s.Dir, "model.safetensors"))
	var unknown []string
	for _, name := range all {
		unknown = append(unknown, name+"?")
	}
	root := filepath.Join(s.Dir, "..", "..")
	if err := os.RemoveAll(filepath.Join(root, "blobs")); err != nil {
		t.Fatal(err)
	}
	want("nothing", unknown...)

	put := func(name, text string) {
		t.Helper()
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if err == nil {
			err = os.WriteFile(name, []byte(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	config := fakehub.Etag(repo.Files["config.json"], false)
	put(filepath.Join(s.Dir, ".cache/huggingface/download/config.json.metadata"),
		s.Commit+"\n"+config+"\n1700000000.5\n")
	want("one file's metadata", slices.DeleteFunc(slices.Clone(unknown),
		func(name string) bool { return name == "config.json?" })...)

	var tree bytes.Buffer
	for _, name := range all {
		sha := ""
		if name == "model.safetensors" {
			sha = fmt.Sprintf(`,"lfs_sha256":%q`, fakehub.Etag(repo.Files[name], true))
		}
		fmt.Fprintf(&tree, `,%q:{"size":1,"blob_id":%q%s}`, name,
			fakehub.Etag(repo.Files[name], false), sha)
	}
	listing := filepath.Join(root, "trees", s.Commit+".json")
	put(listing, `{"format_version":1,"files":{`+strings.TrimPrefix(tree.String(), ",")+`}}`)
	want("the commit's listing")
	damage(t, filepath.Join(s.Dir, "model.safetensors"))
	want("the listing and a damaged file", "model.safetensors")
	put(listing, `{"files":{"config.json":3}}`)
	want("a listing that is none", slices.DeleteFunc(unknown,
		func(name string) bool { return name == "config.json?" })...)
}

// TestSnapshotsThatAreNoCommits: as in huggingface_hub, a revision may be a folder of its name, and
// a reference may hold any name of a folder.
func TestSnapshotsThatAreNoCommits(t *testing.T) {
	cases.NotShort(t)
	for _, c := range []struct{ folder, ref, name, listed string }{
		{"main", "", "a/b", "a/b"},
		{"v1.0", "", "a/b@v1.0", "a/b@v1.0"},
		{"abc123", "abc123", "a/b", "a/b"},
		{"first", "first\n", "a/b", "a/b"},
		{strings.Repeat("A", 40), strings.Repeat("A", 40), "a/b", "a/b"},
		{strings.Repeat("f", 64), strings.Repeat("f", 64), "a/b", "a/b"},
	} {
		s, _, o := unlinked(t)
		root := filepath.Join(s.Dir, "..", "..")
		err := os.Rename(s.Dir, filepath.Join(root, "snapshots", c.folder))
		main := filepath.Join(root, "refs", "main")
		if c.ref == "" && err == nil {
			err = os.Remove(main)
		} else if err == nil {
			err = os.WriteFile(main, []byte(c.ref), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		found, err := hub.Find(parsed(c.name), o)
		if err != nil || found.Commit != c.folder || !found.Has("config.json") {
			t.Errorf("%s: %+v, %v", c.folder, found, err)
			continue
		}
		if wrong := verified(t, found); wrong != nil {
			t.Errorf("%s: %q", c.folder, wrong)
		}
		o.Offline = true
		if pulled, err := hub.Pull(t.Context(), parsed(c.name), o); err != nil ||
			pulled.Dir != found.Dir {
			t.Errorf("%s: pulled %+v, %v", c.folder, pulled, err)
		}
		listed, err := hub.List(o)
		if err != nil || len(listed) != 1 || listed[0].Name.String() != c.listed {
			t.Errorf("%s: listed %+v, %v", c.folder, listed, err)
		}
		if _, _, err := hub.Remove(parsed(c.name), o); err != nil {
			t.Errorf("%s: %v", c.folder, err)
		}
		if _, err := os.Stat(found.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", c.folder, err)
		}
	}
}

// TestReferencesThatLeadElsewhere: no reference leads out of the snapshots.
func TestReferencesThatLeadElsewhere(t *testing.T) {
	cases.NotShort(t)
	for _, ref := range []string{"..", ".", "", "../blobs", "/etc", "a/b", `..\blobs`, ".hidden",
		strings.Repeat("a", 300), "a\x1bb", "\xff"} {
		s, _, o := unlinked(t)
		main := filepath.Join(s.Dir, "..", "..", "refs", "main")
		if err := os.WriteFile(main, []byte(ref), 0o666); err != nil {
			t.Fatal(err)
		}
		if found, err := hub.Find(parsed("a/b"), o); !errors.Is(err, hub.ErrAbsent) {
			t.Errorf("%q: %+v, %v", ref, found, err)
		}
	}
}

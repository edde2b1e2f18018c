package hub_test

// A hostile hub, network and cache.

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/checkpoint/hub"
	"picogpt/dev/fakehub"
)

// TestLinksInTheCacheLeadNothingOut has links to another folder instead of folders of the cache:
// nothing is written there.
func TestLinksInTheCacheLeadNothingOut(t *testing.T) {
	repo := gpt2("a/b")
	for _, link := range []string{"models--a--b/blobs", "models--a--b/snapshots",
		"models--a--b/refs", "models--a--b/.no_exist", ".locks", ".locks/models--a--b",
		"models--a--b/snapshots/" + repo.Commit()} {
		_, o := start(t, repo)
		elsewhere := t.TempDir()
		path := filepath.Join(o.Cache, filepath.FromSlash(link))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, path); err != nil {
			t.Skip("no links here: ", err)
		}
		_, err := hub.Pull(t.Context(), name("a/b"), o)
		spare := strings.HasSuffix(link, ".no_exist") || strings.HasPrefix(link, ".locks")
		if spare != (err == nil) {
			t.Errorf("%s: %v", link, err)
		}
		if got := tree(t, elsewhere); got != "" {
			t.Errorf("%s: outside of the cache there is\n%s", link, got)
		}
	}
}

// TestABlobThatIsThereIsChecked has wrong bytes under the name of a blob, as a full disk or another
// program may have left them.
func TestABlobThatIsThereIsChecked(t *testing.T) {
	repo := gpt2("a/b")
	for name, plant := range map[string]func(path string) error{
		"wrong":     func(p string) error { return os.WriteFile(p, pattern(299_999), 0o666) },
		"as long":   func(p string) error { return os.WriteFile(p, make([]byte, 300_000), 0o666) },
		"a link":    func(p string) error { return os.Symlink("/etc/passwd", p) },
		"to itself": func(p string) error { return os.Symlink(filepath.Base(p), p) },
	} {
		_, o := start(t, repo)
		blobs := filepath.Join(o.Cache, "models--a--b", "blobs")
		if err := os.MkdirAll(blobs, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := plant(filepath.Join(blobs, fakehub.Etag(pattern(300_000), true))); err != nil {
			t.Fatal(err)
		}
		if _, err := hub.Pull(t.Context(), parsed("a/b"), o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantWhole(t, o, repo, true)
	}
}

func TestLinksToNothingAreReplaced(t *testing.T) {
	repo := gpt2("a/b")
	_, o := start(t, repo)
	s, err := hub.Pull(t.Context(), name("a/b"), o)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := filepath.EvalSymlinks(filepath.Join(s.Dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(blob); err != nil {
		t.Fatal(err)
	}
	if s.Has("model.safetensors") {
		t.Error("a link to nothing counts as a file")
	}
	if _, err := hub.Pull(t.Context(), name("a/b"), o); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, o, repo, true)
}

// A transport answers requests instead of a network.
type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := f(r)
	resp.Request = r
	if resp.Body == nil {
		resp.Body = io.NopCloser(strings.NewReader(""))
	}
	return resp, nil
}

func TestHTTPSStaysHTTPS(t *testing.T) {
	repo := gpt2("a/b")
	for _, to := range []string{"http://hub.test/x", "http://files.test/x", "ftp://files.test/x",
		"file:///etc/passwd", "//files.test/x"} {
		asked := ""
		o := hub.Options{Cache: t.TempDir(), Endpoint: "https://hub.test", Token: "hf_secret"}
		o.Transport = transport(func(r *http.Request) *http.Response {
			asked += r.URL.Scheme + "://" + r.URL.Host + " " + r.Header.Get("Authorization") + "\n"
			return &http.Response{StatusCode: 302, Header: http.Header{
				"X-Repo-Commit": {repo.Commit()}, "X-Linked-Etag": {strings.Repeat("a", 64)},
				"X-Linked-Size": {"5"}, "Location": {to}}}
		})
		if _, err := hub.Pull(t.Context(), name("a/b"), o); err == nil {
			t.Errorf("%s: want an error", to)
		}
		for line := range strings.Lines(asked) {
			toHub := strings.HasPrefix(line, "https://hub.test ")
			if !strings.HasPrefix(line, "https://") ||
				strings.Contains(line, "hf_secret") != toHub {
				t.Errorf("%s: asked %s", to, line)
			}
		}
	}
}

func TestAddresses(t *testing.T) {
	var asked []string
	o := hub.Options{Cache: t.TempDir(), Endpoint: "https://mirror.test/hf/"}
	o.Transport = transport(func(r *http.Request) *http.Response {
		asked = append(asked, r.Method+" "+r.URL.String())
		return &http.Response{StatusCode: 404, Header: http.Header{
			"X-Error-Code": {"EntryNotFound"}, "X-Repo-Commit": {strings.Repeat("a", 40)}}}
	})
	hub.Pull(t.Context(), name("a/b@refs/pr/22"), o, "in a folder/100%?#.gguf")
	hub.Pull(t.Context(), name("a/b@été"), o)
	for i, want := range []string{
		"HEAD https://mirror.test/hf/a/b/resolve/refs%2Fpr%2F22/in%20a%20folder/100%25%3F%23.gguf",
		"HEAD https://mirror.test/hf/a/b/resolve/%C3%A9t%C3%A9/config.json",
		"GET https://mirror.test/hf/api/models/a/b/revision/" + strings.Repeat("a", 40),
	} {
		if i >= len(asked) || asked[i] != want {
			t.Errorf("asked %q, want %q", asked, want)
		}
	}
	for _, bad := range []string{"huggingface.co", "ftp://x", "https://", "http://a b", "\x00"} {
		o.Endpoint = bad
		if _, err := hub.Pull(t.Context(), name("a"), o); err == nil {
			t.Errorf("endpoint %q: want an error", bad)
		}
	}
	o.Endpoint, o.Token = "", "hf_a\r\nX-Other: b"
	if _, err := hub.Pull(t.Context(), name("a"), o); err == nil ||
		strings.Contains(err.Error(), "hf_") {
		t.Errorf("a token of two lines: %v", err)
	}
}

// TestAFileWithoutASizeIsBounded has weights whose size the hub does not say, and which do not end.
func TestAFileWithoutASizeIsBounded(t *testing.T) {
	repo := gpt2("a/b")
	h, o := start(t, repo)
	h.Break(fakehub.All(
		fakehub.For("hub", "HEAD", weightsFile, 0, fakehub.Status(302, "X-Repo-Commit",
			repo.Commit(), "X-Linked-Etag", strings.Repeat("a", 64), "Location",
			h.Files+"/a/b"+weightsFile)),
		fakehub.For("files", "GET", weightsFile, 0, fakehub.Endless)))
	_, err := hub.Pull(t.Context(), name("a/b"), o)
	if err == nil || !strings.Contains(err.Error(), "more than 67108864 bytes are sent") {
		t.Error(err)
	}
	wantWhole(t, o, repo, false)
}

func TestAnEmptyFile(t *testing.T) {
	repo := gpt2("a/b")
	repo.Files["merges.txt"], repo.Files["meta.pkl"] = []byte{}, []byte{}
	_, o := start(t, repo)
	if _, err := hub.Pull(t.Context(), name("a/b"), o); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, o, repo, true)
}

// TestLists has hostile answers of the API.
func TestLists(t *testing.T) {
	h, o := start(t, &fakehub.Repo{Name: "a/b", Files: map[string][]byte{"x.gguf": pattern(9)}})
	for body, want := range map[string]string{
		`{"siblings": [{"rfilename": "../../../x.gguf"}]}`: "leads out of the folder",
		`{"siblings": [{"rfilename": "/etc/passwd"}]}`:     "leads out of the folder",
		`{"siblings": [{"rfilename": "a\\b.gguf"}]}`:       "leads out of the folder",
		`{"siblings": [{"rfilename": "\u001b[2J.gguf"}]}`:  "no plain name",
		`{"siblings": [`:                   "not valid JSON",
		`[]`:                               "want an object",
		`{"siblings": [{"rfilename": 7}]}`: "want a string",
		`{}`:                               "want siblings",
		`{"siblings": []}`:                 hub.ErrNoWeights.Error(),
	} {
		h.Break(func(w http.ResponseWriter, r *http.Request, _ string, _ []byte) bool {
			if !strings.HasPrefix(r.URL.Path, "/api/") {
				return false
			}
			io.WriteString(w, body)
			return true
		})
		if _, err := hub.Pull(t.Context(), name("a/b"), o); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	h.Break(func(w http.ResponseWriter, r *http.Request, host string, _ []byte) bool {
		return strings.HasPrefix(r.URL.Path, "/api/") && fakehub.Endless(w, r, host, nil)
	})
	if _, err := hub.Pull(t.Context(), name("a/b"), o); err == nil ||
		!strings.Contains(err.Error(), "more than 16777216 bytes") {
		t.Errorf("an endless list: %v", err)
	}
}

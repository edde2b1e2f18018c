package hub_test

// Networks and servers that fail: the cache never has an incomplete or wrong file under its final
// name.

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"picogpt/checkpoint/hub"
	"picogpt/dev/cases"
	"picogpt/dev/fakehub"
)

// wantWhole checks that all that lies in the cache as a blob or in a snapshot is what the
// repository has, and that what is left of a download begins as its file does; with all set nothing
// is left.
func wantWhole(t *testing.T, o hub.Options, repo *fakehub.Repo, all bool) {
	t.Helper()
	right := map[string]bool{}
	for name, b := range repo.Files {
		right[string(b)] = true
		s := filepath.Join(o.Cache, "models--a--b", "snapshots", repo.Commit(), name)
		if got, err := os.ReadFile(s); err == nil && string(got) != string(b) {
			t.Errorf("%s: %d bytes that are not those of the hub", name, len(got))
		} else if err != nil && all && name != "tf_model.h5" {
			t.Error(err)
		}
	}
	blobs, _ := os.ReadDir(filepath.Join(o.Cache, "models--a--b", "blobs"))
	for _, e := range blobs {
		b, err := os.ReadFile(filepath.Join(o.Cache, "models--a--b", "blobs", e.Name()))
		etag, _, partial := strings.Cut(e.Name(), ".")
		if partial && !all && len(b) > 0 && err == nil && slices.ContainsFunc(
			slices.Collect(maps.Values(repo.Files)), func(whole []byte) bool {
				return etag == fakehub.Etag(whole, true) && strings.HasPrefix(string(whole), string(b))
			}) {
			continue
		}
		if err != nil || !right[string(b)] || partial {
			t.Errorf("blobs/%s: %d bytes, %v", e.Name(), len(b), err)
		}
	}
	_, err := os.Stat(filepath.Join(o.Cache, "models--a--b", "refs", "main"))
	if (err == nil) != all {
		t.Errorf("refs/main: %v", err)
	}
}

const weightsFile = "/model.safetensors"

func TestFaultsThatPass(t *testing.T) {
	get := func(times int, f fakehub.Fault) fakehub.Fault {
		return fakehub.For("files", "GET", weightsFile, times, f)
	}
	small := func(method string, times int, f fakehub.Fault) fakehub.Fault {
		return fakehub.For("hub", method, "/vocab.json", times, f)
	}
	first := func(times int, f fakehub.Fault) fakehub.Fault {
		return fakehub.For("hub", "HEAD", "/config.json", times, f)
	}
	faults := map[string]fakehub.Fault{
		"the first answer is cut":        first(5, fakehub.Cut(-1)),
		"the first answer is a 503":      first(5, fakehub.Status(503)),
		"HEAD is cut":                    small("HEAD", 5, fakehub.Cut(-1)),
		"HEAD is a 500":                  small("HEAD", 5, fakehub.Status(500)),
		"HEAD is a 429":                  small("HEAD", 5, fakehub.Status(429, "Retry-After", "0")),
		"a small file is cut":            small("GET", 3, fakehub.Cut(3)),
		"a small file is cut at once":    small("GET", 5, fakehub.Cut(0)),
		"cut before the headers":         get(5, fakehub.Cut(-1)),
		"cut after the headers":          get(5, fakehub.Cut(0)),
		"cut after one byte, many times": get(20, fakehub.Cut(1)),
		"cut in the middle":              get(12, fakehub.Cut(10_000)),
		"cut before the last byte":       get(1, fakehub.Cut(299_999)),
		"a 408":                          get(5, fakehub.Status(408)),
		"a 429": get(5, fakehub.Status(429, "Retry-After",
			"Thu, 01 Jan 1970 00:00:00 GMT")),
		"a 504":                      get(5, fakehub.Status(504)),
		"an address that is too old": get(2, fakehub.Status(403)),
		"200 for a range": fakehub.All(get(1, fakehub.Cut(200_000)),
			get(3, fakehub.Whole(0))),
		"200 for a range, cut": fakehub.All(get(1, fakehub.Cut(200_000)),
			get(1, fakehub.Whole(250_000))),
		"416 for a range": fakehub.All(get(1, fakehub.Cut(200_000)), get(1, fakehub.Status(416))),
		"the list is not asked for": func(w http.ResponseWriter, r *http.Request, _ string,
			_ []byte) bool {
			return strings.HasPrefix(r.URL.Path, "/api") && fakehub.Cut(-1)(w, r, "", nil)
		},
		"it is slow and comes": get(0, fakehub.Slow(50_000, 60*time.Millisecond)),
	}
	for _, name := range some(slices.Sorted(maps.Keys(faults))) {
		fault := faults[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := gpt2("a/b")
			h, o := start(t, repo)
			h.Break(fault)
			if strings.Contains(name, "slow") {
				o.ReadTimeout = 300 * time.Millisecond // more than one part takes, less than all
			}
			notes := 0
			o.Progress = func(p hub.Progress) {
				if p.Note != "" {
					notes++
				}
			}
			if _, err := hub.Pull(t.Context(), parsed("a/b"), o); err != nil {
				t.Fatal(err)
			}
			wantWhole(t, o, repo, true)
			quiet := strings.Contains(name, "not asked") || strings.Contains(name, "slow")
			if quiet != (notes == 0) {
				t.Errorf("%d notes", notes)
			}
		})
	}
}

func parsed(s string) hub.Name { return name(s) }

// A faultCase is a fault that ends a pull, and what the error says.
type faultCase struct {
	name, want string
	fault      fakehub.Fault
}

// some returns all of a list, or a quarter of it where one case of each kind is done.
func some[T any](all []T) []T {
	if cases.Short() {
		return cases.Some(all, len(all)/4, 0)
	}
	return all
}

func TestFaultsThatDoNotPass(t *testing.T) {
	get := func(f fakehub.Fault) fakehub.Fault {
		return fakehub.For("files", "GET", weightsFile, 0, f)
	}
	vocab := func(f fakehub.Fault) fakehub.Fault {
		return fakehub.For("hub", "GET", "/vocab.json", 0, f)
	}
	head := func(f fakehub.Fault) fakehub.Fault {
		return fakehub.For("hub", "HEAD", weightsFile, 0, f)
	}
	config := func(f fakehub.Fault) fakehub.Fault {
		return fakehub.For("hub", "HEAD", "/config.json", 0, f)
	}
	commit := gpt2("a/b").Commit()
	sum := strings.Repeat("a1", 32)
	linked := func(more ...string) fakehub.Fault {
		return fakehub.Status(302, append([]string{"X-Repo-Commit", commit, "X-Linked-Etag", sum,
			"X-Linked-Size", "300000", "Location", "http://127.0.0.1:1/"}, more...)...)
	}
	for _, c := range some([]faultCase{
		{"always cut", "given up after 5 retries: the connection was cut", get(fakehub.Cut(0))},
		{"200 for a range, always cut at the same byte", "given up after 5 retries",
			get(fakehub.Whole(100_000))},
		{"416 always", "given up", fakehub.All(fakehub.For("files", "GET", weightsFile, 1,
			fakehub.Cut(9)), get(fakehub.Status(416)))},
		{"503 always", "503 Service Unavailable", get(fakehub.Status(503))},
		{"nothing comes", "nothing came for 100ms", get(fakehub.Hang(-1))},
		{"nothing comes after the headers", "nothing came for 100ms", get(fakehub.Hang(0))},
		{"a wait of hours", "asks to wait for 2h0m0s",
			get(fakehub.Status(429, "Retry-After", "7200"))},
		{"other bytes", "SHA-256", get(fakehub.Other)},
		{"other bytes of a small file", "git's SHA-1", vocab(fakehub.Other)},
		{"more bytes", "more than 300000 bytes are sent", get(fakehub.More)},
		{"endless bytes", "more than 300000 bytes are sent", get(fakehub.Endless)},
		{"endless bytes of a small file", "more than 8 bytes are sent", vocab(fakehub.Endless)},
		{"another part than was asked for", "an answer from byte 7 on, want 0",
			get(fakehub.Status(206, "Content-Range", "bytes 7-8/300000"))},
		{"a part of another size", "300001 bytes are sent, want 300000",
			get(fakehub.Status(206, "Content-Range", "bytes 0-8/300001"))},
		{"a part of nothing", "Content-Range", get(fakehub.Status(206))},
		{"a compressed file", "Content-Encoding", vocab(fakehub.Status(200, "Content-Encoding",
			"gzip"))},
		{"a size that is none", "a size of 1e9, want bytes", head(linked("X-Linked-Size", "1e9"))},
		{"a size that is absurd", "a size of 9223372036854775807", head(linked("X-Linked-Size",
			"9223372036854775807"))},
		{"an etag that climbs", "ETag", head(linked("X-Linked-Etag", `"../../../evil"`))},
		{"a commit that climbs", "X-Repo-Commit", config(fakehub.Status(200, "X-Repo-Commit",
			"../../evil", "ETag", sum))},
		{"no commit", "is 127.0.0.1", config(fakehub.Status(200))},
		{"another commit", "of commit " + strings.Repeat("b", 40), head(linked("X-Repo-Commit",
			strings.Repeat("b", 40)))},
		{"a redirect to a file", "want an address of https", head(linked("Location",
			"file:///etc/passwd"))},
		{"a redirect to nowhere", "leads nowhere", head(fakehub.Status(302))},
		{"redirects without end", "more than 5 redirects", head(fakehub.Status(307, "Location",
			"/a/b/resolve/main/model.safetensors"))},
		{"redirects of bytes without end", "more than 5 redirects", get(fakehub.Status(302,
			"Location", "/a/b/model.safetensors"))},
		{"a page", "418 I'm a teapot", head(fakehub.Status(418))},
	}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := gpt2("a/b")
			h, o := start(t, repo)
			h.Break(c.fault)
			if strings.Contains(c.name, "nothing comes") {
				o.ReadTimeout = 100 * time.Millisecond
			}
			_, err := hub.Pull(t.Context(), parsed("a/b"), o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %s", err, c.want)
			}
			text := err.Error()
			if strings.Contains(text, "secret") || strings.Contains(text, "\n") {
				t.Errorf("an error of several lines, or with a signature: %s", text)
			}
			wantWhole(t, o, repo, false)
		})
	}
}

// TestWhatCannotHealIsAskedOnce: what another try cannot change ends the pull. An address that is
// refused is worth another one, and the same address again is not.
func TestWhatCannotHealIsAskedOnce(t *testing.T) {
	cases.NotShort(t)
	repo := gpt2("a/b")
	closed := httptest.NewServer(nil)
	closed.Close()
	talker, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer talker.Close()
	go func() {
		for {
			c, err := talker.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1)) // an answer before the request may be taken for a cut connection
			io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n")
			c.Close()
		}
	}()
	for _, c := range []struct {
		name, to string // the address of the weights
		status   int    // of the second host
		want     string
		gets     int // on the second host
	}{
		{"gone", "FILES", 404, "answers 404 Not Found", 1},
		{"gone for good", "FILES", 410, "answers 410 Gone", 1},
		{"not allowed", "FILES", 451, "answers 451", 1},
		{"refused again", "FILES", 403, "answers 403 Forbidden", 2},
		{"nobody listens", closed.URL, 200, "out of reach", 0},
		{"no such port", "http://127.0.0.1:99999", 200, "out of reach", 0},
		{"another scheme", "ftp://127.0.0.1", 200, "want an address of https", 0},
		{"another protocol", "http://" + talker.Addr().String(), 200, "no answer in HTTP", 0},
		{"a loop", "FILES/loop", 200, "more than 5 redirects", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, o := start(t, repo)
			to := strings.Replace(c.to, "FILES", h.Files, 1) + weightsFile
			faults := []fakehub.Fault{
				fakehub.For("hub", "HEAD", weightsFile, 0, fakehub.Status(302, "X-Repo-Commit",
					repo.Commit(), "X-Linked-Etag", strings.Repeat("a1", 32), "X-Linked-Size", "300000",
					"Location", to)),
				fakehub.For("files", "GET", "/loop"+weightsFile, 0, fakehub.Status(302, "Location", to)),
			}
			if c.status != 200 {
				faults = append(faults, fakehub.For("files", "GET", weightsFile, 0, fakehub.Status(c.status)))
			}
			h.Break(fakehub.All(faults...))
			notes := 0
			o.Progress = func(p hub.Progress) {
				if p.Note != "" {
					notes++
				}
			}
			_, err := hub.Pull(t.Context(), parsed("a/b"), o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %s", err, c.want)
			}
			gets := 0
			for _, r := range h.Requests() {
				if r.Host == "files" && r.Path == weightsFile {
					gets++
				}
			}
			if gets != c.gets || notes != max(0, c.gets-1) {
				t.Errorf("%d requests and %d notes, want %d requests", gets, notes, c.gets)
			}
		})
	}
}

// TestTheWeightsComeLast covers a tokenizer that cannot be had: without it the checkpoint would
// seem to have GPT-2's.
func TestTheWeightsComeLast(t *testing.T) {
	h, o := start(t, gpt2("a/b"))
	h.Break(fakehub.For("hub", "GET", "/vocab.json", 0, fakehub.Other))
	if _, err := hub.Pull(t.Context(), name("a/b"), o); err == nil {
		t.Fatal("want an error")
	}
	if got := tree(t, o.Cache); strings.Contains(got, "model.safetensors ->") {
		t.Errorf("the weights came all the same:\n%s", got)
	}
}

func TestTheTokenGoesToTheHubAlone(t *testing.T) {
	repo := gpt2("a/b")
	repo.Token = "hf_secret"
	h, o := start(t, repo, &fakehub.Repo{Name: "old", MovedTo: "a/b"})
	o.Token = "hf_secret"
	if _, err := hub.Pull(t.Context(), name("old"), o); err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, r := range h.Requests() {
		want := "Bearer hf_secret"
		if r.Host == "files" {
			files++
			want = ""
		}
		if r.Authorization != want {
			t.Errorf("%s %s %s: Authorization %q, want %q", r.Host, r.Method, r.Path,
				r.Authorization, want)
		}
	}
	if files == 0 {
		t.Error("the second host was not asked")
	}
}

// TestARedirectOfBytesLosesTheToken has the hub itself redirect a GET to another host, and that
// host redirect to a third.
func TestARedirectOfBytesLosesTheToken(t *testing.T) {
	repo := gpt2("a/b")
	repo.Small = true
	h, o := start(t, repo)
	o.Token = "hf_secret"
	h.Break(fakehub.All(
		fakehub.For("hub", "GET", weightsFile, 0, fakehub.Status(302, "Location",
			h.Files+"/elsewhere")),
		fakehub.For("files", "GET", "/elsewhere", 0, fakehub.Status(302, "Location",
			h.Files+"/a/b"+weightsFile))))
	if _, err := hub.Pull(t.Context(), name("a/b"), o); err != nil {
		t.Fatal(err)
	}
	for _, r := range h.Requests() {
		if r.Host == "files" && r.Authorization != "" {
			t.Errorf("%s: Authorization %q", r.Path, r.Authorization)
		}
	}
}

func TestRefusals(t *testing.T) {
	gated, private, disabled := gpt2("a/gated"), gpt2("a/private"), gpt2("a/disabled")
	gated.Gated, private.Token, disabled.Disable = true, "hf_right", true
	_, o := start(t, gated, private, disabled, gpt2("a/b"))
	for _, c := range []struct {
		name, token string
		want        error
	}{
		{"a/none", "", hub.ErrNoRepo},
		{"a/none", "hf_x", hub.ErrNoRepo},
		{"a/private", "", hub.ErrNoRepo},
		{"a/private", "hf_x", hub.ErrNoRepo},
		{"a/private", "hf_right", nil},
		{"a/gated", "", hub.ErrGated},
		{"a/gated", "hf_x", nil},
		{"a/disabled", "", hub.ErrDisabled},
		{"a/b", "wrong", hub.ErrToken},
		{"a/b@v9", "", hub.ErrNoRevision},
		{"a/b@" + strings.Repeat("0", 40), "", hub.ErrNoRevision},
	} {
		o.Token = c.token
		if _, err := hub.Pull(t.Context(), name(c.name), o); !errors.Is(err, c.want) {
			t.Errorf("%s with token %q: %v, want %v", c.name, c.token, err, c.want)
		} else if err != nil && (!strings.HasPrefix(err.Error(), "a/") ||
			strings.Contains(err.Error(), "hf_")) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if got := tree(t, filepath.Join(o.Cache, "models--a--none")); got != "" {
		t.Errorf("a repository that is not there leaves\n%s", got)
	}
}

// TestWhatTheHubNoLongerShows: a repository that is in the cache is taken from there when the hub
// refuses it, as Python's tools do; the hub's reason is told, and what the cache lacks is an error.
func TestWhatTheHubNoLongerShows(t *testing.T) {
	const waits = "Your request to access model a/b is awaiting a review from the repo authors."
	repo := gpt2("a/b")
	h, o := start(t, repo)
	want, err := hub.Pull(t.Context(), parsed("a/b"), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*fakehub.Repo)
		token  string
		want   error
		note   string
	}{
		{func(r *fakehub.Repo) { r.Gated = true }, "", hub.ErrGated, "Access to model is restricted."},
		{func(r *fakehub.Repo) { r.Gated, r.Denied = true, waits }, "hf_x", hub.ErrGated, waits},
		{func(r *fakehub.Repo) { r.Token = "hf_right" }, "", hub.ErrNoRepo, "or it is private"},
		{func(r *fakehub.Repo) { r.Disable = true }, "", hub.ErrDisabled, "disabled"},
		{func(*fakehub.Repo) {}, "wrong", hub.ErrToken, "token"},
	} {
		now := gpt2("a/b")
		c.change(now)
		h.Put(now)
		o.Token = c.token
		note := ""
		o.Progress = func(p hub.Progress) { note += p.Note }
		if s, err := hub.Pull(t.Context(), parsed("a/b"), o); err != nil || s.Dir != want.Dir ||
			!strings.Contains(note, c.note) || !strings.Contains(note, "what the cache has of a/b is taken") {
			t.Errorf("%v: %v, note %q", c.want, err, note)
		}
		if _, err := hub.Pull(t.Context(), parsed("a/b"), o, "more.txt"); !errors.Is(err, c.want) {
			t.Errorf("a file that the cache lacks: %v, want %v", err, c.want)
		}
		fresh := o
		fresh.Cache = t.TempDir()
		if _, err := hub.Pull(t.Context(), parsed("a/b"), fresh); !errors.Is(err, c.want) ||
			c.want == hub.ErrGated && !strings.HasSuffix(err.Error(), ": a gated repository: "+c.note) {
			t.Errorf("an empty cache: %v, want %v", err, c.want)
		}
	}
	if _, err := hub.Pull(t.Context(), name("a/b@v9"), o); err == nil {
		t.Error("a revision that nobody has is there")
	}
}

func TestWithoutAHub(t *testing.T) {
	repo := gpt2("a/b")
	h, o := start(t, repo)
	offline := o
	offline.Offline = true
	for _, n := range []string{"a/b", "a/b@" + repo.Commit()} {
		if _, err := hub.Pull(t.Context(), name(n), offline); !errors.Is(err, hub.ErrOffline) {
			t.Errorf("%s: %v, want ErrOffline", n, err)
		}
	}
	if got := tree(t, o.Cache); got != "" {
		t.Errorf("a pull offline leaves\n%s", got)
	}
	want, err := hub.Pull(t.Context(), name("a/b"), o)
	if err != nil {
		t.Fatal(err)
	}
	h.Requests()
	if s, err := hub.Pull(t.Context(), name("a/b"), offline); err != nil || s.Dir != want.Dir {
		t.Errorf("offline: %v, %v", s, err)
	}
	if got := h.Requests(); len(got) > 0 {
		t.Errorf("offline it asks %v", got)
	}
	note := ""
	o.Progress = func(p hub.Progress) { note += p.Note }
	for name, fault := range map[string]fakehub.Fault{"503": fakehub.Status(503),
		"cut": fakehub.Cut(-1)} {
		h.Break(fakehub.For("hub", "HEAD", "/config.json", 0, fault))
		note = ""
		s, err := hub.Pull(t.Context(), parsed("a/b"), o)
		if err != nil || s.Dir != want.Dir || !strings.Contains(note, "what the cache has of a/b") {
			t.Errorf("%s: %v, %v, note %q", name, s, err, note)
		}
	}
	h.Close()
	note = ""
	if s, err := hub.Pull(t.Context(), name("a/b"), o); err != nil || s.Dir != want.Dir ||
		!strings.Contains(note, "what the cache has of a/b") {
		t.Errorf("no hub: %v, %v, note %q", s, err, note)
	}
	note = ""
	_, err = hub.Pull(t.Context(), name("a/c"), o)
	if !errors.Is(err, hub.ErrUnreached) || strings.Contains(note, "trying again") {
		t.Errorf("no hub and no cache: %v, note %q; want it not tried again", err, note)
	}
	if err := os.Remove(filepath.Join(want.Dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	if _, err = hub.Pull(t.Context(), name("a/b"), offline); !errors.Is(err, hub.ErrOffline) {
		t.Errorf("half a checkpoint offline: %v", err)
	}
}

func TestACancelledPullLeavesNothingWrong(t *testing.T) {
	for name, fault := range map[string]fakehub.Fault{
		"in the middle": fakehub.For("files", "GET", weightsFile, 0, fakehub.Hang(100_000)),
		"in a wait":     fakehub.For("files", "GET", weightsFile, 0, fakehub.Status(503)),
	} {
		repo := gpt2("a/b")
		h, o := start(t, repo)
		h.Break(fault)
		ctx, cancel := context.WithCancel(t.Context())
		o.RetryWait = time.Hour >> 5
		o.Progress = func(p hub.Progress) {
			if p.File == "model.safetensors" && (p.Done >= 100_000 || p.Note != "") {
				cancel()
			}
		}
		if _, err := hub.Pull(ctx, parsed("a/b"), o); err != context.Canceled {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
		cancel()
		wantWhole(t, o, repo, false)
	}
}

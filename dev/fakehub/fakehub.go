// Package fakehub is a Hugging Face hub for tests, on this machine. It gives the answers of its two
// hosts that huggingface_hub 1.29 expects, and faults of a network. Only tests import it.
package fakehub

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Hub answers like huggingface.co. Large files are on a second host.
type Hub struct {
	URL   string // the endpoint
	Files string // the second host

	hub, files *httptest.Server
	signed     atomic.Int64 // addresses on the second host: each is another one

	mu       sync.Mutex
	repos    map[string]*Repo
	fault    Fault
	requests []Request
}

// A Repo is a repository at one commit.
type Repo struct {
	Name    string
	Files   map[string][]byte
	Small   bool     // no file is on the second host
	Refs    []string // the revisions that are Commit, besides main
	OnlyRef bool     // main is another commit, without files
	MovedTo string   // the new name of the repository
	Token   string   // a request without it is told that there is no repository
	Gated   bool     // a request without a token is told to ask for access
	Denied  string   // why a request with a token is refused, if the repository is gated
	Disable bool
}

// Commit returns the commit of a repository, which depends on its files.
func (r *Repo) Commit() string {
	h := sha1.New()
	fmt.Fprintln(h, r.Name)
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		fmt.Fprintln(h, name, Etag(r.Files[name], r.isLarge(name)))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (r *Repo) isLarge(name string) bool {
	return !r.Small && !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".txt")
}

// Etag returns the hub's name for bytes: their SHA-256 for a large file, else git's SHA-1. Each request
// asks for those of all files: the sums of large ones are kept.
func Etag(b []byte, large bool) string {
	if large {
		key := maphash.Bytes(seed, b)
		etag, known := etags.Load(key)
		if !known {
			sum := sha256.Sum256(b)
			etag, _ = etags.LoadOrStore(key, hex.EncodeToString(sum[:]))
		}
		return etag.(string)
	}
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
	return hex.EncodeToString(sum[:])
}

var (
	seed  = maphash.MakeSeed()
	etags sync.Map // by a quick hash of the bytes, which tests change
)

// A Request is a request that the hub received.
type Request struct {
	Host          string // "hub" or "files"
	Method, Path  string
	Range         string
	Authorization string
}

// A Fault answers a request in its own way, or returns false. body is the contents of the file, or
// nil if the request is not for a file.
type Fault func(w http.ResponseWriter, r *http.Request, host string, body []byte) bool

// New starts a hub with these repositories. The caller must call Close.
func New(repos ...*Repo) *Hub {
	h := &Hub{repos: map[string]*Repo{}}
	h.hub = httptest.NewServer(http.HandlerFunc(h.serveHub))
	h.files = httptest.NewServer(http.HandlerFunc(h.serveFiles))
	h.URL, h.Files = h.hub.URL, h.files.URL
	for _, r := range repos {
		h.Put(r)
	}
	return h
}

// Close ends the hub.
func (h *Hub) Close() {
	for _, s := range []*httptest.Server{h.hub, h.files} {
		s.CloseClientConnections()
		s.Close()
	}
}

// Put adds a repository, or replaces one.
func (h *Hub) Put(r *Repo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.repos[r.Name] = r
}

// Break sets the fault; nil removes it.
func (h *Hub) Break(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault = f
}

// Requests returns the requests since the last call.
func (h *Hub) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.requests
	h.requests = nil
	return all
}

// note records a request and returns the fault for it.
func (h *Hub) note(host string, r *http.Request) Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, Request{host, r.Method, r.URL.EscapedPath(),
		r.Header.Get("Range"), r.Header.Get("Authorization")})
	if h.fault == nil {
		return func(http.ResponseWriter, *http.Request, string, []byte) bool { return false }
	}
	return h.fault
}

func (h *Hub) repo(name string) *Repo {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.repos[name]
}

// serveHub is the handler of the first host.
func (h *Hub) serveHub(w http.ResponseWriter, r *http.Request) {
	fault := h.note("hub", r)
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	list := strings.HasPrefix(path, "api/models/")
	name, rest, _ := strings.Cut(strings.TrimPrefix(path, "api/models/"), "/resolve/")
	if list {
		name, rest, _ = strings.Cut(strings.TrimPrefix(path, "api/models/"), "/revision/")
	}
	escaped, file, _ := strings.Cut(rest, "/")
	revision, _ := url.PathUnescape(escaped)
	file, _ = url.PathUnescape(file)
	repo := h.repo(name)
	body := []byte(nil)
	if repo != nil {
		body = repo.Files[file]
	}
	switch {
	case fault(w, r, "hub", body):
	case repo == nil:
		refuse(w, http.StatusUnauthorized, "RepoNotFound", "Repository not found")
	case repo.MovedTo != "":
		to := strings.Replace(r.URL.EscapedPath(), "/"+name+"/", "/"+repo.MovedTo+"/", 1)
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case !repo.admits(w, r):
	case !repo.has(revision):
		refuse(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+revision)
	case list:
		repo.list(w)
	default:
		h.serveFile(w, r, repo, file)
	}
}

// admits reports whether a request may see the repository. If not, it has answered.
func (repo *Repo) admits(w http.ResponseWriter, r *http.Request) bool {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case repo.Disable:
		refuse(w, http.StatusForbidden, "", "Access to this resource is disabled.")
	case token == "wrong":
		refuse(w, http.StatusUnauthorized, "", "Invalid credentials in Authorization header")
	case repo.Token != "" && token == "":
		refuse(w, http.StatusUnauthorized, "", "Invalid username or password.")
	case repo.Token != "" && token != repo.Token:
		refuse(w, http.StatusNotFound, "RepoNotFound", "Repository not found")
	case repo.Gated && repo.Denied != "" && token != "":
		refuse(w, http.StatusForbidden, "GatedRepo", repo.Denied)
	case repo.Gated && token == "":
		refuse(w, http.StatusUnauthorized, "GatedRepo", "Access to model is restricted.")
	default:
		return true
	}
	return false
}

// has reports whether a revision is the repository's commit.
func (repo *Repo) has(revision string) bool {
	return revision == repo.Commit() || revision == "main" && !repo.OnlyRef ||
		slices.Contains(repo.Refs, revision)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	if code != "" {
		w.Header().Set("X-Error-Code", code)
	}
	w.Header().Set("X-Error-Message", message)
	w.WriteHeader(status)
}

// list answers the API with the names of the files.
func (repo *Repo) list(w http.ResponseWriter) {
	type sibling struct {
		Name string `json:"rfilename"`
	}
	all := []sibling{}
	for _, name := range slices.Sorted(maps.Keys(repo.Files)) {
		all = append(all, sibling{name})
	}
	json.NewEncoder(w).Encode(map[string]any{"id": repo.Name, "sha": repo.Commit(),
		"siblings": all, "gated": false})
}

// serveFile answers for a file: with its bytes, or with a redirect to them.
func (h *Hub) serveFile(w http.ResponseWriter, r *http.Request, repo *Repo, file string) {
	w.Header().Set("X-Repo-Commit", repo.Commit())
	b, ok := repo.Files[file]
	if !ok {
		refuse(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
		return
	}
	etag := Etag(b, repo.isLarge(file))
	if !repo.isLarge(file) {
		w.Header().Set("ETag", `"`+etag+`"`)
		serveBytes(w, r, b)
		return
	}
	w.Header().Set("X-Linked-Etag", `"`+etag+`"`)
	w.Header().Set("X-Linked-Size", fmt.Sprint(len(b)))
	w.Header().Set("ETag", `"of-the-redirect"`)
	w.Header().Set("Location", h.Files+"/"+repo.Name+"/"+file+"?signature=secret"+
		fmt.Sprint(h.signed.Add(1)))
	w.WriteHeader(http.StatusFound)
}

// serveBytes answers with bytes or a part of them, compressed unless the request declines that.
func serveBytes(w http.ResponseWriter, r *http.Request, b []byte) {
	if r.Header.Get("Accept-Encoding") != "identity" {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(b)
		z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("ETag", "W/"+w.Header().Get("ETag"))
		w.Write(packed.Bytes())
		return
	}
	http.ServeContent(w, r, "", zeroTime, bytes.NewReader(b))
}

// serveFiles is the handler of the second host, which needs no tokens.
func (h *Hub) serveFiles(w http.ResponseWriter, r *http.Request) {
	fault := h.note("files", r)
	path := strings.TrimPrefix(r.URL.Path, "/")
	var b []byte
	found := false
	h.mu.Lock()
	for _, repo := range h.repos {
		if file, ok := strings.CutPrefix(path, repo.Name+"/"); ok && !found {
			b, found = repo.Files[file]
		}
	}
	h.mu.Unlock()
	switch {
	case fault(w, r, "files", b):
	case !found:
		http.Error(w, "no such key", http.StatusNotFound)
	default:
		http.ServeContent(w, r, "", zeroTime, bytes.NewReader(b))
	}
}

// Package hub finds and downloads checkpoints of the Hugging Face hub. It uses the cache of Hugging
// Face's own Python tools: each finds what the other has downloaded.
//
//	o, err := hub.Environment() // HF_HOME, HF_TOKEN and the others
//	name, err := hub.ParseName("openai-community/gpt2")
//	snapshot, err := hub.Pull(ctx, name, o)
//	gpt, err := picogpt.Open(ctx, snapshot.Dir, picogpt.Config{})
//
// Its types, in the order in which they are best read:
//
//   - [Name] is the name of a repository and a revision of it.
//   - [Options] say where the cache and the hub are. Only [Environment] reads environment
//     variables.
//   - [Snapshot] is what the cache has of a repository: [Find] searches it and sends no request,
//     [List] lists the cache, and [Pull] downloads what is missing, which it tells in [Progress].
//     Snapshot.Verify checks the files, each a [Checked]; [Remove] removes a repository.
//   - [Remote] is a checkpoint at the hub: [Look] reads the headers of its files without
//     downloading them.
//   - [FolderError] says in which folders of a repository checkpoints are.
//
// Inside, a repo (repo.go) is a repository at one commit: it asks the hub by a client (client.go)
// and the cache by a store (cache.go). A download (fetch.go) is one file on its way.
//
// Each file that Pull downloads is checked against the hash that is its name in the cache, and
// appears there only when it is complete and right. Nothing else is trusted either: names from a
// server or an index stay inside the folder of the snapshot, and numbers and answers are bounded.
// Only the endpoint gets the token.
//
// The layout and the protocol are those of huggingface_hub 1.29.
package hub

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"picogpt/internal/folder"
)

// Options say where the cache and the hub are. Cache must be set; the zero values of the others are
// the defaults of Hugging Face's tools.
type Options struct {
	Cache    string // the folder that holds models--…; Environment returns the usual one
	Endpoint string // "" is https://huggingface.co
	Token    string // sent to the endpoint, and to no other host
	Offline  bool   // send no request

	// NoSymlinks puts the files themselves into the snapshots, instead of links. On a system that
	// has no links this is always so.
	NoSymlinks bool

	UserAgent   string        // "" is picogpt
	HeadTimeout time.Duration // for an answer about a file; 0 is 10 s
	ReadTimeout time.Duration // between two parts of a file; 0 is 10 s
	RetryWait   time.Duration // before the first of five retries, doubled each time; 0 is 500 ms

	// Proxy chooses the proxy of a request, as in http.Transport; nil means none.
	Proxy func(*http.Request) (*url.URL, error)
	// Transport sends the requests instead of this package's own transport, which uses Proxy.
	Transport http.RoundTripper

	// Folder is the folder of the repository that the names of files are relative to, and that the
	// checkpoint is in; "" is the top.
	Folder string
	// Part makes Pull take the one GGUF file whose name has this part, such as Q8_0.
	Part string

	// Verify makes Pull check the hashes of the files that the cache has, and download those that
	// are damaged again.
	Verify bool

	// CheckConfig, if not nil, is called with config.json before anything larger is downloaded. If
	// it returns an error, the pull ends.
	CheckConfig func(config []byte) error

	// Progress, if not nil, is called as bytes arrive, and with notes. It must return soon.
	Progress func(Progress)
}

// Progress says how far a Pull has come.
type Progress struct {
	File        string // that is being downloaded
	Done, Total int64  // bytes of the file; Total is -1 if the hub does not say it
	// bytes of all files that this call downloads, if their sizes are known
	AllDone, AllTotal int64
	Complete          bool   // the file is downloaded and checked
	Note              string // if not "", what happened: a retry, a wait, a hub out of reach
}

// The errors of this package that a program may want to act on wrap one of these.
var (
	ErrNoCache    = errors.New("no folder for the Hugging Face cache is known")
	ErrAbsent     = errors.New("not in the Hugging Face cache")
	ErrOffline    = errors.New("offline mode is on")
	ErrNoRepo     = errors.New("the hub has no repository of that name, or it is private")
	ErrNoRevision = errors.New("the repository has no such revision")
	ErrNoFile     = errors.New("the repository has no such file")
	ErrGated      = errors.New("a gated repository: its owner must allow the access")
	ErrDisabled   = errors.New("the hub has disabled access to this repository")
	ErrToken      = errors.New("the hub does not accept the token")
	ErrUnreached  = errors.New("the hub is out of reach")
	ErrChoose     = errors.New("more than one file could be the checkpoint")
	ErrNoWeights  = errors.New("no weights of a kind that picogpt reads")
)

// A FolderError is the error for a repository that has checkpoints in folders, and none at the top
// or in Options.Folder.
type FolderError struct {
	Repo    string
	Folders []string // for Options.Folder, one or more
}

func (e *FolderError) Error() string {
	return e.Repo + ": no checkpoint at the top, only in folders: " + few(e.Folders)
}

var errNoContext = errors.New("context: nil, want one, such as context.Background()")

// withDefaults replaces zero values by the defaults.
func (o Options) withDefaults() Options {
	o.Endpoint = cmp.Or(o.Endpoint, "https://huggingface.co")
	o.UserAgent = cmp.Or(o.UserAgent, "picogpt")
	o.HeadTimeout = cmp.Or(max(o.HeadTimeout, 0), 10*time.Second)
	o.ReadTimeout = cmp.Or(max(o.ReadTimeout, 0), 10*time.Second)
	o.RetryWait = cmp.Or(max(o.RetryWait, 0), 500*time.Millisecond)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o
}

// Environment returns the Options that environment variables give, as huggingface_hub reads them:
//
//	HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE    Cache
//	HF_HOME                                Cache is hub in it
//	XDG_CACHE_HOME                         HF_HOME is huggingface in it; ~/.cache without it
//	HF_TOKEN, HUGGING_FACE_HUB_TOKEN       Token
//	HF_TOKEN_PATH                          the file of the token; token in HF_HOME without it
//	HF_HUB_DISABLE_IMPLICIT_TOKEN          no Token
//	HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE   Offline
//	HF_ENDPOINT                            Endpoint
//	HF_HUB_ETAG_TIMEOUT                    HeadTimeout, in seconds
//	HF_HUB_DOWNLOAD_TIMEOUT                ReadTimeout, in seconds
//	HF_HUB_DISABLE_SYMLINKS                NoSymlinks
//	HTTPS_PROXY, HTTP_PROXY, NO_PROXY      Proxy, as http.ProxyFromEnvironment has it
//
// Cache is "" if there is no home folder. An error names the variable or the file.
func Environment() (Options, error) {
	home := cmp.Or(expand(os.Getenv("HF_HOME")), defaultHome())
	o := Options{
		Cache: cmp.Or(expand(os.Getenv("HF_HUB_CACHE")),
			expand(os.Getenv("HUGGINGFACE_HUB_CACHE")), below(home, "hub")),
		Endpoint:   strings.TrimRight(os.Getenv("HF_ENDPOINT"), "/"),
		Offline:    isOn("HF_HUB_OFFLINE") || isOn("TRANSFORMERS_OFFLINE"),
		NoSymlinks: isOn("HF_HUB_DISABLE_SYMLINKS"),
		Proxy:      http.ProxyFromEnvironment,
	}
	var bad [3]error
	if !isOn("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
		o.Token, bad[0] = token(home)
	}
	o.HeadTimeout, bad[1] = seconds("HF_HUB_ETAG_TIMEOUT")
	o.ReadTimeout, bad[2] = seconds("HF_HUB_DOWNLOAD_TIMEOUT")
	return o, cmp.Or(bad[:]...) // the first error only
}

// defaultHome returns the value of HF_HOME if it is not set, or "" if there is no home folder.
func defaultHome() string {
	if cache := expand(os.Getenv("XDG_CACHE_HOME")); cache != "" {
		return filepath.Join(cache, "huggingface")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "huggingface")
}

// token returns the user's token, or "" if there is none.
func token(home string) (string, error) {
	const longest = 4096 // bytes of a token's file
	t := cmp.Or(clean(os.Getenv("HF_TOKEN")), clean(os.Getenv("HUGGING_FACE_HUB_TOKEN")))
	path := cmp.Or(expand(os.Getenv("HF_TOKEN_PATH")), below(home, "token"))
	if t != "" || path == "" {
		return t, nil
	}
	f, _, err := folder.Open(folder.Dir(filepath.Dir(path)), filepath.Base(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("token %s: %w", path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, longest+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("token %s: %w", path, folder.Cause(err))
	case len(b) > longest:
		return "", fmt.Errorf("token %s: more than %d bytes, which no token has", path, longest)
	}
	return clean(string(b)), nil
}

// clean removes line ends and spaces, which are often copied with a token.
func clean(token string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(token))
}

// isOn reports whether a variable is switched on.
func isOn(variable string) bool {
	return slices.Contains([]string{"1", "ON", "YES", "TRUE"},
		strings.ToUpper(os.Getenv(variable)))
}

// seconds reads a variable in seconds. It returns 0 if it is not set.
func seconds(variable string) (time.Duration, error) {
	s := os.Getenv(variable)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 86400 {
		return 0, fmt.Errorf("%s: want seconds, 1 to 86400, found %q", variable, s)
	}
	return time.Duration(n) * time.Second, nil
}

// expand replaces ~ at the beginning by the home folder, and $NAME and ${NAME} by the values of
// variables that are set.
func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		if home, err := os.UserHomeDir(); err == nil {
			path = home + rest
		}
	}
	return os.Expand(path, func(name string) string {
		if value, ok := os.LookupEnv(name); ok {
			return value
		}
		return "$" + name
	})
}

// below returns a path in a folder, or "" if dir is "".
func below(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

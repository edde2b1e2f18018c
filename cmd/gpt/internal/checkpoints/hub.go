package checkpoints

// Names of the hub: what they mean, and errors with what a user can do about them.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"picogpt/checkpoint/hub"
	"picogpt/internal/fault"
	"picogpt/internal/folder"
	"picogpt/internal/quote"
)

// TildeHint says what became of ~, as in --file=~/text or in quotes.
const TildeHint = "the shell makes a folder of ~ only at the beginning of a word without quotes, " +
	"as in -m ~/gpt2; $HOME works everywhere"

// Hint says what -m takes.
const Hint = "a checkpoint is a directory with config.json and *.safetensors or " +
	"pytorch_model.bin, as Hugging Face stores GPT-2, or nanoGPT's ckpt.pt, a .gguf file, OpenAI's " +
	"TensorFlow files, llm.c's model.bin; gpt pull NAME downloads one"

// PullName reads what gpt pull is given: a name, and a revision and a folder beside it.
func PullName(s, endpoint string, revision, folder *string) (w Wanted, err error) {
	if w, err = ParseWanted(s, endpoint); err != nil {
		return w, HintAtAddress(s, fault.Usage{Err: err})
	}
	if revision != nil {
		if w.Name.Revision != "" && w.Name.Revision != *revision {
			return w, fault.Usagef("%s and --revision %s: want one revision", w.Name,
				quote.Short(*revision, 40))
		}
		if w.Name, err = hub.ParseName(w.Name.Repo + "@" + *revision); err != nil {
			return w, fault.Usage{Err: err}
		}
	}
	if folder != nil {
		given := strings.Trim(*folder, "/")
		if w.Folder != "" && w.Folder != given {
			return w, fault.Usagef("%s and --subfolder %s: want one folder", w.Folder,
				quote.Short(*folder, 40))
		}
		w.Folder = given
	}
	return w, nil
}

// HintAtAddress names the repository of an address that is not the hub's.
func HintAtAddress(s string, err error) error {
	u, parsed := url.Parse(s)
	if parsed != nil || u.Host == "" {
		return err
	}
	repo, revision, _ := strings.Cut(strings.Trim(u.Path, "/"), "/tree/")
	name := hub.Name{Repo: repo, Revision: revision}
	if _, parsed := hub.ParseName(name.String()); parsed != nil {
		return err
	}
	return fault.Hint(err, "if that is a hub, the repository's name is "+name.String()+
		", and HF_ENDPOINT says where it is")
}

// HubError adds to an error of package hub about a repository what a user can do about it.
func HubError(name hub.Name, o hub.Options, err error) error {
	hint := ""
	var in *hub.FolderError
	page := cmp.Or(o.Endpoint, "https://huggingface.co") + "/" + name.Repo
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, hub.ErrNoRepo) && o.Token == "":
		hint = "for a private one set HF_TOKEN, or run hf auth login; names are OWNER/REPO, as " +
			"in " + page
	case errors.Is(err, hub.ErrNoRepo):
		hint = "the token that is set may not see it; names are OWNER/REPO, as in " + page
	case errors.Is(err, hub.ErrGated) && strings.Contains(err.Error(), "awaiting"):
		hint = "the owners decide; " + page + " shows the state"
	case errors.Is(err, hub.ErrGated) && strings.Contains(err.Error(), "token settings"):
		hint = "the token's settings are at https://huggingface.co/settings/tokens"
	case errors.Is(err, hub.ErrGated) && o.Token == "":
		hint = "ask for access at " + page + ", then set HF_TOKEN, or run hf auth login"
	case errors.Is(err, hub.ErrGated):
		hint = "ask for access at " + page + " as the owner of the token that is set"
	case errors.Is(err, hub.ErrToken):
		hint = "HF_TOKEN, or the file that hf auth login wrote, has it; a new one is at " +
			"https://huggingface.co/settings/tokens"
	case errors.Is(err, hub.ErrNoRevision):
		hint = page + "/tree/main lists branches and tags"
	case errors.As(err, &in):
		hint = fmt.Sprintf("--subfolder %s takes the checkpoint in it", quote.Plain(in.Folders[0], 80))
	case errors.Is(err, hub.ErrChoose):
		hint = fmt.Sprintf("gpt pull %s FILE takes one of them", name)
	case errors.Is(err, hub.ErrNoFile), errors.Is(err, hub.ErrNoWeights):
		hint = page + "/tree/" + cmp.Or(name.Revision, "main") + " lists the files"
	case errors.Is(err, hub.ErrOffline):
		hint = "without HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE, gpt pull asks the hub"
	case errors.Is(err, hub.ErrUnreached):
		hint = "HTTPS_PROXY names a proxy, HF_ENDPOINT another hub"
	default:
		return err
	}
	return fault.Hint(err, hint)
}

// WithoutFolder is a message without the folder that all of its files are in.
func WithoutFolder(message, dir string) string {
	return strings.TrimLeft(strings.TrimPrefix(message, dir), ": "+string(filepath.Separator))
}

// What people write to name something of the hub: OWNER/NAME, NAME@REV, NAME:Q8_0 as for llama.cpp,
// hf:// names, and the addresses of the site's pages.

// A Wanted is what a name says of the hub: a checkpoint, or a part of its repository.
type Wanted struct {
	Name   hub.Name
	Folder string // that the checkpoint is in; "" is the top
	Part   string // of the name of a GGUF file: Q8_0
	File   string // in place of the checkpoint
}

// whole reports whether nothing but a repository and its revision is wanted.
func (w Wanted) whole() bool { return w == Wanted{Name: w.Name} }

// addressed reports whether a name is an address of the hub, at one of its hosts or at endpoint.
func addressed(s, endpoint string) (rest string, is bool) {
	if rest, is = strings.CutPrefix(s, "hf://"); is {
		return rest, true
	}
	bare := strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
	hosts := []string{"huggingface.co", "www.huggingface.co", "hf.co"}
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" && bare != s {
		hosts = append(hosts, u.Host+strings.TrimRight(u.Path, "/"))
	}
	for _, host := range hosts {
		if rest, is := strings.CutPrefix(bare, host+"/"); is {
			rest, _, _ = strings.Cut(rest, "?")
			rest, _, _ = strings.Cut(rest, "#")
			return rest, true
		}
	}
	return "", false
}

// ParseWanted reads a name. endpoint is the hub's address, "" for the usual one.
func ParseWanted(s, endpoint string) (w Wanted, err error) {
	rest, is := addressed(s, endpoint)
	if !is {
		return w, w.named(s, s)
	}
	kind, _, _ := strings.Cut(rest, "/")
	if slices.Contains([]string{"datasets", "spaces", "collections", "papers", "docs", "blog"}, kind) {
		return w, fmt.Errorf("%s: not the address of a model", quote.Plain(s, 120))
	}
	if strings.HasPrefix(s, "hf://") {
		err = w.path(strings.Trim(strings.TrimPrefix(rest, "models/"), "/"), s)
	} else {
		err = w.page(strings.Trim(rest, "/"), s)
	}
	if err == nil && (w.Folder != "" && !filepath.IsLocal(w.Folder) || w.File != "" &&
		!filepath.IsLocal(w.File)) {
		err = fmt.Errorf("%s: leads out of the repository", quote.Plain(s, 120))
	}
	return w, err
}

// named reads NAME, NAME@REV or either with :PART. Errors show the whole s.
func (w *Wanted) named(name, s string) (err error) {
	if at := strings.LastIndexByte(name, ':'); at > 0 && partName().MatchString(name[at+1:]) {
		name, w.Part = name[:at], name[at+1:]
	}
	if w.Name, err = hub.ParseName(name); err != nil && name != s {
		err = fmt.Errorf("%s: %w", quote.Plain(s, 120), err)
	}
	return err
}

var partName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_]+$`)
})

// pullRequest is a revision with slashes, at the beginning of a path.
var pullRequest = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^refs/(pr|convert)/[0-9A-Za-z]+`)
})

// path reads OWNER/NAME[@REV][/FILE], as in hf:// names.
func (w *Wanted) path(rest, s string) error {
	owner, after, _ := strings.Cut(rest, "/")
	name, file, _ := strings.Cut(after, "/")
	if base, revision, has := strings.Cut(name+"/"+file, "@"); has && !strings.Contains(base, "/") {
		if ref := pullRequest().FindString(revision); ref != "" {
			file = strings.TrimPrefix(revision[len(ref):], "/")
			name = base + "@" + ref
		}
	}
	w.take(file)
	return w.named(strings.TrimSuffix(owner+"/"+name, "/"), s)
}

// page reads the path of a page: OWNER/NAME, and a folder or a file of a revision.
func (w *Wanted) page(rest, s string) error {
	parts := strings.Split(rest, "/")
	for i := range parts {
		if plain, err := url.PathUnescape(parts[i]); err == nil {
			parts[i] = plain
		}
	}
	is := func(i int) bool {
		return i < len(parts) && slices.Contains([]string{"tree", "blob", "resolve", "raw", "commit",
			"commits", "discussions", "settings", "edit"}, parts[i])
	}
	n := min(2, len(parts))
	if is(1) {
		n = 1 // one of the oldest: gpt2
	}
	if err := w.named(strings.Join(parts[:n], "/"), s); err != nil || !is(n) || len(parts) < n+2 {
		return err
	}
	kind, revision := parts[n], strings.Join(parts[n+1:], "/")
	below := ""
	if ref := pullRequest().FindString(revision); ref != "" {
		revision, below = ref, strings.TrimPrefix(revision[len(ref):], "/")
	} else {
		revision, below, _ = strings.Cut(revision, "/")
	}
	switch kind {
	case "tree":
		w.Folder = below
	case "blob", "resolve", "raw":
		w.take(below)
	case "commit":
	default: // discussions and settings are of no revision
		return nil
	}
	if w.Name.Revision = revision; revision == "main" {
		w.Name.Revision = ""
	}
	return w.named(w.Name.String(), s)
}

// take sets what the path of a file means: the file, or the checkpoint that it is a part of.
func (w *Wanted) take(file string) {
	parts := []string{folder.Config, folder.Safetensors, folder.SafetensorsIndex, folder.PyTorch,
		folder.PyTorchIndex, "README.md", folder.AdapterConfig, folder.Adapter}
	if file == "" || !slices.Contains(parts, path.Base(file)) {
		w.File = file
		return
	}
	if w.Folder = path.Dir(file); w.Folder == "." {
		w.Folder = ""
	}
}

// HubName reads the name of a repository, or its address.
func HubName(s, endpoint string) (hub.Name, error) {
	if s == DemoName {
		return hub.Name{}, fault.Usagef("demo: a part of gpt, and not in the cache")
	}
	w, err := ParseWanted(s, endpoint)
	if err == nil && !w.whole() {
		err = fmt.Errorf("%s: a part of a repository, want a whole one: %s", quote.Plain(s, 120), w.Name)
	}
	if err != nil {
		err = fault.Usage{Err: err}
	}
	return w.Name, err
}

// At returns the path of what is wanted in a snapshot, "" if that has no file of the part.
func (w Wanted) At(s *hub.Snapshot) string {
	dir := filepath.Join(s.Dir, filepath.FromSlash(w.Folder))
	switch {
	case w.File != "":
		return filepath.Join(dir, filepath.FromSlash(w.File))
	case w.Part != "":
		in := hub.Snapshot{Dir: dir}
		if found := hub.WithPart(in.Files(), w.Part); len(found) == 1 {
			return filepath.Join(dir, filepath.FromSlash(found[0]))
		}
		return ""
	}
	return dir
}

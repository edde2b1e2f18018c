package main

// Where the checkpoint is that a flag names: a path, or a name in the Hugging Face cache. Nothing
// here asks the network.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"picogpt/checkpoint"
	"picogpt/hub"
	"picogpt/internal/fault"
)

// A located checkpoint is what a name means.
type located struct {
	path     string
	snapshot *hub.Snapshot // of the cache, nil where the name is a path
}

// locate returns where the checkpoint of a name is. A path that is there wins over a name.
func (a *app) locate(name string) (located, error) {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return located{path: name}, nil // whatever else is wrong with it, opening it says so
	}
	shown := name
	if name != strings.TrimSpace(name) {
		shown = strconv.Quote(name)
	}
	absent := fmt.Errorf("%s: no such file or directory", shown)
	n, err := hub.ParseName(name)
	switch {
	case strings.HasPrefix(name, "~"):
		return located{}, fault.Hint(absent, tildeHint)
	case strings.Contains(name, "://"):
		return located{}, hintAtAddress(name, absent)
	case err != nil && !namesFile(name):
		return located{}, fault.Hint(absent, checkpointHint)
	}
	o := a.cacheOptions()
	s, err := hub.Find(n, o)
	switch {
	case err != nil && namesFile(name):
		return located{}, absent
	case errors.Is(err, hub.ErrAbsent), errors.Is(err, hub.ErrNoCache):
		return located{}, fault.Hint(fmt.Errorf("%w, and %w", absent, hub.ErrAbsent),
			"gpt pull "+n.String()+" downloads it"+otherRevisions(n, o))

	case err != nil:
		return located{}, err
	}
	if a.found != s.Dir {
		a.found = s.Dir
		a.logf("%s is %s in the Hugging Face cache: %s", name, s.Name.Repo, s.Dir)
	}
	return located{s.Dir, s}, nil
}

// namesFile reports whether a name is one of a file, which no repository of the hub is called.
func namesFile(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains([]string{".gguf", ".ggml", ".safetensors", ".bin", ".pt", ".pth", ".ckpt",
		".onnx", ".h5", ".npz", ".json", ".index", ".txt", ".zip", ".gz", ".tar"},
		strings.ToLower(path.Ext(name)))
}

// otherRevisions says what else the cache has of a repository.
func otherRevisions(n hub.Name, o hub.Options) string {
	all, err := hub.List(o)
	if err != nil {
		return ""
	}
	var names []string
	for _, s := range all {
		if s.Name.Repo == n.Repo {
			names = append(names, s.Name.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; the cache has " + strings.Join(names, ", ")
}

// modelPath returns where the checkpoint of -m is.
func (a *app) modelPath() (string, error) {
	where, err := a.locate(*a.Model)
	return where.path, err
}

// openNamed opens the checkpoint of a name, for the use that the flag says.
func (a *app) openNamed(
	name, use string, o checkpoint.Options,
) (*checkpoint.Checkpoint, error) {
	where, err := a.locate(name)
	if err != nil {
		return nil, err
	}
	c, err := a.openCheckpoint(where.path, use, o)
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if where.snapshot != nil {
		return nil, fault.Hint(fmt.Errorf("%s: the cache has a part of it: %w", name, err),
			"gpt pull "+name+" downloads what is missing")

	}
	return nil, a.hintAtCached(name, err)
}

// hintAtCached says how the cached model is named whose name a folder here has, too.
func (a *app) hintAtCached(name string, err error) error {
	n, bad := hub.ParseName(name)
	if bad != nil || n.Revision != "" {
		return err
	}
	if n.Revision = "main"; a.isCached(n) {
		return fault.Hint(err, fmt.Sprintf("%s is a folder here; -m %s is the model in the "+
			"Hugging Face cache", name, n))

	}
	return err
}

func (a *app) isCached(n hub.Name) bool {
	_, err := hub.Find(n, a.cacheOptions())
	return err == nil
}

// noteTokenizer tells that the tokenizer of a checkpoint may be another one than GPT-2's, which
// stands in for it: who pulled it left the tokenizer's files behind.
func (a *app) noteTokenizer(name string) {
	where, err := a.locate(name)
	if err != nil || where.snapshot == nil {
		return
	}
	files := []string{"tokenizer.json", "vocab.json", "vocab.txt", "spiece.model"}
	if !slices.ContainsFunc(files, where.snapshot.Has) &&
		slices.ContainsFunc(files, where.snapshot.Unknown) {
		a.Notef("%s: the cache has no tokenizer of it, so GPT-2's is taken; gpt pull %s "+
			"downloads one if there is one", name, name)
	}
}

// hubOptions are what the environment says of the hub and its cache.
func (a *app) hubOptions() (hub.Options, error) {
	o, err := hub.Environment()
	o.UserAgent = "picogpt/" + versionName()
	return o, err
}

// cacheOptions are enough to look into the cache: a token that cannot be read does not matter.
func (a *app) cacheOptions() hub.Options {
	o, _ := a.hubOptions()
	return o
}

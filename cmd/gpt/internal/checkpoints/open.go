// Package checkpoints is the checkpoints that a user names: where they are, and where new ones go.
// A name is a path, or that of a model in the Hugging Face cache. Nothing here asks the network.
package checkpoints

// Finding and opening: the files of a checkpoint are remembered, so that no output takes the place
// of one.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/internal/fault"
	"picogpt/internal/folder"
	"picogpt/internal/outfile"
	"picogpt/tokenizer"
	"picogpt/weights"
)

// A Finder finds and opens checkpoints. What it opens is among its Inputs.
type Finder struct {
	Inputs    *outfile.Inputs
	Notef     func(format string, args ...any) // writes a line for the user
	Logf      func(format string, args ...any) // and one that is of less interest
	UserAgent string                           // for the hub

	found string // the snapshot that was logged last
}

// A Located is the checkpoint that a name means.
type Located struct {
	Path     string
	Snapshot *hub.Snapshot // of the cache, nil where the name is a path
}

// Locate returns where the checkpoint of a name is. A path that is there wins over a name.
func (f *Finder) Locate(name string) (Located, error) {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return Located{Path: name}, nil // whatever else is wrong with it, opening it says so
	}
	shown := name
	if name != strings.TrimSpace(name) {
		shown = strconv.Quote(name)
	}
	if name == DemoName {
		return Located{}, fault.Hint(errors.New(DemoName+": a part of gpt, and no path"), demoHint)
	}
	absent := fmt.Errorf("%s: no such file or directory", shown)
	o := f.CacheOptions()
	w, err := ParseWanted(name, o.Endpoint)
	n := w.Name
	switch {
	case strings.HasPrefix(name, "~"):
		return Located{}, fault.Hint(absent, TildeHint)
	case err != nil && strings.Contains(name, "://"):
		return Located{}, HintAtAddress(name, absent)
	case err != nil && !namesFile(name):
		return Located{}, fault.Hint(absent, Hint)
	}
	s, err := hub.Find(n, o)
	switch {
	case err != nil && namesFile(name):
		return Located{}, absent
	case errors.Is(err, hub.ErrAbsent), errors.Is(err, hub.ErrNoCache):
		return Located{}, fault.Hint(fmt.Errorf("%w, and %w", absent, hub.ErrAbsent),
			"gpt pull "+name+" downloads it"+otherRevisions(n, o))

	case err != nil:
		return Located{}, err
	}
	if f.found != s.Dir {
		f.found = s.Dir
		f.Logf("%s is %s in the Hugging Face cache: %s", name, s.Name.Repo, s.Dir)
	}
	path := w.At(s)
	if path == "" {
		return Located{}, fault.Hint(fmt.Errorf("%s: the cache has no GGUF file of %s with that part",
			shown, n), "gpt pull "+name+" downloads it")
	}
	return Located{path, s}, nil
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

// Open opens the checkpoint of a name, for the use that the flag says.
func (f *Finder) Open(name, use string, o checkpoint.Options) (*checkpoint.Checkpoint, error) {
	where, err := f.Locate(name)
	if err != nil {
		return nil, err
	}
	c, err := f.OpenAt(where.Path, use, o)
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if hint := adapterHintAt(name, where.Path); hint != "" {
		return nil, fault.Hint(err, hint)
	}
	if where.Snapshot != nil {
		return nil, fault.Hint(fmt.Errorf("%s: the cache has a part of it: %w", name, err),
			"gpt pull "+name+" downloads what is missing")
	}
	if _, none := os.Lstat(filepath.Join(where.Path, "model.rows")); none == nil {
		return nil, fault.Hint(err, demoHint) // the demo's source
	}
	if name == DemoName {
		return nil, fault.Hint(err, "demo is a folder here; without -m the embedded demo runs")
	}
	return nil, f.hintAtCached(name, err)
}

// OpenAt opens the checkpoint at path, for the use that the flag says.
func (f *Finder) OpenAt(path, use string, o checkpoint.Options) (*checkpoint.Checkpoint, error) {
	f.WillRead(path, use)
	return checkpoint.Open(path, o)
}

// OpenTokenizerAt opens the tokenizer of the checkpoint at path, which need not have weights.
func (f *Finder) OpenTokenizerAt(path string) (*tokenizer.Tokenizer, error) {
	f.WillRead(path, "")
	return checkpoint.OpenTokenizer(path)
}

// WillRead remembers the files of the checkpoint at path: the weights' and those beside them, and
// shards of any name. Where they cannot be listed, opening the checkpoint tells.
func (f *Finder) WillRead(path, use string) {
	dir, name, err := folder.Split(path)
	if err != nil {
		return
	}
	list, _ := fs.ReadDir(dir, ".")
	for _, e := range list {
		if e.Name() == name || checkpoint.Part(e.Name(), name) {
			f.Inputs.Add(dir.Path(e.Name()), use)
		}
		if folder.Indexed(e.Name()) != "" {
			index, _ := weights.ReadIndex(dir, e.Name())
			for _, shard := range index.Shards() {
				f.Inputs.Add(dir.Path(shard), use)
			}
		}
	}
}

// DemoName is the name of the checkpoint that is embedded in the program.
const DemoName = "demo"

const demoHint = "the demo is a part of gpt: -m demo, or no -m; gpt convert demo DIR writes its files"

// IsDemo reports whether a name is that of the embedded checkpoint: a path of that name wins.
func IsDemo(name string) bool {
	if name != DemoName {
		return false
	}
	_, err := os.Lstat(name)
	return errors.Is(err, fs.ErrNotExist)
}

// hintAtCached says how the cached model is named whose name a folder here has, too.
func (f *Finder) hintAtCached(name string, err error) error {
	n, bad := hub.ParseName(name)
	if bad != nil || n.Revision != "" {
		return err
	}
	if n.Revision = "main"; f.isCached(n) {
		return fault.Hint(err, fmt.Sprintf("%s is a folder here; -m %s is the model in the "+
			"Hugging Face cache", name, n))
	}
	return err
}

func (f *Finder) isCached(n hub.Name) bool {
	_, err := hub.Find(n, f.CacheOptions())
	return err == nil
}

// NoteTokenizer tells that the tokenizer of a checkpoint may be another one than GPT-2's, which
// stands in for it: who pulled it left the tokenizer's files behind.
func (f *Finder) NoteTokenizer(name string) {
	where, err := f.Locate(name)
	if err != nil || where.Snapshot == nil {
		return
	}
	files := []string{folder.Tokenizer, folder.Vocab, folder.VocabText, folder.Pieces,
		folder.OtherPieces}
	if !slices.ContainsFunc(files, where.Snapshot.Has) &&
		slices.ContainsFunc(files, where.Snapshot.Unknown) {
		f.Notef("%s: the cache has no tokenizer of it, so GPT-2's is taken; gpt pull %s "+
			"downloads one if there is one", name, name)
	}
}

// HubOptions returns the environment's options of the hub and its cache.
func (f *Finder) HubOptions() (hub.Options, error) {
	o, err := hub.Environment()
	o.UserAgent = f.UserAgent
	return o, err
}

// CacheOptions are enough to look into the cache: a token that cannot be read does not matter.
func (f *Finder) CacheOptions() hub.Options {
	o, _ := f.HubOptions()
	return o
}

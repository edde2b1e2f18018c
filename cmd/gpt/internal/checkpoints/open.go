// Package checkpoints is the checkpoints that a user names: where they are, and where new ones go.
// A name is a path, or that of a model in the Hugging Face cache. Nothing here asks the network.
package checkpoints

// Finding and opening: the files of a checkpoint are remembered, so that no output takes the place
// of one.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
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

// Adapters that a user names: a folder, or a model of the hub that was pulled, with a scale.

const adapterHint = "an adapter is a directory with adapter_config.json and " +
	"adapter_model.safetensors or .bin, as PEFT saves it; gpt pull NAME downloads one"

// CheckAdapters refuses values of --adapter whose scale is none.
func CheckAdapters(values []string) error {
	for _, value := range values {
		if _, err := parseAdapter(value); err != nil {
			return err
		}
	}
	return nil
}

// Adapters returns the adapters that the values of --adapter name: DIR, NAME, DIR:SCALE or
// NAME:SCALE. They are among the Inputs.
func (f *Finder) Adapters(values []string) (all []checkpoint.Adapter, err error) {
	for _, value := range values {
		a, err := parseAdapter(value)
		if err == nil {
			a.Path, err = f.locateAdapter(a.Path)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// CutName returns the name and the rest of a value NAME=PATH. A path that is there has no name.
func CutName(value string) (name, path string) {
	name, path, _ = strings.Cut(value, "=")
	_, lost := os.Lstat(value)
	if lost == nil || name == "" || path == "" || strings.ContainsAny(name, `/\`) {
		return "", value
	}
	return name, path
}

// AdapterName returns the name in a value of --adapter, without the scale.
func AdapterName(value string) string {
	a, _ := parseAdapter(value)
	return a.Path
}

// parseAdapter reads a value of --adapter. A path that is there has no scale.
func parseAdapter(value string) (a checkpoint.Adapter, err error) {
	a.Path = value
	if _, err := os.Lstat(value); err == nil {
		return a, nil
	}
	colon := strings.LastIndexByte(value, ':')
	if colon < len(filepath.VolumeName(value)) || strings.HasPrefix(value[colon:], "://") {
		return a, nil
	}
	scale, err := strconv.ParseFloat(value[colon+1:], 64)
	if err != nil || math.IsNaN(scale) || math.IsInf(scale, 0) {
		return a, fault.Usagef("--adapter %s: %q after the colon, want the scale, a number such as 0.5", value,
			value[colon+1:])
	}
	a.Path, a.Scale = value[:colon], &scale
	return a, nil
}

// locateAdapter returns the path of an adapter: the name itself or the folder in the cache.
func (f *Finder) locateAdapter(name string) (string, error) {
	path := name
	if _, err := os.Lstat(name); name == "" || errors.Is(err, fs.ErrNotExist) {
		if _, err := hub.ParseName(name); err != nil {
			return "", fault.Hint(fmt.Errorf("--adapter %q: no such directory", name), adapterHint)
		}
		where, err := f.Locate(name)
		if err != nil {
			return "", fmt.Errorf("--adapter %w", err)
		}
		path = where.Path
	}
	dir := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		dir = filepath.Dir(path)
	}
	for _, file := range []string{folder.AdapterConfig, folder.Adapter, folder.AdapterPyTorch} {
		f.Inputs.Add(filepath.Join(dir, file), "--adapter")
	}
	return path, nil
}

// AdaptersBase returns the name of the model that the adapters were trained on, which all say.
func AdaptersBase(adapters []checkpoint.Adapter) (base string, err error) {
	const hint = "-m NAME says which model it is"
	for i, a := range adapters {
		b, err := checkpoint.AdapterBase(a.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", fault.Hint(fmt.Errorf("--adapter %s: no adapter_config.json", a.Path),
				adapterHint)
		case err != nil:
			return "", err
		case b == "":
			return "", fault.Hint(fault.Usagef("--adapter %s: its adapter_config.json names no base "+
				"model", a.Path), hint)
		case i > 0 && b != base:
			return "", fault.Hint(fault.Usagef("--adapter %s: of %s, but %s is of %s", a.Path, b,
				adapters[0].Path, base), hint)
		}
		base = b
	}
	return base, nil
}

// adapterHintAt says how the adapter is used that is at path, "" if there is none.
func adapterHintAt(name, path string) string {
	base, err := checkpoint.AdapterBase(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("an adapter changes its base's weights: gpt -m %s --adapter %s",
		cmp.Or(base, "BASE"), name)
}

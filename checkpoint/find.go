package checkpoint

// Which file of a folder is the checkpoint.

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"picogpt/internal/folder"
)

// preferred are the files of checkpoints, by their names, the best first. Of names in one line,
// there may be only one.
var preferred = [...][]string{
	{"model.safetensors"}, {"model.safetensors.index.json"}, {"*.safetensors"},
	{"pytorch_model.bin"}, {"pytorch_model.bin.index.json"},
	{"ckpt.pt"},
	{"*.gguf"},
	{"checkpoint"}, {"model.ckpt.index"},
	{"model.bin"},
	{"*.pt", "*.pth", "*.bin"}, // if their bytes say so
}

// beside are the files that lie beside checkpoints and have names like theirs.
var beside = [...]string{
	"adapter_model.*", "training_args.*", "optimizer*", "scheduler*", "scaler*", "rng_state*",
	"pytorch_model-*-of-*.bin", "model-*-of-*.safetensors",
}

// find returns the name of the checkpoint's file in fsys.
func find(fsys fs.FS) (string, error) {
	dir := folder.Path(fsys, ".")
	list, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return "", fmt.Errorf("%s: %w", dir, folder.Cause(err))
	}
	var names []string
	for _, e := range list {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	all, sure := candidates(names)
	if !sure {
		all = slices.DeleteFunc(all, func(name string) bool {
			_, err := formatOf(fsys, name)
			return err != nil
		})
	}
	switch len(all) {
	case 0:
	case 1:
		return all[0], nil
	default:
		return "", fmt.Errorf("%s: %s: which of them is the checkpoint? name the file", dir,
			enumerate(all))
	}
	return "", absent(dir + ": " + nothing(fsys, names))
}

// Candidates returns those of a folder's names of files that Open looks at: the best one, or
// several of one kind, of which it takes none. The last of all kinds are names that only the bytes
// of the files can tell from those of other things.
func Candidates(names []string) []string {
	all, _ := candidates(names)
	return all
}

// candidates is Candidates, and reports whether the names suffice.
func candidates(names []string) (all []string, sure bool) {
	for i, patterns := range preferred {
		if all = matching(names, patterns); len(all) > 0 {
			return all, i < len(preferred)-1
		}
	}
	return nil, true
}

// matching returns the names that match one of some patterns, less those that lie beside.
func matching(names, patterns []string) (all []string) {
	matches := func(name string) func(string) bool {
		return func(pattern string) bool {
			ok, _ := path.Match(pattern, name) // of our own patterns, none is malformed
			return ok
		}
	}
	for _, name := range names {
		exact := len(patterns) == 1 && patterns[0] == name
		if exact || slices.ContainsFunc(patterns, matches(name)) &&
			!slices.ContainsFunc(beside[:], matches(name)) {
			all = append(all, name)
		}
	}
	return all
}

// nothing says what a folder without a checkpoint has instead.
func nothing(fsys fs.FS, names []string) string {
	const want = "want model.safetensors, pytorch_model.bin, ckpt.pt, a .gguf file, " +
		"TensorFlow's model.ckpt or llm.c's model.bin"
	for _, name := range matching(names, []string{"*.h5", "*.msgpack", "*.onnx", "*.ot", "*.bin",
		"*.pt", "*.pth", "*.ckpt", "*.ggml"}) {
		if p, err := look(fsys, name); err == nil {
			return "no checkpoint that can be read: " + name + " is " +
				strings.TrimPrefix(p.foreign(), "the file is ")
		}
	}
	if shards := matching(names, []string{"*"}); len(shards) < len(names) {
		for _, name := range names {
			if strings.Contains(name, "-of-") {
				return "no index of the shards (" + name + ", …) in this directory: " + want
			}
		}
	}
	return "no checkpoint in this directory: " + want
}

// enumerate lists the first few of some names.
func enumerate(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// absent is an error that is fs.ErrNotExist in its own words.
type absent string

func (e absent) Error() string      { return string(e) }
func (absent) Is(target error) bool { return target == fs.ErrNotExist }

// Part reports whether a file of a checkpoint's folder may be a part of it, by its name. taken is
// the file that was named, "" where it was the folder. A GGUF file is a whole checkpoint, so that
// others beside it are none of its parts.
func Part(name, taken string) bool {
	if path.Ext(name) == ".gguf" {
		return taken == ""
	}
	parts := []string{"config.json", "*.safetensors", "*.safetensors.index.json", "*.bin",
		"*.bin.index.json", "*.pt", "*.pth", "meta.pkl", "checkpoint", "*.index", "*.data-*-of-*",
		"hparams.json", "encoder.json", "vocab.bpe"}
	return slices.ContainsFunc(append(parts, Companions()...), func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

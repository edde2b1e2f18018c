// Finding the file of a folder that is the checkpoint.

package checkpoint

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
)

// preferred are the names of checkpoints' files, the best first. At most one of the names in a line
// may be present. Names that trainings give a checkpoint come before those that only look like one:
// an array that was written beside it may have any name.
var preferred = [...][]string{
	{folder.Safetensors}, {folder.SafetensorsIndex},
	{folder.PyTorch}, {folder.PyTorchIndex},
	{folder.NanoGPT},
	variants[:2],
	{"*.safetensors"},
	variants[2:],
	{"*.gguf"},
	{folder.TensorFlow}, {"model.ckpt.index"},
	{folder.LLMC},
	{"*.pt", "*.pth", "*.bin", "*.ckpt"}, // if their bytes show it
}

// variants are the names of variants of Hugging Face's files: safetensors, then PyTorch's.
var variants = [...]string{
	folder.Variants(folder.Safetensors), folder.Variants(folder.SafetensorsIndex),
	folder.Variants(folder.PyTorch), folder.Variants(folder.PyTorchIndex),
}

// beside are the names of files that lie beside checkpoints and match the patterns above.
var beside = [...]string{
	"adapter_model.*", "training_args.*", "optimizer*", "scheduler*", "scaler*", "rng_state*",
	"pytorch_model*-*-of-*.bin", "model*-*-of-*.safetensors", // shards, of variants too
	"*_debug_state.bin", "*tokenizer.bin", // llm.c's
}

// find returns the name of the checkpoint's file in fsys, and notes for Checkpoint.Notes.
func find(fsys fs.FS) (name string, notes []string, err error) {
	dir := folder.Path(fsys, ".")
	list, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", dir, folder.Cause(err))
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
		others := slices.DeleteFunc(matching(names, variants[:]), func(v string) bool { return v == all[0] })
		if len(others) > 0 {
			notes = append(notes, fmt.Sprintf("%s is taken; variants are there too, %s: name the "+
				"file that is wanted", all[0], quote.Some(others)))
		}
		return all[0], notes, nil
	default:
		return "", nil, fmt.Errorf("%s: %s: which of them is the checkpoint? name the file", dir,
			enumerate(all))
	}
	return "", nil, absent(dir + ": " + nothing(fsys, names))
}

// Candidates returns the names of a folder that Open looks at: the best one, or several of one
// kind, of which Open takes none. The last kind has names that other files have too: Open decides
// by their bytes.
func Candidates(names []string) []string {
	all, _ := candidates(names)
	return all
}

// candidates is Candidates, and reports whether the names alone decide.
func candidates(names []string) (all []string, sure bool) {
	if slices.Contains(names, folder.NanoGPT) && !slices.Contains(names, folder.Config) {
		// nanoGPT's says its config itself, which a safetensors file does not
		names = slices.DeleteFunc(slices.Clone(names), isSafetensorsName)
	}
	for i, patterns := range preferred {
		if all = matching(names, patterns); len(all) > 0 {
			return all, i < len(preferred)-1
		}
	}
	return nil, true
}

func isSafetensorsName(name string) bool {
	return path.Ext(name) == ".safetensors" || path.Ext(folder.Indexed(name)) == ".safetensors"
}

// matching returns the names that match one of the patterns and none of beside.
func matching(names, patterns []string) (all []string) {
	for _, name := range names {
		exact := len(patterns) == 1 && patterns[0] == name
		if exact || matches(name, patterns) && !matches(name, beside[:]) {
			all = append(all, name)
		}
	}
	return all
}

// matches reports whether a name matches one of the patterns.
func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // our own patterns are well formed
		return ok
	})
}

// nothing says what a folder without a checkpoint holds.
func nothing(fsys fs.FS, names []string) string {
	const want = "want model.safetensors, pytorch_model.bin, ckpt.pt, a .gguf file, " +
		"TensorFlow's model.ckpt or llm.c's model.bin"
	if slices.Contains(names, folder.AdapterConfig) {
		what := "no checkpoint in this directory, but an adapter, "
		c, err := readAdapterConfig(fsys)
		switch {
		case err != nil:
			return what + "which is not supported: " + err.Error()
		case c.base == "":
			return what + "which names no base model"
		}
		return what + "whose base model is " + c.base
	}
	if slices.Contains(names, distributedName) {
		return "no checkpoint that can be read: the directory is " + distributed(folder.Path(fsys, "."))
	}
	for _, name := range matching(names, []string{"*.h5", "*.msgpack", "*.onnx", "*.ot", "*.bin",
		"*.pt", "*.pth", "*.ckpt", "*.ggml", "*.npz", "*.npy", "*.distcp"}) {
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
	if dirs := trained(fsys); len(dirs) > 0 {
		what := "no checkpoint in this directory, but in " + dirs[0]
		if len(dirs) > 1 {
			what += fmt.Sprintf(", the newest of %d", len(dirs))
		}
		return what + ", as a Trainer saves them: name " + folder.Path(fsys, dirs[0])
	}
	for _, dir := range foldersWith(fsys, folder.NanoGPT) { // out, or such as out-shakespeare-char
		if strings.HasPrefix(dir, "out") {
			return "no checkpoint in this directory, but in " + dir + ", as nanoGPT saves it: " +
				"name " + folder.Path(fsys, dir)
		}
	}
	for _, dir := range foldersWith(fsys, distributedName) {
		return "no checkpoint that can be read: " + quote.Plain(dir, 80) + " is " +
			distributed(folder.Path(fsys, dir))
	}
	return "no checkpoint in this directory: " + want
}

// distributedName is the file beside the parts that torch.distributed.checkpoint writes.
const distributedName = ".metadata"

// distributed says what such a directory is, and what makes a file of it.
func distributed(dir string) string {
	return "a checkpoint of torch.distributed.checkpoint, which is not read: python -m " +
		"torch.distributed.checkpoint.format_utils dcp_to_torch " + quote.Plain(dir, 200) +
		" pytorch_model.bin makes a file of it"
}

// foldersWith returns the folders that have a file of that name.
func foldersWith(fsys fs.FS, file string) (dirs []string) {
	list, _ := fs.ReadDir(fsys, ".")
	for _, e := range list {
		if has(fsys, e.Name()+"/"+file) {
			dirs = append(dirs, e.Name())
		}
	}
	return dirs
}

// trained returns the folders checkpoint-N, in which a Trainer of Hugging Face's saves a model
// after N steps: those with a checkpoint or an adapter, the newest first.
func trained(fsys fs.FS) (dirs []string) {
	list, _ := fs.ReadDir(fsys, ".")
	steps := map[string]int{}
	for _, e := range list {
		number, ok := strings.CutPrefix(e.Name(), "checkpoint-")
		n, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		if files, err := fs.ReadDir(fsys, e.Name()); err == nil {
			var names []string
			for _, f := range files {
				names = append(names, f.Name())
			}
			if len(Candidates(names)) > 0 || slices.Contains(names, folder.AdapterConfig) {
				dirs, steps[e.Name()] = append(dirs, e.Name()), n
			}
		}
	}
	slices.SortFunc(dirs, func(a, b string) int { return steps[b] - steps[a] })
	return dirs
}

// enumerate returns the first few names as text.
func enumerate(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// absent is an error message that errors.Is takes for fs.ErrNotExist.
type absent string

func (e absent) Error() string      { return string(e) }
func (absent) Is(target error) bool { return target == fs.ErrNotExist }

// Part reports whether a file in a checkpoint's folder may be a part of the checkpoint, by its
// name. taken is the file that the user named, or "" for the folder. A GGUF file is a whole
// checkpoint, so that another one in its folder is no part of it.
func Part(name, taken string) bool {
	if path.Ext(name) == ".gguf" {
		return taken == ""
	}
	parts := []string{folder.Config, "*.safetensors", "*.bin", "*.pt", "*.pth", "*.ckpt",
		folder.Characters, folder.TensorFlow, "*.index", "*.data-*-of-*", folder.HParams,
		folder.Encoder, folder.VocabBPE}
	return folder.Indexed(name) != "" || matches(name, append(parts, Companions()...))
}

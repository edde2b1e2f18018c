// Finding the files of a checkpoint: a file, an index of shards or a directory.

package weights

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/internal/folder"
)

// Open opens the weights of a checkpoint: a safetensors file; a *.safetensors.index.json with its
// shards; or a directory with model.safetensors, else model.safetensors.index.json, else exactly
// one *.safetensors.
func Open(path string) (*Tensors, error) {
	fsys, name, err := folder.Split(path)
	if err != nil {
		return nil, err
	}
	return OpenFS(fsys, name)
}

// OpenFS is Open for the file of that name in fsys or, if name is "", for fsys as the directory.
// Files in memory, such as those of demo.FS, are used in place; others are read.
func OpenFS(fsys fs.FS, name string) (*Tensors, error) {
	if name == "" {
		var err error
		if name, err = find(fsys); err != nil {
			return nil, err
		}
	}
	if strings.HasSuffix(name, ".json") {
		return openIndex(fsys, name)
	}
	t := newTensors(folder.Path(fsys, name))
	if _, err := t.addSafetensors(fsys, name, maxHeader); err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	return t, nil
}

// Dir returns the directory of a checkpoint that Open takes: path itself, or the directory of the
// file. config.json and the tokenizer are there.
func Dir(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}

// find returns the checkpoint file of a directory.
func find(fsys fs.FS) (string, error) {
	for _, name := range []string{"model.safetensors", "model.safetensors.index.json"} {
		if _, err := fs.Lstat(fsys, name); err == nil {
			return name, nil
		}
	}
	dir := folder.Path(fsys, ".")
	list, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return "", fmt.Errorf("%s: %w", dir, folder.Cause(err))
	}
	var found, other []string
	for _, e := range list {
		switch ext := path.Ext(e.Name()); {
		case ext == ".safetensors":
			found = append(found, e.Name())
		case slices.Contains([]string{".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx",
			".ckpt"}, ext):
			other = append(other, e.Name())
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%s: %d safetensors files (%s, %s, …) and neither "+
			"model.safetensors nor model.safetensors.index.json: name the file",
			dir, len(found), found[0], found[1])
	case len(other) > 0:
		return "", absent(fmt.Sprintf("%s: no safetensors file, only %s: convert it to safetensors",
			dir, other[0]))
	}
	return "", absent(dir + ": no safetensors file in this directory")
}

// absent is an error message that errors.Is takes for fs.ErrNotExist.
type absent string

func (e absent) Error() string      { return string(e) }
func (absent) Is(target error) bool { return target == fs.ErrNotExist }

// openIndex opens the shards that an index names, and checks that each listed tensor is in its
// shard.
func openIndex(fsys fs.FS, name string) (_ *Tensors, err error) {
	t := newTensors(folder.Path(fsys, name))
	index, err := ReadIndex(fsys, name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	budget := int64(maxHeader)
	holder := map[string]string{} // tensor -> the shard in which it was found
	for _, shard := range index.Shards() {
		from := len(t.tensors)
		size, err := t.addSafetensors(fsys, shard, budget)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Path(fsys, shard), err)
		}
		budget -= size
		for _, x := range t.tensors[from:] {
			holder[x.Name] = shard
		}
	}
	if err := index.Check(holder); err != nil {
		return nil, err
	}
	return t, nil
}

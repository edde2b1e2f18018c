// Opening weights: a file, or an index of shards.

package weights

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"picogpt/internal/folder"
)

// Open opens a safetensors file, or a *.safetensors.index.json with its shards. checkpoint.Open
// finds the file of a directory, and opens other formats too.
func Open(path string) (*Tensors, error) {
	fsys, name, err := folder.Split(path)
	if err == nil && name == "" {
		err = fmt.Errorf("%s: a directory, want a safetensors file or an index of shards", path)
	}
	if err != nil {
		return nil, err
	}
	return OpenFS(fsys, name)
}

// OpenFS is Open for the file of that name in fsys. Files in memory, such as those of demo.FS, are
// used in place; others are read.
func OpenFS(fsys fs.FS, name string) (*Tensors, error) {
	if strings.HasSuffix(name, ".json") {
		return openIndex(fsys, name)
	}
	t := newTensors(folder.Path(fsys, name))
	if _, err := t.addSafetensors(fsys, name, maxHeader); err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	return t, nil
}

// Dir returns the directory of the checkpoint at path: path itself, or the directory of the file.
// config.json and the tokenizer are there.
func Dir(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}

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

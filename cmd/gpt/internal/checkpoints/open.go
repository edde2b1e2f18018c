package checkpoints

// Opening: the files of a checkpoint are remembered, so that no output takes the place of one.

import (
	"io/fs"
	"strings"

	"picogpt/checkpoint"
	"picogpt/internal/folder"
	"picogpt/tokenizer"
	"picogpt/weights"
)

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
		if strings.HasSuffix(e.Name(), ".index.json") {
			index, _ := weights.ReadIndex(dir, e.Name())
			for _, shard := range index.Shards() {
				f.Inputs.Add(dir.Path(shard), use)
			}
		}
	}
}

// Package demo holds the demonstration checkpoint, a small GPT-2. It is embedded in every program
// that imports this package, in 3.9 MB. Where the weights are used, they take 14.5 MB of memory.
//
// It has 4 layers and 4 heads, is 128 wide, has a context of 256 and GPT-2's
// own vocabulary of 50,257 tokens, tanh GELU and a tied head: 7.26 million
// parameters, stored as F16 under Hugging Face's names in Conv1D layout. Its
// tokenizer is GPT-2's.
//
// It was trained for this project on a million tokens of TinyStories (Eldan and Li, 2023; the
// licence of the data set, CDLA-Sharing-1.0, does not extend to models that are trained on it),
// each story after <|endoftext|>, to a validation loss of 2.87 nats a token. Tokens that do not
// occur there share one embedding and are hardly ever sampled. It writes small children's stories
// and knows nothing else. The weights are under the project's own licence, MIT.
package demo

import (
	_ "embed"
	"io/fs"
	"sync"

	"picogpt/internal/folder"
)

//go:embed config.json
var config []byte

//go:embed model.rows
var packed []byte

var weights = sync.OnceValue(func() []byte { return unpack(packed) })

// FS returns the checkpoint as a folder with config.json and model.safetensors, for
// checkpoint.OpenFS. The files are not copied.
func FS() fs.FS { return files{} }

// files makes the weights when their file, or the list of all, is opened.
type files struct{}

func (files) Open(name string) (fs.File, error) {
	all := folder.Memory{folder.Config: config, folder.Safetensors: nil}
	if name == folder.Safetensors || name == "." {
		all[folder.Safetensors] = weights()
	}
	return all.Open(name)
}

// Config returns the checkpoint's config.json. The caller must not change it.
func Config() []byte { return config }

// Weights returns the checkpoint's model.safetensors, for weights.FromBytes. The first call makes it,
// which takes milliseconds. The caller must not change it.
func Weights() []byte { return weights() }

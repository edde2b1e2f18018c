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
	"encoding/binary"
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

// How the weights are stored: without the rows of the embedding that are all the same.

// Of the embedding's rows, the first tensor of the file, 41,590 belong to tokens that did not occur in
// training, and are equal. model.rows is model.safetensors with a bit for each row in place of these:
//
//	length of the header and the header, as in model.safetensors
//	a bit for each row, the lowest of a byte first: whether the row is stored
//	the row that stands for all others
//	the rows that are stored, and the rest of the file
//
// zstd would make it 6 % smaller, take twice as long to decode, and be linked into every program that
// has the demo.
const (
	rows     = 50257
	rowBytes = 128 * 2 // F16
	part     = 1 << 13 // rows: 2 MiB, a large page
)

// unpack returns the model.safetensors that packed stands for, in memory of its own, which stays.
func unpack(packed []byte) []byte {
	head := 8 + int(binary.LittleEndian.Uint64(packed))
	marks, stored := packed[head:], packed[head+(rows+7)/8:]
	shared, stored := stored[:rowBytes], stored[rowBytes:]
	isStored := func(row int) int { return int(marks[row/8] >> (row % 8) & 1) }
	kept := 0
	for row := range rows {
		kept += isStored(row)
	}
	// on small pages it takes twice as long as the copies
	whole := folder.Kept(head + len(stored) + (rows-kept)*rowBytes)
	to := whole[copy(whole, packed[:head]):]
	var parts sync.WaitGroup // new memory is slow, so that processors share it
	for begin := 0; begin < rows; begin += part {
		from, to, end := stored, to[begin*rowBytes:], min(begin+part, rows)
		parts.Go(func() {
			for row := begin; row < end; row++ {
				if isStored(row) == 1 {
					copy(to, from[:rowBytes])
					from = from[rowBytes:]
				} else {
					copy(to, shared)
				}
				to = to[rowBytes:]
			}
		})
		for row := begin; row < end; row++ {
			stored = stored[isStored(row)*rowBytes:]
		}
	}
	copy(to[rows*rowBytes:], stored)
	parts.Wait()
	return whole
}

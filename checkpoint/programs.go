// Checkpoints of TensorFlow and of llm.c. OpenAI's own, which picoGPT downloads, are hparams.json,
// encoder.json, vocab.bpe, and model.ckpt in three files, of which the index and the data are read;
// llm.c's are a model.bin, and the list of tokens in the same folder.

package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"picogpt/checkpoint/internal/programs"
	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

const (
	tensorflowIndex = ".index"
	tensorflowData  = ".data-"
	largestIndex    = 4 << 20 // bytes; GPT-2 XL's has 20,000
)

// isTensorFlow reports whether the file is an index, the file that names the newest checkpoint, or
// a data file. Its last bytes tell an index, its name the others.
func isTensorFlow(p probe) bool {
	if n := len(p.tail); n >= 8 && binary.LittleEndian.Uint64(p.tail[n-8:]) == 0xdb4775248b80fb57 {
		return true
	}
	return p.name == folder.TensorFlow || strings.HasSuffix(p.name, tensorflowIndex) ||
		strings.Contains(p.name, tensorflowData)
}

// openTensorFlow opens the checkpoint that a file belongs to.
func openTensorFlow(in *opening) (*Checkpoint, error) {
	prefix, err := tensorflowPrefix(in.fsys, in.name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.path, err)
	}
	c := &Checkpoint{format: "tensorflow"}
	if c.Config, err = readHParams(in.fsys); err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(in.fsys, folder.HParams), err)
	}
	index := prefix + tensorflowIndex
	b, err := folder.Read(in.fsys, index, largestIndex)
	var bundle *programs.Bundle
	if err == nil {
		bundle, err = programs.ParseIndex(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(in.fsys, index), err)
	}
	c.Tensors, err = in.openBundle(prefix, bundle)
	return c, err
}

// tensorflowPrefix returns the beginning of the names of a checkpoint's files.
func tensorflowPrefix(fsys fs.FS, name string) (string, error) {
	if prefix, ok := strings.CutSuffix(name, tensorflowIndex); ok {
		return prefix, nil
	}
	if prefix, _, ok := strings.Cut(name, tensorflowData); ok {
		return prefix, nil
	}
	b, err := folder.Read(fsys, name, 1<<20)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "model_checkpoint_path:")
		if !ok {
			continue
		}
		prefix, err := strconv.Unquote(strings.TrimSpace(value))
		if err != nil || prefix != path.Base(prefix) || !fs.ValidPath(prefix) || prefix == "." ||
			strings.ContainsAny(prefix, `\:`) {
			return "", fmt.Errorf("model_checkpoint_path: %s, want the plain name of a file "+
				"beside it: open the .index file itself", quote.Plain(strings.TrimSpace(value), 60))
		}
		return prefix, nil
	}
	return "", errors.New("no model_checkpoint_path")
}

// readHParams returns the config of hparams.json. Errors do not name the file.
func readHParams(fsys fs.FS) (model.Config, error) {
	c := model.DefaultConfig()
	c.BOSTokenID, c.EOSTokenIDs = nil, nil // the tokenizer sets these
	b, err := folder.Read(fsys, folder.HParams, 1<<20)
	if err != nil {
		return c, err
	}
	sizes := map[string]*int{"n_vocab": &c.VocabSize, "n_ctx": &c.Positions, "n_embd": &c.Embd,
		"n_head": &c.Head, "n_layer": &c.Layer}
	err = strictjson.ReadObject(b, func(r *strictjson.Reader, key string) error {
		dst, ok := sizes[key]
		if !ok {
			_, err := r.Value()
			return err
		}
		delete(sizes, key)
		n, err := r.Natural(math.MaxInt32)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*dst = int(n)
		return nil
	})
	for _, key := range []string{"n_vocab", "n_ctx", "n_embd", "n_head", "n_layer"} {
		if sizes[key] != nil && err == nil {
			err = fmt.Errorf("%s: missing, want an integer", key)
		}
	}
	if err != nil {
		return c, err
	}
	c.Inner = 4 * c.Embd
	return c, c.Validate()
}

// openBundle maps the data files of a checkpoint.
func (in *opening) openBundle(prefix string, b *programs.Bundle) (*weights.Tensors, error) {
	var files []folder.Mapped
	source := weights.Source{Name: folder.Path(in.fsys, prefix+tensorflowIndex), Close: in.close}
	for i := range b.Shards {
		name := fmt.Sprintf("%s%s%05d-of-%05d", prefix, tensorflowData, i, b.Shards)
		file, err := folder.Map(in.fsys, name, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Path(in.fsys, name), err)
		}
		in.add(file.Close)
		files = append(files, file)
		source.Size += file.Size()
	}
	for _, e := range b.Tensors {
		if e.DType == "" {
			continue // only floats are weights
		}
		data := files[e.Shard].Bytes
		if e.Offset > int64(len(data)) || e.Size > int64(len(data))-e.Offset {
			return nil, fmt.Errorf("%s: %q: %d bytes at byte %d of a data file that has %d: "+
				"truncated?", source.Name, e.Name, e.Size, e.Offset, len(data))
		}
		t := weights.Tensor{Name: tensorflowName(e.Name), DType: e.DType, Shape: e.Shape,
			Data: data[e.Offset:][:e.Size:e.Size]}
		if strings.HasSuffix(e.Name, "/w") && len(t.Shape) == 3 && t.Shape[0] == 1 {
			t.Shape = t.Shape[1:] // weights are those of a convolution of width 1
		}
		source.Tensors = append(source.Tensors, t)
	}
	return weights.New(source)
}

// tensorflowName returns Hugging Face's name of a tensor. Unknown names are unchanged.
func tensorflowName(name string) string {
	parts, ok := strings.CutPrefix(name, "model/")
	if !ok {
		return name
	}
	names := strings.Split(parts, "/")
	last := len(names) - 1
	if number, ok := strings.CutPrefix(names[0], "h"); ok && last > 0 {
		names = slices.Insert(names[1:], 0, "h", number)
		last++
	}
	switch names[last] {
	case "g", "w":
		names[last] = "weight"
	case "b":
		names[last] = "bias"
	case "wte", "wpe":
		names = append(names, "weight")
	}
	return strings.Join(names, ".")
}

// isLLMC reports whether the file begins with one of the numbers of llm.c's files.
func isLLMC(p probe) bool {
	if len(p.head) < 4 {
		return false
	}
	n := binary.LittleEndian.Uint32(p.head)
	return 20240326 <= n && n <= 20240328
}

// openLLMC opens a model file of llm.c.
func openLLMC(in *opening) (*Checkpoint, error) {
	file, err := folder.Map(in.fsys, in.name, nil)
	var m *programs.Model
	if err == nil {
		in.add(file.Close)
		m, err = programs.ParseModel(file.Bytes, file.Forget)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.path, err)
	}
	c := model.DefaultConfig()
	c.VocabSize, c.Positions = m.Vocab, m.Positions
	c.Embd, c.Layer, c.Head = m.Embd, m.Layers, m.Heads
	c.Inner = 4 * c.Embd
	c.BOSTokenID, c.EOSTokenIDs = nil, nil // the tokenizer sets these
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", in.path, err)
	}
	tensors, err := weights.New(weights.Source{Name: in.path, Tensors: m.Tensors,
		Size: file.Size(), Close: in.close})
	f := &Checkpoint{format: "llm.c", Config: c, Tensors: tensors}
	if ownLLMC(in.fsys) {
		f.vocabulary = llmcVocabulary(in.fsys, llmcTokens(in.fsys))
	}
	return f, err
}

// llmcTokens returns the name of the list of tokens, "" if there is none.
func llmcTokens(fsys fs.FS) string {
	for _, name := range []string{folder.LLMCTokens, folder.LLMCTokensToo} {
		if has(fsys, name) {
			return name
		}
	}
	return ""
}

// ownLLMC reports whether the list of tokens is the tokenizer. It is only if the folder has no
// other one: unless the list is GPT-2's, it cannot turn text into ids.
func ownLLMC(fsys fs.FS) bool {
	return !hasTokenizerFile(fsys) && llmcTokens(fsys) != ""
}

// llmcVocabulary returns the tokenizer of a list of tokens.
func llmcVocabulary(fsys fs.FS, name string) *vocabulary {
	raw := func() ([]byte, error) {
		b, err := folder.Read(fsys, name, 16<<20)
		if err != nil {
			err = fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
		}
		return b, err
	}
	load := func() (*tokenizer.Tokenizer, error) {
		b, err := raw()
		if err != nil {
			return nil, err
		}
		list, end, err := programs.Tokens(b)
		var t *tokenizer.Tokenizer
		if err == nil {
			t, err = tokenizer.FromBytes(list, end)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
		}
		return t, nil
	}
	return &vocabulary{load: load, raw: raw}
}

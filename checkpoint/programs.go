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
func openTensorFlow(fsys fs.FS, name string, _ Options) (found, error) {
	prefix, err := tensorflowPrefix(fsys, name)
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
	}
	f := found{format: "tensorflow"}
	if f.config, err = readHParams(fsys); err != nil {
		return found{}, fmt.Errorf("%s: %w", folder.Path(fsys, folder.HParams), err)
	}
	index := prefix + tensorflowIndex
	b, err := folder.Read(fsys, index, largestIndex)
	var bundle *programs.Bundle
	if err == nil {
		bundle, err = programs.ParseIndex(b)
	}
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", folder.Path(fsys, index), err)
	}
	if f.tensors, err = openBundle(fsys, prefix, bundle); err != nil {
		return found{}, err
	}
	return f, nil
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
			return "", fmt.Errorf("model_checkpoint_path: %s, want the plain name of a file beside "+
				"it: open the .index file itself", quote.Plain(strings.TrimSpace(value), 60))
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
func openBundle(fsys fs.FS, prefix string, b *programs.Bundle) (_ *weights.Tensors, err error) {
	var files []folder.Mapped
	closeAll := func() error {
		var all error
		for _, f := range files {
			all = errors.Join(all, f.Close())
		}
		return all
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	source := weights.Source{Name: folder.Path(fsys, prefix+tensorflowIndex), Close: closeAll}
	for i := range b.Shards {
		name := fmt.Sprintf("%s%s%05d-of-%05d", prefix, tensorflowData, i, b.Shards)
		file, err := folder.Map(fsys, name, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
		}
		files = append(files, file)
		source.Size += int64(len(file.Bytes))
	}
	for _, e := range b.Tensors {
		if e.DType == "" {
			continue // only floats are weights
		}
		data := files[e.Shard].Bytes
		if e.Offset > int64(len(data)) || e.Size > int64(len(data))-e.Offset {
			return nil, fmt.Errorf("%s: %q: %d bytes at byte %d of a data file that has %d: truncated?",
				source.Name, e.Name, e.Size, e.Offset, len(data))
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
func openLLMC(fsys fs.FS, name string, _ Options) (found, error) {
	path := folder.Path(fsys, name)
	file, err := folder.Map(fsys, name, nil)
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", path, err)
	}
	f, err := readLLMC(path, file)
	if err != nil {
		file.Close()
		return found{}, err
	}
	if ownLLMC(fsys) {
		f.vocabulary = llmcVocabulary(fsys, llmcTokens(fsys))
	}
	return f, nil
}

// readLLMC returns the checkpoint of a file, which closing its tensors closes.
func readLLMC(path string, file folder.Mapped) (found, error) {
	m, err := programs.ParseModel(file.Bytes, file.Forget)
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", path, err)
	}
	c := model.DefaultConfig()
	c.VocabSize, c.Positions = m.Vocab, m.Positions
	c.Embd, c.Layer, c.Head = m.Embd, m.Layers, m.Heads
	c.Inner = 4 * c.Embd
	c.BOSTokenID, c.EOSTokenIDs = nil, nil // the tokenizer sets these
	if err := c.Validate(); err != nil {
		return found{}, fmt.Errorf("%s: %w", path, err)
	}
	tensors, err := weights.New(weights.Source{Name: path, Tensors: m.Tensors,
		Size: int64(len(file.Bytes)), Close: file.Close})
	return found{format: "llm.c", config: c, tensors: tensors}, err
}

// llmcTokens returns the name of the list of tokens, "" if there is none.
func llmcTokens(fsys fs.FS) string {
	for _, name := range []string{folder.LLMCTokens, folder.LLMCTokensToo} {
		if _, err := fs.Stat(fsys, name); err == nil {
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

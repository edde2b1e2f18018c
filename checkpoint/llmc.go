// llm.c: a model.bin, and the list of tokens in the same folder.

package checkpoint

import (
	"encoding/binary"
	"fmt"
	"io/fs"

	"picogpt/checkpoint/internal/programs"
	"picogpt/internal/folder"

	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

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

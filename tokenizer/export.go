// Writing a vocabulary as files for other programs.

package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/folder"
)

// Files returns the tokenizer files of a checkpoint by name, from which [Load] and Hugging Face's
// library read the same tokenizer: vocab.json, merges.txt and tokenizer.json for a byte-level BPE
// vocabulary that splits texts as GPT-2 does, and tokenizer.json for characters. For any other
// vocabulary it returns an error: such a vocabulary was read from files, which can be copied.
func (t *Tokenizer) Files() (map[string][]byte, error) {
	if p, ok := t.Parts(); ok {
		return p.files()
	}
	if m, ok := t.model.(*wordLevel); ok && t.kind == kindCharacters {
		return m.files(append(t.raw.all(), t.normal.all()...))
	}
	return nil, fmt.Errorf("only byte-level BPE and characters can be written: copy the files " +
		"of this tokenizer")
}

// A jsonFile is a tokenizer.json.
type jsonFile struct {
	Version       string      `json:"version"`
	Truncation    any         `json:"truncation"`
	Padding       any         `json:"padding"`
	Added         []jsonAdded `json:"added_tokens"`
	Normalizer    any         `json:"normalizer"`
	PreTokenizer  any         `json:"pre_tokenizer"`
	PostProcessor any         `json:"post_processor"`
	Decoder       any         `json:"decoder"`
	Model         any         `json:"model"`
}

type jsonAdded struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// files returns the files of a byte-level BPE vocabulary.
func (p *Parts) files() (map[string][]byte, error) {
	vocab := map[string]int{}
	added := []jsonAdded{}
	for id, text := range p.Tokens {
		switch p.Kinds[id] {
		case Unused:
			continue
		case Control, User:
			added = append(added, jsonAdded{ID: id, Content: text, Special: p.Kinds[id] == Control})
		}
		vocab[text] = id
	}
	level := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
		"use_regex": true}
	whole, err := json.Marshal(jsonFile{
		Version: "1.0", Added: added, PreTokenizer: level, PostProcessor: level, Decoder: level,
		Model: map[string]any{"type": "BPE", "vocab": vocab, "merges": slices.Clone(p.Merges)},
	})
	if err != nil {
		return nil, err
	}
	ids, err := json.Marshal(vocab)
	merges := "#version: 0.2\n" + strings.Join(append(slices.Clone(p.Merges), ""), "\n")
	return map[string][]byte{folder.Tokenizer: whole, folder.Vocab: ids,
		folder.Merges: []byte(merges)}, err
}

// files returns the file of a vocabulary of characters. In Hugging Face's library a regular
// expression that matches each of them splits a text into characters. Added tokens are in the
// vocabulary, too: else that library gives them other ids.
func (m *wordLevel) files(tokens []addedToken) (map[string][]byte, error) {
	added := []jsonAdded{}
	for _, t := range tokens {
		added = append(added, jsonAdded{t.id, t.text, t.singleWord, t.leftStrip, t.rightStrip,
			t.normalized, t.special})
	}
	unknown := "<unk>" // of which the vocabulary has none
	for text, id := range m.ids {
		if id == m.unknown {
			unknown = text
		}
	}
	slices.SortFunc(added, func(a, b jsonAdded) int { return a.ID - b.ID })
	whole, err := json.Marshal(jsonFile{
		Version: "1.0", Added: added,
		PreTokenizer: map[string]any{"type": "Split", "behavior": "Isolated", "invert": false,
			"pattern": map[string]any{"Regex": `[\s\S]`}},
		Decoder: map[string]any{"type": "Fuse"},
		Model:   map[string]any{"type": "WordLevel", "vocab": m.ids, "unk_token": unknown},
	})
	return map[string][]byte{folder.Tokenizer: whole}, err
}

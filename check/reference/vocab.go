// The files of a vocabulary: the checkpoint's own, or GPT-2's, which is embedded.
package reference

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"picogpt/tokenizer/r50k"
)

// gpt2Size is the number of GPT-2's ids.
const gpt2Size = 50257

// GPT2Encoder returns GPT-2's own Encoder, of 50,257 ids.
func GPT2Encoder() (*Encoder, error) {
	table := r50k.Table()
	vocab, texts := make(map[string]int, gpt2Size), make([]string, 0, gpt2Size)
	for b := range 256 {
		texts = append(texts, table[b:b+1])
	}
	var merges [][2]string
	for pairs := []byte(table[256:]); len(pairs) > 0; pairs = pairs[4:] {
		left, right := binary.LittleEndian.Uint16(pairs), binary.LittleEndian.Uint16(pairs[2:])
		merges = append(merges, [2]string{texts[left], texts[right]})
		texts = append(texts, texts[left]+texts[right])
	}
	for id, text := range texts {
		vocab[text] = id
	}
	return newEncoder(vocab, merges, []AddedToken{{endOfText, gpt2Size - 1, true}})
}

// OpenEncoder returns the Encoder of the checkpoint in a folder, which needs no weights. See
// [Options.Open].
func OpenEncoder(dir string) (*Encoder, error) { return OpenEncoderFS(os.DirFS(dir)) }

// OpenEncoderFS is OpenEncoder for the files in fsys.
func OpenEncoderFS(fsys fs.FS) (*Encoder, error) {
	for _, names := range [][2]string{{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}} {
		if _, err := fs.Stat(fsys, names[0]); err == nil {
			return readPair(fsys, names[0], names[1])
		}
	}
	var f tokenizerFile
	switch found, err := readJSON(fsys, "tokenizer.json", &f); {
	case err != nil:
		return nil, err
	case found:
		return f.encoder()
	}
	for _, name := range []string{"vocab.txt", "spiece.model", "tokenizer.model", "meta.pkl"} {
		if _, err := fs.Stat(fsys, name); err == nil {
			return nil, fmt.Errorf("%s: want vocab.json and merges.txt, a byte-level BPE", name)
		}
	}
	hp, err := readHParams(fsys)
	if err != nil {
		return nil, err
	}
	if hp.Vocab < gpt2Size {
		return nil, fmt.Errorf("no vocab.json, and vocab_size %d is too small for GPT-2's %d ids",
			hp.Vocab, gpt2Size)
	}
	return GPT2Encoder()
}

// readPair reads vocab.json and merges.txt, or OpenAI's files of other names, and what
// transformers writes beside them.
func readPair(fsys fs.FS, vocabName, mergesName string) (*Encoder, error) {
	var spelled map[string]int
	if _, err := readJSON(fsys, vocabName, &spelled); err != nil {
		return nil, err
	}
	list, err := fs.ReadFile(fsys, mergesName)
	if err != nil {
		return nil, err
	}
	var merges []merge
	for line := range strings.Lines(string(list)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#version") {
			continue
		}
		var m merge
		if err := m.parse(line); err != nil {
			return nil, fmt.Errorf("%s: %w", mergesName, err)
		}
		merges = append(merges, m)
	}
	var f tokenizerFile
	if found, err := readJSON(fsys, "tokenizer.json", &f); err != nil {
		return nil, err
	} else if found {
		if err := f.check(); err != nil {
			return nil, err
		}
		return spelledEncoder(vocabName, spelled, merges, f.Added, f.PreTokenizer.PrefixSpace)
	}
	added, prefix, err := readAdded(fsys)
	if err != nil {
		return nil, err
	}
	return spelledEncoder(vocabName, spelled, merges, added, prefix)
}

// readAdded reads the added tokens of added_tokens.json and tokenizer_config.json, and whether the
// latter wants a space before a text.
func readAdded(fsys fs.FS) (added []addedToken, prefix bool, err error) {
	var special map[string]int
	if _, err := readJSON(fsys, "added_tokens.json", &special); err != nil {
		return nil, false, err
	}
	var config struct {
		Prefix bool                  `json:"add_prefix_space"`
		Added  map[string]addedToken `json:"added_tokens_decoder"`
	}
	if _, err := readJSON(fsys, "tokenizer_config.json", &config); err != nil {
		return nil, false, err
	}
	for key, a := range config.Added {
		if a.ID, err = strconv.Atoi(key); err != nil {
			return nil, false, fmt.Errorf("tokenizer_config.json: added_tokens_decoder: %w", err)
		}
		added = append(added, a)
		delete(special, a.Content)
	}
	for text, id := range special {
		added = append(added, addedToken{Content: text, ID: id, Special: true})
	}
	return added, config.Prefix, nil
}

// readJSON reads a file, and reports whether it is there.
func readJSON(fsys fs.FS, name string, into any) (found bool, err error) {
	b, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// A tokenizerFile is what is read of a tokenizer.json.
type tokenizerFile struct {
	Added        []addedToken    `json:"added_tokens"`
	Normalizer   json.RawMessage `json:"normalizer"`
	PreTokenizer struct {
		Type        string `json:"type"`
		PrefixSpace bool   `json:"add_prefix_space"`
		Regex       *bool  `json:"use_regex"`
	} `json:"pre_tokenizer"`
	Model struct {
		Type   string          `json:"type"`
		Vocab  json.RawMessage `json:"vocab"`
		Merges json.RawMessage `json:"merges"`
		Begins string          `json:"continuing_subword_prefix"`
		Ends   string          `json:"end_of_word_suffix"`
	} `json:"model"`
}

type addedToken struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
	Special bool   `json:"special"`
	Left    bool   `json:"lstrip"`
	Right   bool   `json:"rstrip"`
	Single  bool   `json:"single_word"`
}

// check refuses what is not byte-level BPE with GPT-2's pattern.
func (f *tokenizerFile) check() error {
	p := &f.PreTokenizer
	switch normalizer := string(f.Normalizer); {
	case f.Model.Type != "BPE" || f.Model.Begins != "" || f.Model.Ends != "":
		return fmt.Errorf("tokenizer.json: model %q, want the BPE of a byte-level vocabulary",
			f.Model.Type)
	case normalizer != "" && normalizer != "null":
		return errors.New("tokenizer.json: a normalizer, want none, as in GPT-2's")
	case p.Type != "ByteLevel" || p.Regex != nil && !*p.Regex:
		return fmt.Errorf("tokenizer.json: pre_tokenizer %q, want ByteLevel with GPT-2's pattern",
			p.Type)
	}
	return nil
}

func (f *tokenizerFile) encoder() (*Encoder, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	var vocab map[string]int
	var merges []merge
	if err := json.Unmarshal(f.Model.Vocab, &vocab); err != nil {
		return nil, fmt.Errorf("tokenizer.json: vocab: %w", err)
	}
	if err := json.Unmarshal(f.Model.Merges, &merges); err != nil {
		return nil, fmt.Errorf("tokenizer.json: merges: %w", err)
	}
	return spelledEncoder("tokenizer.json", vocab, merges, f.Added, f.PreTokenizer.PrefixSpace)
}

// A merge is two tokens, which a file has as a list or with a space between.
type merge [2]string

func (m *merge) UnmarshalJSON(b []byte) error {
	var line string
	if json.Unmarshal(b, &line) == nil {
		return m.parse(line)
	}
	return json.Unmarshal(b, (*[2]string)(m))
}

func (m *merge) parse(line string) error {
	left, right, ok := strings.Cut(line, " ")
	if !ok || strings.Contains(right, " ") {
		return fmt.Errorf("%q, want two tokens with a space between", line)
	}
	*m = merge{left, right}
	return nil
}

// spelledEncoder returns the Encoder of a vocabulary whose tokens are written in GPT-2's alphabet.
func spelledEncoder(
	name string, spelled map[string]int, merges []merge, added []addedToken, prefix bool,
) (*Encoder, error) {
	bytes := unicodeToBytes()
	text := func(token string) string {
		b := make([]byte, 0, len(token))
		for _, r := range token {
			c, ok := bytes[r]
			if !ok {
				return token // an added token stands for itself
			}
			b = append(b, c)
		}
		return string(b)
	}
	vocab := make(map[string]int, len(spelled))
	for token, id := range spelled {
		vocab[text(token)] = id
	}
	pairs := make([][2]string, len(merges))
	for i, m := range merges {
		pairs[i] = [2]string{text(m[0]), text(m[1])}
	}
	var all []AddedToken
	named := false
	for _, a := range added {
		if a.Left || a.Right || a.Single || a.Content == "" {
			return nil, fmt.Errorf("added token %q: lstrip, rstrip or single_word, want none",
				a.Content)
		}
		all = append(all, AddedToken{a.Content, a.ID, a.Special})
		named = named || a.Content == endOfText
	}
	if id, ok := spelled[endOfText]; ok && !named {
		all = append(all, AddedToken{endOfText, id, true})
	}
	e, err := newEncoder(vocab, pairs, all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	e.prefix = prefix
	return e, nil
}

// unicodeToBytes is the inverse of bytes_to_unicode in encoder.py: printable Latin-1 is itself, and
// the other bytes are U+0100 and following.
func unicodeToBytes() map[rune]byte {
	bytes, next := map[rune]byte{}, rune(256)
	for b := range rune(256) {
		if '!' <= b && b <= '~' || '¡' <= b && b <= '¬' || '®' <= b {
			bytes[b] = byte(b)
		} else {
			bytes[next] = byte(b)
			next++
		}
	}
	return bytes
}

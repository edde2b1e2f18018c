// Tokenizer files for tests, written from a Tokenizer.

package tokenizer

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/tokenizer/r50k"
)

// encode is Encode for texts that tok has tokens for.
func encode(t testing.TB, tok *Tokenizer, text string) []int {
	t.Helper()
	ids, err := tok.Encode(text)
	if err != nil {
		t.Errorf("%.80q: %v", text, err)
	}
	return ids
}

// levelOf returns the model of a byte-level vocabulary.
func levelOf(tok *Tokenizer) *byteLevel { return tok.model.(*byteLevel) }

// spell writes bytes in GPT-2's byte alphabet, by the rule of openai/gpt-2's bytes_to_unicode, not
// by this package's.
func spell(bytes string) string {
	var b strings.Builder
	for i := range len(bytes) {
		b.WriteRune(spelled[bytes[i]])
	}
	return b.String()
}

var spelled = func() (runes [256]rune) {
	n := 0
	for c := range 256 {
		if c >= '!' && c <= '~' || c >= 0xA1 && c <= 0xAC || c >= 0xAE && c <= 0xFF {
			runes[c] = rune(c)
		} else {
			runes[c] = rune(256 + n)
			n++
		}
	}
	return runes
}()

// gpt2Files returns GPT-2's vocabulary as token → id, and its merges.txt.
func gpt2Files() (vocab map[string]int, merges string) {
	vocab = map[string]int{EndOfTextToken: 50256}
	tokens := make([]string, 50256)
	var lines strings.Builder
	for id := range tokens {
		token, _ := GPT2().tokens.token(id)
		tokens[id] = spell(token)
		vocab[tokens[id]] = id
		if id >= 256 {
			entry := r50k.Table()[256+4*(id-256):]
			left := binary.LittleEndian.Uint16([]byte(entry[:2]))
			right := binary.LittleEndian.Uint16([]byte(entry[2:4]))
			fmt.Fprintf(&lines, "%s %s\n", tokens[left], tokens[right])
		}
	}
	return vocab, lines.String()
}

// toJSON marshals without escaping < and >, as Python does.
func toJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// ascii writes all but ASCII as \uXXXX, as Python's json.dumps does.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// write puts files, by name, into a new directory.
func write(t testing.TB, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// byteVocab returns the 256 bytes' tokens, byte b with id first + b.
func byteVocab(first int) map[string]int {
	vocab := map[string]int{}
	for b := range 256 {
		vocab[spell(string([]byte{byte(b)}))] = first + b
	}
	return vocab
}

// tokenizerJSON returns a tokenizer.json with GPT-2's rules, changed by change.
func tokenizerJSON(
	vocab map[string]int, merges any, change func(top, model map[string]any),
) string {
	model := map[string]any{
		"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": "",
		"end_of_word_suffix": "",
		"fuse_unk":           false, "byte_fallback": false, "ignore_merges": false, "vocab": vocab,
		"merges": merges,
	}
	top := map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "normalizer": nil,
		"added_tokens": []any{},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false,
			"trim_offsets": true},
		"post_processor": map[string]any{"type": "ByteLevel", "add_prefix_space": true,
			"trim_offsets": false},
		"decoder": map[string]any{"type": "ByteLevel", "add_prefix_space": true,
			"trim_offsets": true},
		"model": model,
	}
	if change != nil {
		change(top, model)
	}
	return toJSON(top)
}

// What a file's rules may make of a text is bounded.

package tokenizer

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// bombs are parts of a tokenizer.json that make much of a letter.
func bombs() map[string]object {
	text := func(s string) object { return object{"String": s} }
	replace := object{"type": "Replace", "pattern": text("a"), "content": "aa"}
	list := func(name string, step object) object {
		return object{"type": "Sequence", name: slices.Repeat([]object{step}, 26)}
	}
	all := strings.Repeat("a", 1<<20)
	return map[string]object{
		"Replace": {"normalizer": list("normalizers", replace)},
		"Replace everywhere": {"normalizer": list("normalizers",
			object{"type": "Replace", "pattern": text(""), "content": "a"})},
		"Replace by much": {"normalizer": object{"type": "Replace", "pattern": object{"Regex": "^"},
			"content": all}},
		"Prepend": {"normalizer": object{"type": "Prepend", "prepend": all}},
		"ByteLevel": {"normalizer": list("normalizers",
			object{"type": "ByteLevel"})},
		"Metaspace": {"normalizer": object{"type": "Replace", "pattern": text("a"),
			"content": strings.Repeat(" ", 60<<10)}, "pre_tokenizer": object{"type": "Metaspace"}},
		"ByteLevel splitters": {"pre_tokenizer": list("pretokenizers",
			object{"type": "ByteLevel", "use_regex": false})},
	}
}

func TestRulesAreBounded(t *testing.T) {
	for name, rules := range bombs() {
		rules["model"] = object{"type": "WordLevel", "unk_token": "?", "vocab": object{"?": 0}}
		tok, err := Load(write(t, map[string]string{"tokenizer.json": toJSON(rules)}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		const text, want = "é a", "a text of 4 bytes grows by more than 65664 by the rules"
		_, err = tok.Encode(text)
		_, _, spanned := tok.EncodeSpans(text)
		if err == nil || spanned == nil || !strings.HasPrefix(err.Error(), want) ||
			spanned.Error() != err.Error() {
			t.Errorf("%s: %v, %v; want %s…", name, err, spanned, want)
		}
		if _, err := tok.Encode(""); err != nil {
			t.Errorf("%s: nothing: %v", name, err)
		}
	}
}

// TestRulesOfUnicodeAreNotTooLong: what Unicode makes of texts is within the bound, however long they are.
func TestRulesOfUnicodeAreNotTooLong(t *testing.T) {
	tok, err := Load(write(t, map[string]string{"tokenizer.json": toJSON(object{
		"normalizer":    object{"type": "NFKD"},
		"pre_tokenizer": object{"type": "Metaspace"},
		"model":         object{"type": "WordLevel", "unk_token": "?", "vocab": object{"?": 0}}})}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.Encode(strings.Repeat("\uFDFA", 50000)); err != nil { // 11 times as many bytes
		t.Error(err)
	}
}

func TestDecodersAreBounded(t *testing.T) {
	replace := object{"type": "Replace", "pattern": object{"String": "a"}, "content": "aa"}
	for name, steps := range map[string][]object{
		"tokens": slices.Repeat([]object{replace}, 26),
		"fused":  append([]object{{"type": "Fuse"}}, slices.Repeat([]object{replace}, 26)...),
		"a regex, fused": append([]object{{"type": "Fuse"}}, slices.Repeat([]object{{"type": "Replace",
			"pattern": object{"Regex": "a$|"}, "content": "aa"}}, 26)...),
	} {
		tok, err := Load(write(t, map[string]string{"tokenizer.json": toJSON(object{
			"decoder": object{"type": "Sequence", "decoders": steps},
			"model":   object{"type": "WordLevel", "unk_token": "?", "vocab": object{"?": 0, "a": 1}}})}))
		if err != nil {
			t.Fatal(err)
		}
		const want = "a text of 2 bytes grows by more than 65600"
		if _, err := tok.Decode([]int{0, 1}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s…", name, err, want)
		}
		var last error
		for _, err := range tok.Stream(func(yield func(int, error) bool) { _ = yield(0, nil) && yield(1, nil) }) {
			last = err
		}
		if last == nil || !strings.HasPrefix(last.Error(), want) {
			t.Errorf("%s, streamed: %v, want %s…", name, last, want)
		}
	}
}

// TestBytesOfAllTokensAreBounded, though each token alone is within the bound.
func TestBytesOfAllTokensAreBounded(t *testing.T) {
	vocab := object{}
	for i := range 100 {
		vocab[strings.Repeat("a", i+1)] = i
	}
	tok, err := Load(write(t, map[string]string{"tokenizer.json": toJSON(object{
		"decoder": object{"type": "Replace", "pattern": object{"String": "a"},
			"content": strings.Repeat("b", 600)},
		"model": object{"type": "WordLevel", "vocab": vocab}})}))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := tok.Text(99); err != nil || len(text) != 60000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := tok.Bytes(); err == nil || !strings.Contains(err.Error(), "grows by more than") {
		t.Errorf("%v", err)
	}
}

func TestAddedTokensAreBounded(t *testing.T) {
	rules := bombs()["Replace"]
	rules["added_tokens"] = []object{{"id": 1, "content": "a", "normalized": true}}
	rules["model"] = object{"type": "WordLevel", "unk_token": "?", "vocab": object{"?": 0}}
	_, err := Load(write(t, map[string]string{"tokenizer.json": toJSON(rules)}))
	if want := "added token 1, normalized: a text of 1 bytes grows by"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want …%s…", err, want)
	}
	rules["normalizer"] = object{"type": "Sequence", "normalizers": slices.Repeat(
		[]object{{"type": "NFC"}}, 1025)}
	_, err = Load(write(t, map[string]string{"tokenizer.json": toJSON(rules)}))
	if want := "normalizer: 1025 steps, want at most 1024"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want …%s…", err, want)
	}
}

// TestEncoderAsksBetweenSteps: whoever waits for an encoding can end it between two steps, and
// between parts of a long text.
func TestEncoderAsksBetweenSteps(t *testing.T) {
	gone := errors.New("gone")
	for name, rules := range map[string]object{
		"normalizers": {"normalizer": object{"type": "Sequence", "normalizers": slices.Repeat(
			[]object{{"type": "Lowercase"}}, 20)}},
		"parts": {"pre_tokenizer": object{"type": "WhitespaceSplit"}},
	} {
		rules["model"] = object{"type": "WordLevel", "unk_token": "?", "vocab": object{"?": 0}}
		tok, err := Load(write(t, map[string]string{"tokenizer.json": toJSON(rules)}))
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		e := tok.NewEncoder(1)
		e.OnStep(func() error {
			if asked++; asked == 3 {
				return gone
			}
			return nil
		})
		e.Write([]byte(strings.Repeat("word ", 100000)))
		if _, _, err := e.End(); !errors.Is(err, gone) || asked != 3 {
			t.Errorf("%s: %v after %d", name, err, asked)
		}
	}
}

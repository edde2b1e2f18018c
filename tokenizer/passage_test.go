// What a file's rules may make of a text is bounded.

package tokenizer

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
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
		tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(rules)})))
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
	tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(object{
		"normalizer":    object{"type": "NFKD"},
		"pre_tokenizer": object{"type": "Metaspace"},
		"model":         object{"type": "WordLevel", "unk_token": "?", "vocab": object{"?": 0}}})})))
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
		tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(object{
			"decoder": object{"type": "Sequence", "decoders": steps},
			"model":   object{"type": "WordLevel", "unk_token": "?", "vocab": object{"?": 0, "a": 1}}})})))
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
	tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(object{
		"decoder": object{"type": "Replace", "pattern": object{"String": "a"},
			"content": strings.Repeat("b", 600)},
		"model": object{"type": "WordLevel", "vocab": vocab}})})))
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
	_, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(rules)})))
	if want := "added token 1, normalized: a text of 1 bytes grows by"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want …%s…", err, want)
	}
	rules["normalizer"] = object{"type": "Sequence", "normalizers": slices.Repeat(
		[]object{{"type": "NFC"}}, 1025)}
	_, err = Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(rules)})))
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
		tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(rules)})))
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

// TestStepsAreBounded: rules that make little of a text, and read it again and again.
func TestStepsAreBounded(t *testing.T) {
	cases.NotShort(t)
	much := func(name string, steps ...object) object {
		return object{"type": "Sequence", name: slices.Concat(steps[:1], slices.Repeat(steps[1:], 1000))}
	}
	grow := object{"type": "Replace", "pattern": object{"String": "a"}, "content": strings.Repeat("a", 60000)}
	split := func(kind, pattern string) object {
		return object{"type": "Split", "pattern": object{kind: pattern}}
	}
	wide := object{"Regex": `(?:a?){900}b`}
	for name, rules := range map[string]object{
		"Replace": {"normalizer": much("normalizers", grow,
			object{"type": "Replace", "pattern": wide, "content": "x"})},
		"Lowercase": {"normalizer": much("normalizers", grow, object{"type": "Lowercase"})},
		"Split":     {"pre_tokenizer": much("pretokenizers", split("String", ""), split("String", "b"))},
		"a run": {"normalizer": grow,
			"pre_tokenizer": split("Regex", `(?:a{100000,1}b|a)*`)},
		"literals": {"normalizer": grow,
			"pre_tokenizer": split("Regex", strings.Repeat("a", 2000)+"b")},
	} {
		rules["model"] = object{"type": "WordLevel", "unk_token": "?", "vocab": object{"?": 0}}
		tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(rules)})))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := "a"
		if name == "Split" {
			text = strings.Repeat("a", 1000)
		}
		const want = " takes more than 1"
		if _, err := tok.Encode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want …%s…", name, err, want)
		}
	}
}

// TestStepsOfDecodersAreBounded, and those of all normalized tokens together.
func TestStepsOfDecodersAreBounded(t *testing.T) {
	cases.NotShort(t)
	model := object{"type": "WordLevel", "unk_token": "?", "vocab": object{"?": 0, "a": 1}}
	for name, step := range map[string]object{
		"Strip":      {"type": "Strip", "content": "b", "start": 1000, "stop": 1000},
		"WordPiece":  {"type": "WordPiece"},
		"BPEDecoder": {"type": "BPEDecoder", "suffix": ""},
	} {
		tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(object{"model": model,
			"decoder": object{"type": "Sequence", "decoders": slices.Repeat([]object{step}, 1000)}})})))
		if err != nil {
			t.Fatal(err)
		}
		const want = "by the rules of the vocabulary"
		if _, err := tok.Decode(make([]int, 1000)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want …%s", name, err, want)
		}
	}
	var added []object
	for i := range 2000 {
		added = append(added, object{"id": i + 2, "content": fmt.Sprintf("<%d>", i), "normalized": true})
	}
	_, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(object{"model": model,
		"normalizer": object{"type": "Sequence", "normalizers": slices.Repeat([]object{{"type": "Replace",
			"pattern": object{"Regex": "(?:<?){900}b"}, "content": ""}}, 1000)}, "added_tokens": added})})))
	if want := "normalized: a text of "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want …%s…", err, want)
	}
}

// TestLongTokensTakeLittle: the parts of all tokens are bounded. Beyond that, long pieces are merged
// whole, with the same ids.
func TestLongTokensTakeLittle(t *testing.T) {
	cases.NotShort(t)
	vocab, merges, token := object{}, []string{}, "a"
	for i, r := range newByteAlphabet().runes {
		vocab[string(r)] = i
	}
	for i := range 3000 {
		merges = append(merges, token+" a")
		token += "a"
		vocab[token] = 256 + i
	}
	model := object{"type": "BPE", "vocab": vocab, "merges": merges}
	for name, rules := range map[string]object{"bytes": {"type": "ByteLevel"}, "characters": nil} {
		tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(object{"model": model,
			"pre_tokenizer": rules})})))
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode(strings.Repeat("a", 10000))
		if level, ok := tok.model.(*byteLevel); ok && level.spells() {
			t.Error("want more bytes of tokens")
		}
		e := tok.NewEncoder(everyID)
		for range 10 {
			e.Write([]byte(strings.Repeat("a", 1000)))
		}
		parts, _, err2 := e.End()
		want := slices.Repeat([]int{256}, 5000) // all pairs are merged first
		if err != nil || err2 != nil || !slices.Equal(ids, want) || !slices.Equal(parts, want) {
			t.Errorf("%s: %d ids, %v; in parts %d, %v; want %d", name, len(ids), err, len(parts), err2,
				len(want))
		}
	}
}

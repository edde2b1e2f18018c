// sentencepiece's own files, against sentencepiece: testdata/sentencepiece, which
// x/bench/tokenizers/pieces.py writes.

package tokenizer

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// pieceModel returns a file of testdata/sentencepiece.
func pieceModel(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/sentencepiece/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSentencePieces(t *testing.T) {
	toks := map[string]*Tokenizer{}
	for line := range bytes.Lines([]byte(pieceModel(t, "cases.jsonl"))) {
		var c struct {
			Model, Text, Decoded string
			IDs, Known           []int
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		tok := toks[c.Model]
		if tok == nil {
			var err error
			tok, err = Load(os.DirFS(write(t, map[string]string{"tokenizer.model": pieceModel(t, c.Model+".model")})))
			if err != nil {
				t.Fatalf("%s: %v", c.Model, err)
			}
			toks[c.Model] = tok
		}
		ids, spans, err := tok.EncodeSpans(c.Text)
		if err != nil || !equal(ids, c.IDs) {
			t.Errorf("%s: %q: %v, %v; want %v", c.Model, c.Text, ids, err, c.IDs)
		}
		checkSpans(t, c.Text, spans)
		if text, err := tok.Decode(c.Known); text != c.Decoded || err != nil {
			t.Errorf("%s: %v: %q, %v; want %q", c.Model, c.Known, text, err, c.Decoded)
		}
	}
	if len(toks) != 6 || toks["bpe"].Kind() != "BPE" || toks["unigram"].Kind() != "Unigram" {
		t.Errorf("%d models", len(toks))
	}
}

// TestLongTextsOfSentencePieces: a text that is longer than what is merged at once has the ids that
// merging all of it gives, with pieces in it that are never merged.
func TestLongTextsOfSentencePieces(t *testing.T) {
	for _, name := range []string{"bpe", "bytes"} {
		tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.model": pieceModel(t, name+".model")})))
		if err != nil {
			t.Fatal(err)
		}
		m := tok.model.(*charBPE)
		text := strings.Repeat("▁the▁model▁of", 2*waitFor/11) + strings.Repeat("a", 2*waitFor) +
			strings.Repeat("<|user|>a", waitFor)
		got := encoded{}
		if err := m.tokenize(&got, passage{text: text}); err != nil {
			t.Fatal(err)
		}
		s, want := symbols{}, encoded{}
		if err := m.symbols(&want, passage{text: text}, &s); err != nil {
			t.Fatal(err)
		}
		m.merge(&want, passage{text: text}, &s, 0, len(s.ids))
		if !equal(got.ids, want.ids) {
			t.Errorf("%s: %d ids, want %d, or others", name, len(got.ids), len(want.ids))
		}
		if !m.spelled(s.ids) {
			t.Errorf("%s: not merged part by part", name)
		}
	}
}

func TestSentencePiecesRefused(t *testing.T) {
	model := pieceModel(t, "bpe.model")
	for want, file := range map[string]string{
		"tokenizer.model: model_type 3: not supported, want 1 (Unigram) or 2 (BPE)": model + "\x12\x02\x18\x03",
		"the character 'ω' is no piece: not supported":                              model + "\x0a\x0a\x0a\x03aω\x15\x00\x00\x80\xbf",
		"tokenizer.model: no pieces":                                                "IQ== 0\nIg== 1\n",
	} {
		_, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.model": file})))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want …%s…", err, want)
		}
	}
}

// TestSpieceComesBeforeTokenizerModel, whatever the class.
func TestSpieceComesBeforeTokenizerModel(t *testing.T) {
	both := map[string]string{"spiece.model": pieceModel(t, "unigram.model"),
		"tokenizer.model": pieceModel(t, "bpe.model")}
	for class, kind := range map[string]string{"": "Unigram", "T5Tokenizer": "Unigram"} {
		both["tokenizer_config.json"] = toJSON(object{"tokenizer_class": class})
		tok, err := Load(os.DirFS(write(t, both)))
		if err != nil || tok.Kind() != kind {
			t.Errorf("%s: %v, want %s", class, err, kind)
		}
	}
}

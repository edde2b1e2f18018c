// vocab.txt and spiece.model, alone and beside other files.

package tokenizer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kindFile returns a file of testdata/kinds.
func kindFile(t testing.TB, kind, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata/kinds", kind, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestVocabText: vocab.txt and tokenizer_config.json give what the tokenizer.json of the same
// vocabulary gives.
func TestVocabText(t *testing.T) {
	toks := map[string]*Tokenizer{}
	for _, kind := range []string{"wordpiece-cased", "wordpiece-uncased"} {
		files := map[string]string{}
		for _, name := range []string{"vocab.txt", "tokenizer_config.json"} {
			files[name] = kindFile(t, kind, name)
		}
		tok, err := Load(os.DirFS(write(t, files)))
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := tok.Start(); tok.Kind() != "WordPiece" || !ok || id != 2 {
			t.Errorf("%s: %s, start %d, %t", kind, tok.Kind(), id, ok)
		}
		if id, ok := tok.EndOfText(); !ok || id != 3 {
			t.Errorf("%s: end of text %d, %t", kind, id, ok)
		}
		toks[kind] = tok
	}
	for _, c := range kindCases(t) {
		tok := toks[c.Kind]
		if tok == nil {
			continue
		}
		if ids, err := tok.Encode(c.Text); err != nil || !equal(ids, c.IDs) {
			t.Errorf("%s: %q: %v, %v; want %v", c.Kind, c.Text, ids, err, c.IDs)
		}
		kept := c.Decoded
		if c.Kept != nil {
			kept = *c.Kept
		}
		if text, err := tok.Decode(c.IDs); text != kept || err != nil {
			t.Errorf("%s: %v: %q, %v; want %q", c.Kind, c.IDs, text, err, kept)
		}
	}
}

// TestSentencePiece compares with Google's own library, whose ids differ from the other one's in
// some cases.
func TestSentencePiece(t *testing.T) {
	tok, err := Load(os.DirFS(write(t, map[string]string{
		"spiece.model": kindFile(t, "unigram-charsmap", "spiece.model")})))
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, c := range kindCases(t) {
		if c.SPM == nil {
			continue
		}
		cases++
		if ids, _, err := tok.EncodeSpans(c.Text); err != nil || !equal(ids, c.SPM) {
			t.Errorf("%q: %v, %v; want %v", c.Text, ids, err, c.SPM)
		}
	}
	if cases != 60 {
		t.Errorf("%d cases", cases)
	}
}

// TestWhichFileCounts: the order of files, and the class that says otherwise.
func TestWhichFileCounts(t *testing.T) {
	pair := map[string]string{"vocab.json": toJSON(byteVocab(0)), "merges.txt": ""}
	text := map[string]string{"vocab.txt": kindFile(t, "wordpiece-cased", "vocab.txt")}
	pieces := map[string]string{"spiece.model": kindFile(t, "unigram-charsmap", "spiece.model")}
	whole := map[string]string{"tokenizer.json": kindFile(t, "characters", "tokenizer.json")}
	class := func(name string) map[string]string {
		return map[string]string{"tokenizer_config.json": toJSON(object{"tokenizer_class": name})}
	}
	openAI := map[string]string{"encoder.json": toJSON(byteVocab(0)), "vocab.bpe": "#version: 0.2\n"}
	half := map[string]string{"vocab.json": toJSON(byteVocab(0))}
	for _, test := range []struct {
		want  string
		files []map[string]string
	}{
		{"characters", []map[string]string{whole, pair, text, pieces, class("BertTokenizer")}},
		{"byte-level BPE", []map[string]string{pair, text, pieces}},
		{"byte-level BPE", []map[string]string{openAI}},
		{"WordPiece", []map[string]string{text, pieces}},
		{"WordPiece", []map[string]string{half, text}},
		{"Unigram", []map[string]string{pieces}},
		{"WordPiece", []map[string]string{pair, text, pieces, class("BertTokenizerFast")}},
		{"Unigram", []map[string]string{pair, text, pieces, class("T5Tokenizer")}},
		{"byte-level BPE", []map[string]string{pair, text, class("Other")}},
	} {
		files := map[string]string{}
		for _, some := range test.files {
			for name, text := range some {
				files[name] = text
			}
		}
		tok, err := Load(os.DirFS(write(t, files)))
		if err != nil || tok.Kind() != test.want {
			t.Errorf("want %s: %v, %v", test.want, tok, err)
		}
	}
}

// TestBertConfig: what tokenizer_config.json says, and what other files add.
func TestBertConfig(t *testing.T) {
	vocab := "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n\nA\r\ne\n##a\n你\na \n"
	for _, test := range []struct {
		files map[string]string
		text  string
		want  []int
	}{
		{nil, "Aa[CLS]é你b", []int{10, 8, 2, 7, 9, 1}},
		{map[string]string{"tokenizer_config.json": `{"do_lower_case": false}`}, "A é", []int{6, 1}},
		{map[string]string{"tokenizer_config.json": `{"do_lower_case": false, "strip_accents": true}`},
			"A é", []int{6, 7}},
		{map[string]string{"tokenizer_config.json": `{"tokenize_chinese_chars": false}`}, "a你",
			[]int{1}},
		{map[string]string{"added_tokens.json": `{"<x>": 11}`}, "a<x>", []int{10, 11}},
		{map[string]string{"special_tokens_map.json": `{"unk_token": {"content": "e"}}`}, "b", []int{7}},
		{map[string]string{"tokenizer_config.json": `{"added_tokens_decoder":
			{"11": {"content": "e a", "special": false, "lstrip": true}}}`}, "a  e a", []int{10, 11}},
	} {
		files := map[string]string{"vocab.txt": vocab}
		for name, text := range test.files {
			files[name] = text
		}
		tok, err := Load(os.DirFS(write(t, files)))
		if err != nil {
			t.Errorf("%v: %v", test.files, err)
			continue
		}
		if got := encode(t, tok, test.text); !equal(got, test.want) {
			t.Errorf("%v: %q: %v, want %v", test.files, test.text, got, test.want)
		}
	}
}

func TestBadKinds(t *testing.T) {
	pieces := kindFile(t, "unigram-charsmap", "spiece.model")
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"empty vocab.txt": {map[string]string{"vocab.txt": "\n\n"}, "vocab.txt: no tokens"},
		"long line": {map[string]string{"vocab.txt": "a\n" + strings.Repeat("x", 2000)},
			"vocab.txt: line 2: a token of 2000 bytes, want at most 1024"},
		"not UTF-8": {map[string]string{"vocab.txt": "\xff"}, "vocab.txt: not valid UTF-8"},
		"many":      {map[string]string{"vocab.txt": strings.Repeat("\n", maxIDs+1)}, "more than 1048576"},
		"flag": {map[string]string{"vocab.txt": "a", "tokenizer_config.json": `{"do_lower_case": 1}`},
			"tokenizer_config.json: do_lower_case: byte 18: want true or false"},
		"added": {map[string]string{"vocab.txt": "a",
			"tokenizer_config.json": `{"added_tokens_decoder": {"x": {"content": "b"}}}`},
			`added_tokens_decoder: byte `},
		"empty model": {map[string]string{"spiece.model": ""}, "spiece.model: no pieces"},
		"truncated": {map[string]string{"spiece.model": pieces[:len(pieces)-7]},
			"spiece.model: not a sentencepiece model"},
		"words": {map[string]string{"spiece.model": pieces + "\x12\x02\x18\x03"},
			"spiece.model: model_type 3: not supported, want 1 (Unigram) or 2 (BPE)"},
		"twice": {map[string]string{"spiece.model": pieces + pieces}, "empty or there already"},
		"type": {map[string]string{"spiece.model": "\x0a\x05\x0a\x01a\x18\x07"},
			`piece "a": type 7, want 1 to 6`},
		"score": {map[string]string{"spiece.model": "\x0a\x08\x0a\x01a\x15\x00\x00\xc0\x7f"},
			`piece 0: "a" has score NaN, want a number`},
		"rules": {map[string]string{"spiece.model": pieces + "\x1a\x03\x12\x01a"},
			"precompiled_charsmap: rules of less than 4 bytes"},
	} {
		checkBad(t, name, write(t, test.files), test.want)
	}
}

func FuzzVocabText(f *testing.F) {
	f.Add(kindFile(f, "wordpiece-cased", "vocab.txt")[:300], "the cat [CLS] sat.")
	f.Fuzz(func(t *testing.T, vocab, text string) {
		v, err := parseVocabText(vocab)
		if err != nil {
			return
		}
		if v.addNamed([]string{"[UNK]", "[CLS]"}) != nil {
			return
		}
		usable(t, newBert(v, bertNormalizer{true, true, true, true}, v.ids.id("[UNK]")), nil, text)
	})
}

func FuzzSentencePiece(f *testing.F) {
	f.Add(kindFile(f, "unigram-charsmap", "spiece.model"), "The cat ½ fi")
	f.Add("\x0a\x08\x0a\x01a\x15\x00\x00\x80\x3f\x0a\x05\x0a\x01u\x18\x02", "a b")
	f.Add(pieceModel(f, "bytes.model"), "the <|user|> of 12 漢")
	f.Fuzz(func(t *testing.T, model, text string) {
		tok, v, err := parsePieces(model)
		if err != nil {
			usable(t, nil, err, text)
			return
		}
		tok.tokens = newTokens(v.tokens)
		tok.decoding.tokens = tok.tokens
		tok.finish(v)
		usable(t, tok, nil, text)
	})
}

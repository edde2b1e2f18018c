// The encoder gives OpenAI's ids, from every form of the files.
package reference

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/tokenizer"
)

var gpt2Once = sync.OnceValues(GPT2Encoder)

func gpt2Encoder(t testing.TB) *Encoder {
	t.Helper()
	e, err := gpt2Once()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The answers are those of OpenAI's tiktoken (npm package 1.0.22) for 1,510 texts.
func TestIDsAreTiktokens(t *testing.T) {
	cases.NotShort(t)
	texts, err := fixture.Tiktoken()
	if err != nil || len(texts) != 1510 {
		t.Fatalf("%d texts, %v", len(texts), err)
	}
	e := gpt2Encoder(t)
	special := e.WithSpecial()
	for n, want := range texts {
		if n%cases.Of(5, 1) != 0 {
			continue
		}
		if got, err := e.Encode(want.Text); err != nil || !slices.Equal(got, want.IDs) {
			t.Errorf("%.80q: %v, %v, want %v", want.Text, got, err, want.IDs)
		}
		if got, err := special.Encode(want.Text); err != nil || !slices.Equal(got, want.IDsSpecial) {
			t.Errorf("%.80q: special %v, %v, want %v", want.Text, got, err, want.IDsSpecial)
		}
		if text, err := e.Decode(want.IDs); err != nil || text != want.Text {
			t.Errorf("%.80q: decodes to %.80q, %v", want.Text, text, err)
		}
	}
}

// smallFolder has some merges over all bytes as transformers writes them, in both forms.
func smallFolder(t testing.TB) fstest.MapFS {
	t.Helper()
	dir := t.TempDir()
	if err := fixture.ByteTokenizer(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "vocab.json"))
	if err != nil {
		t.Fatal(err)
	}
	vocab := map[string]int{}
	if err := json.Unmarshal(b, &vocab); err != nil {
		t.Fatal(err)
	}
	pairs := [][2]string{{"Ġ", "t"}, {"h", "e"}, {"Ġt", "he"}, {"Ã", "©"}, {"Ċ", "Ċ"}, {"a", "b"}}
	merges := "#version: 0.2\n"
	for _, m := range pairs {
		vocab[m[0]+m[1]] = len(vocab)
		merges += m[0] + " " + m[1] + "\n"
	}
	marshal := func(v any) *fstest.MapFile {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: b}
	}
	added := []map[string]any{{"id": 256, "content": endOfText, "special": true}}
	return fstest.MapFS{
		"vocab.json": marshal(vocab), "merges.txt": {Data: []byte(merges)},
		"tokenizer.json": marshal(map[string]any{"added_tokens": added,
			"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false},
			"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": pairs}}),
	}
}

func TestEveryFormOfTheFilesIsReadAsTheProjectDoes(t *testing.T) {
	all := smallFolder(t)
	const text = "The  the\n\n\nthere é<|endoftext|> the 42 ab日本"
	for name, folder := range map[string]fstest.MapFS{
		"pair":           {"vocab.json": all["vocab.json"], "merges.txt": all["merges.txt"]},
		"OpenAI's names": {"encoder.json": all["vocab.json"], "vocab.bpe": all["merges.txt"]},
		"tokenizer.json": {"tokenizer.json": all["tokenizer.json"]},
		"all":            all,
	} {
		tok, err := tokenizer.Load(folder)
		if err != nil {
			t.Fatal(err)
		}
		e, err := OpenEncoderFS(folder)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 2 {
			want, err := tok.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := e.Encode(text); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %v, want %v", name, got, err, want)
			}
			tok, e = tok.WithSpecial(), e.WithSpecial()
		}
	}
}

func TestAddedTokensAndPrefixesAreHonoured(t *testing.T) {
	folder := smallFolder(t)
	delete(folder, "tokenizer.json")
	folder["added_tokens.json"] = &fstest.MapFile{Data: []byte(`{"<pad>": 263}`)}
	folder["tokenizer_config.json"] = &fstest.MapFile{Data: []byte(`{"add_prefix_space": true,
		"added_tokens_decoder": {"264": {"content": "<tab>", "special": false},
			"265": {"content": "<tab><tab>", "special": false}}}`)}
	e, err := OpenEncoderFS(folder)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{ // 257 is " t", 259 " the"
		"the":                    {259},
		"the<tab><tab><tab>the ": {259, 265, 264, 259, ' '},
		"t<pad>":                 {257, '<', 'p', 'a', 'd', '>'},
	} {
		if got, err := e.Encode(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	if got, err := e.WithSpecial().Encode("<pad>"); err != nil || !slices.Equal(got, []int{263}) {
		t.Errorf("special: %v, %v", got, err)
	}
	if text, err := e.Decode([]int{263, 264, 259}); err != nil || text != "<pad><tab> the" {
		t.Errorf("decodes to %q, %v", text, err)
	}
}

func TestWhatTheEncoderCannotDoIsNamed(t *testing.T) {
	file := func(name, text string) fstest.MapFS {
		return fstest.MapFS{name: {Data: []byte(text)}}
	}
	with := func(folder fstest.MapFS, more fstest.MapFS) fstest.MapFS {
		maps.Copy(folder, more)
		return folder
	}
	vocab := `{"a": 0, "b": 1, "ab": 2}`
	for want, folder := range map[string]fstest.MapFS{
		"vocab.txt: want vocab.json": file("vocab.txt", "a"),
		"too small for GPT-2's":      file("config.json", `{"vocab_size": 300}`),
		"config.json":                {},
		"merges.txt":                 file("vocab.json", vocab),
		"merge 0 makes \"ba\"": with(file("vocab.json", vocab), file("merges.txt",
			"#version: 0.2\nb a\n")),
		"merges.txt: \"a b c\", want two tokens": with(file("vocab.json", vocab),
			file("merges.txt", "a b c\n")),
		"vocab.json: ": with(file("vocab.json", `[]`), file("merges.txt", "")),
		`model "WordPiece"`: file("tokenizer.json",
			`{"model": {"type": "WordPiece", "vocab": []}}`),
		"a normalizer": file("tokenizer.json",
			`{"normalizer": {"type": "NFC"}, "model": {"type": "BPE"}}`),
		`pre_tokenizer "Split"`: file("tokenizer.json",
			`{"pre_tokenizer": {"type": "Split"}, "model": {"type": "BPE"}}`),
		"single_word": file("tokenizer.json", `{"added_tokens": [{"content": "x", "lstrip": true}],
			"pre_tokenizer": {"type": "ByteLevel"},
			"model": {"type": "BPE", "vocab": {}, "merges": []}}`),
	} {
		if _, err := OpenEncoderFS(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	e, err := OpenEncoderFS(with(file("vocab.json", vocab), file("merges.txt", "a b\n")))
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := e.Encode("abba"); err != nil || !slices.Equal(ids, []int{2, 1, 0}) {
		t.Errorf("abba: %v, %v", ids, err)
	}
	for text, want := range map[string]string{
		"abc":    "byte 2 of the text, 0x63: the vocabulary has no token",
		"ab\xff": "byte 2 of the text, 0xff, is not valid UTF-8",
	} {
		if _, err := e.Encode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := e.Decode([]int{0, 3}); err == nil || !strings.Contains(err.Error(), "id 3") {
		t.Errorf("id 3: %v", err)
	}
}

// tiktoken merges by the token that two neighbours make. "abc" is made of a and bc; where ab is
// merged first, BPE never makes it, and tiktoken does.
func TestWhereTiktokenDiffersFromBPEIsSaid(t *testing.T) {
	cases.NotShort(t)
	if err := gpt2Encoder(t).Exact(); err != nil {
		t.Errorf("GPT-2's merges: %v", err)
	}
	vocab := map[string]int{"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5}
	for want, merges := range map[string][][2]string{
		`"abc" encodes as ["ab" "c"]`: {{"a", "b"}, {"b", "c"}, {"a", "bc"}},
		`two make "abc"`:              {{"a", "b"}, {"b", "c"}, {"ab", "c"}, {"a", "bc"}},
	} {
		e, err := newEncoder(vocab, merges, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Exact(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestLongPieces: tiktoken-go would take hours for them.
func TestLongPieces(t *testing.T) {
	cases.NotShort(t)
	e, err := GPT2Encoder()
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{"a", "é", "1", "!", "\n", "\u3000"} {
		begin := strings.Repeat("some words, 10 of them. ", 1<<12) + "x 1 ?"
		_, err := e.Encode(begin + strings.Repeat(piece, 3<<20/len(piece)))
		if err == nil || !strings.Contains(err.Error(), "want at most 16384") {
			t.Errorf("%q: %v, want an error that says the bound", piece, err)
		}
	}
	text := strings.Repeat("no piece is long ", 1<<11)
	if ids, err := e.Encode(text); err != nil || len(ids) != 4<<11+1 {
		t.Errorf("%d bytes: %d ids, %v", len(text), len(ids), err)
	}
}

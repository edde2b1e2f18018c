// vocab.json with merges.txt, and what is common to both forms of files.

package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/internal/folder"
)

// same checks that tok has GPT-2's tokens and gives GPT-2's ids.
func same(t *testing.T, name string, tok *Tokenizer) {
	t.Helper()
	want := GPT2()
	if tok.tokens.text != want.tokens.text || tok.Size() != want.Size() {
		t.Errorf("%s: other tokens; %d ids, want %d", name, tok.Size(), want.Size())
	}
	if id, ok := tok.EndOfText(); id != 50256 || !ok {
		t.Errorf("%s: end of text %d, %t", name, id, ok)
	}
	for _, text := range append(corpus, broken...) {
		if got, ids := encode(t, tok, text), encode(t, want, text); !equal(got, ids) {
			t.Errorf("%s: %q: %v, want %v", name, text, got, ids)
		}
		if got, ids := encode(t, tok.WithSpecial(), text),
			encode(t, want.WithSpecial(), text); !equal(got, ids) {
			t.Errorf("%s: %q: special %v, want %v", name, text, got, ids)
		}
	}
}

// TestGPT2Files reads OpenAI's own files; TestGPT2FilesWritten is its twin, which needs none.
func TestGPT2Files(t *testing.T) {
	dir := "../../shared/data/gpt2"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no GPT-2 vocabulary here: ", err)
	}
	tok, err := Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	same(t, dir, tok)
}

func TestGPT2FilesWritten(t *testing.T) {
	cases.NotShort(t) // TestFilesOfGPT2 reads two of these
	vocab, merges := gpt2Files()
	lines := strings.Split(strings.TrimSpace(merges), "\n")
	pairs := make([][]string, len(lines))
	for i, line := range lines {
		pairs[i] = strings.Split(line, " ")
	}
	special := func(top, _ map[string]any) {
		top["added_tokens"] = []any{map[string]any{"id": 50256, "content": EndOfTextToken,
			"special": true, "normalized": true}}
	}
	for name, files := range map[string]map[string]string{
		"as Python writes them": {"vocab.json": ascii(toJSON(vocab)),
			"merges.txt": "#version: 0.2\n" + merges},
		"with CRLF, not escaped": {"vocab.json": toJSON(vocab),
			"merges.txt": strings.ReplaceAll(merges, "\n", "\r\n")},
		"tokenizer.json, merges as strings": {"tokenizer.json": tokenizerJSON(vocab, lines,
			special)},
		"tokenizer.json, merges as pairs, escaped": {"tokenizer.json": ascii(tokenizerJSON(vocab,
			pairs, special))},
		"tokenizer.json wins": {"tokenizer.json": tokenizerJSON(vocab, lines,
			special), "vocab.json": "{}", "merges.txt": "x"},
	} {
		tok, err := Load(os.DirFS(write(t, files)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, name, tok)
	}
}

// TestMergeOrderDecides gives ids in another order than the merges, and the merges in two orders.
func TestMergeOrderDecides(t *testing.T) {
	vocab := byteVocab(100)
	vocab["ab"], vocab["bc"], vocab["abc"] = 7, 5, 3
	a, c := vocab["a"], vocab["c"]
	for merges, want := range map[string][]int{
		"a b\nb c\n":        {7, c},
		"b c\na b\n":        {a, 5},
		"b c\na b\na bc":    {3},
		"a b\nb c\na bc":    {7, c}, // no merge of ab with c
		"a b\nb c\na b\n":   {a, 5}, // of a pair that comes twice, the last counts
		"#version: 1\na b ": nil,
	} {
		tok, err := Load(os.DirFS(write(t, map[string]string{"vocab.json": toJSON(vocab),
			"merges.txt": merges})))
		if want == nil {
			if err == nil {
				t.Errorf("%q: no error", merges)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", merges, err)
			continue
		}
		if got := encode(t, tok, "abc"); !equal(got, want) {
			t.Errorf("%q: %v, want %v", merges, got, want)
		}
	}
}

// TestRandomVocabularies compares with BPE on strings, for merges in any order, so that late ones
// make the parts of early ones.
func TestRandomVocabularies(t *testing.T) {
	cases.NotShort(t)
	random := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		tokens := []string{"a", "b", "c", "d"}
		taken := map[string]bool{}
		var merges [][2]string
		for range 40 {
			left, right := tokens[random.IntN(len(tokens))], tokens[random.IntN(len(tokens))]
			if both := left + right; len(both) < 12 && !taken[both] {
				taken[both] = true
				tokens = append(tokens, both)
				merges = append(merges, [2]string{left, right})
			}
		}
		random.Shuffle(len(merges), func(i, j int) { merges[i], merges[j] = merges[j], merges[i] })
		vocab := byteVocab(0)
		ids := random.Perm(len(tokens))
		for i, token := range tokens[4:] {
			vocab[token] = 256 + ids[i]
		}
		lines, ranks := "", map[[2]string]int{}
		for rank, m := range merges {
			lines += m[0] + " " + m[1] + "\n"
			ranks[m] = rank
		}
		tok, err := Load(os.DirFS(write(t, map[string]string{"vocab.json": toJSON(vocab),
			"merges.txt": lines})))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			piece := make([]byte, 1+random.IntN(100))
			for i := range piece {
				piece[i] = "abcd"[random.IntN(4)]
			}
			want := []int{}
			for _, part := range oracleBPE(strings.Split(string(piece), ""), ranks) {
				want = append(want, vocab[part])
			}
			if got := encode(t, tok, string(piece)); !equal(got, want) {
				t.Fatalf("%s: %q: %v, want %v", lines, piece, got, want)
			}
			if got := levelOf(tok).appendMerged(nil, string(piece)); !equal(got, want) {
				t.Fatalf("%s: %q merged: %v, want %v", lines, piece, got, want)
			}
			if got := levelOf(tok).appendLongPiece(nil, string(piece)); !equal(got, want) {
				t.Fatalf("%s: %q byte by byte: %v, want %v", lines, piece, got, want)
			}
		}
	}
}

func TestBytesWithoutAToken(t *testing.T) {
	tok, err := Load(os.DirFS(write(t, map[string]string{"vocab.json": `{"a": 0, "b": 1, "ab": 4}`,
		"merges.txt": "a b"})))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{"abb": {4, 1}, "abcb": {4, 1}, "acb": {4}, "cd": nil} {
		if got := encode(t, tok, text); !equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	encode(t, GPT2(), "any\x00\xff")
	for _, id := range []int{2, 3, 5} { // holes, and the end
		if _, err := tok.Text(id); err == nil ||
			!strings.HasSuffix(err.Error(), "is unknown: the vocabulary has 5 ids") {
			t.Errorf("%d: %v", id, err)
		}
	}
	if _, ok := tok.EndOfText(); ok || tok.Size() != 5 || !equal(tok.Gaps(), []int{2, 3}) {
		t.Errorf("end of text %t, size %d, gaps %v", ok, tok.Size(), tok.Gaps())
	}
	want := [][]byte{[]byte("a"), []byte("b"), nil, nil, []byte("ab")}
	if all, err := tok.Bytes(); err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("bytes %q, error %v", all, err)
	}
	if gaps := GPT2().Gaps(); gaps != nil {
		t.Errorf("GPT2: gaps %v", gaps)
	}
}

// TestFilesBesideVocab: added_tokens.json and tokenizer_config.json.
func TestFilesBesideVocab(t *testing.T) {
	tok, err := Load(os.DirFS(write(t, map[string]string{
		"vocab.json": toJSON(byteVocab(0)), "merges.txt": "",
		"added_tokens.json":     `{"<|pad|>": 300, "<é>": 256}`,
		"tokenizer_config.json": `{"add_prefix_space": true, "model_max_length": 1024}`,
	})))
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(t, tok, "<é>"); !equal(got, []int{' ', '<', 0xc3, 0xa9, '>'}) {
		t.Errorf("%v", got)
	}
	if got := encode(t, tok.WithSpecial(), " x<é><|pad|>y"); !equal(got,
		[]int{' ', 'x', 256, 300, ' ', 'y'}) {
		t.Errorf("%v", got)
	}
	if got := encode(t, tok, ""); len(got) > 0 {
		t.Errorf("empty: %v", got)
	}
	if text, err := tok.Decode([]int{256, 300}); text != "<é><|pad|>" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestNoFiles(t *testing.T) {
	dir := write(t, map[string]string{"model.safetensors": ""})
	if _, err := Load(os.DirFS(dir)); !errors.Is(err, ErrNone) || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), dir) {
		t.Errorf("%s: %v", dir, err)
	}
	if _, err := Load(os.DirFS(filepath.Join(dir, "nothing"))); !errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, ErrNone) {
		t.Errorf("no directory: %v", err)
	}
}

// TestBadFiles: each gives one line that names the file and what is wrong, and none looks like a
// directory without tokenizer files, which may be given another vocabulary.
func TestBadFiles(t *testing.T) {
	good := toJSON(byteVocab(0))
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no merges": {map[string]string{"vocab.json": good},
			"merges.txt: no such file, but vocab.json is there"},
		"no vocab": {map[string]string{"merges.txt": ""},
			"vocab.json: no such file, but merges.txt is there"},
		"empty vocab": {map[string]string{"vocab.json": "", "merges.txt": ""},
			`vocab.json: byte 0: not valid JSON: unexpected EOF`},
		"no tokens": {map[string]string{"vocab.json": "{}", "merges.txt": ""},
			`vocab.json: byte 2: no tokens`},
		"array": {map[string]string{"vocab.json": `["a"]`, "merges.txt": ""},
			`byte 0: want an object, found an array`},
		"truncated": {map[string]string{"vocab.json": good[:100], "merges.txt": ""},
			"vocab.json: byte 100: "},
		"open string": {map[string]string{"vocab.json": `{"a`, "merges.txt": ""},
			"byte 3: not valid JSON: unexpected EOF"},
		"open escape": {map[string]string{"vocab.json": `{"\`, "merges.txt": ""},
			"byte 2: not valid JSON: unexpected EOF"},
		"unknown escape": {map[string]string{"vocab.json": `{"\x": 1}`, "merges.txt": ""},
			"byte 2: not valid JSON: invalid escape sequence `\\x`"},
		"half a surrogate": {map[string]string{"vocab.json": `{"\ud83d": 1}`, "merges.txt": ""},
			`byte 2: \ud83d is a lone surrogate`},
		"short escape": {map[string]string{"vocab.json": `{"\u12": 1}`, "merges.txt": ""},
			"byte 2: not valid JSON: invalid escape sequence"},
		"control character": {map[string]string{"vocab.json": "{\"a\nb\": 1}", "merges.txt": ""},
			`byte 3: not valid JSON: invalid character '\n' in string`},
		"after it": {map[string]string{"vocab.json": `{"a": 1} x`, "merges.txt": ""},
			`byte 9: want the end, found "x"`},
		"no comma": {map[string]string{"vocab.json": `{"a": 1 "b": 2}`, "merges.txt": ""},
			`byte 8: not valid JSON: invalid character '"' after object value`},
		"negative id": {map[string]string{"vocab.json": `{"a": -1}`, "merges.txt": ""},
			`byte 6: want a whole number from 0 to 1048575, found "-1"`},
		"huge id": {map[string]string{"vocab.json": `{"a": 4294967296000}`,
			"merges.txt": ""}, `want a whole number from 0 to 1048575, found "4294967296000"`},
		"fraction": {map[string]string{"vocab.json": `{"a": 1.5}`, "merges.txt": ""},
			`found "1.5"`},
		"string id": {map[string]string{"vocab.json": `{"a": "1"}`, "merges.txt": ""},
			`byte 6: want a whole number, found "1"`},
		"token twice": {map[string]string{"vocab.json": `{"a": 1, "a": 2}`,
			"merges.txt": ""}, `token "a" comes twice, as 1 and 2`},
		"id twice": {map[string]string{"vocab.json": `{"a": 1, "b": 1}`,
			"merges.txt": ""}, `id 1 is given twice, to "a" and "b"`},
		"empty token": {map[string]string{"vocab.json": `{"": 1}`, "merges.txt": ""},
			`the token of id 1 is empty`},
		"not UTF-8": {map[string]string{"vocab.json": "{\"\xff\": 1}", "merges.txt": ""},
			`vocab.json: not valid UTF-8`},
		"one token": {map[string]string{"vocab.json": good,
			"merges.txt": "#version: 0.2\na"}, `merges.txt: line 2: "a", want two tokens`},
		"three tokens": {map[string]string{"vocab.json": good, "merges.txt": "\na b c"},
			`merges.txt: line 2: "a b c", want two tokens`},
		"left unknown": {map[string]string{"vocab.json": good, "merges.txt": "xx b"},
			`merges.txt: line 1: "xx" is not in vocab.json`},
		"right unknown": {map[string]string{"vocab.json": good, "merges.txt": "a xx"},
			`"xx" is not in vocab.json`},
		"both unknown": {map[string]string{"vocab.json": good, "merges.txt": "a b"},
			`"ab", which "a" and "b" make, is not in vocab.json`},
		"long line": {map[string]string{"vocab.json": good,
			"merges.txt": strings.Repeat("x", 1<<20)}, `xxx"…, want two tokens`},
		"added id taken": {map[string]string{"vocab.json": good, "merges.txt": "",
			"added_tokens.json": `{"<x>": 5}`}, `added_tokens.json: byte 9: id 5 is given twice`},
		"added text twice": {map[string]string{"vocab.json": good, "merges.txt": "",
			"added_tokens.json": `{"<x>": 256, "<x>": 257}`},
			`added_tokens.json: byte 18: "<x>" comes twice`},
		"added empty": {map[string]string{"vocab.json": good, "merges.txt": "",
			"added_tokens.json": `{"": 256}`}, `added token 256 is empty`},
		"added too long": {map[string]string{"vocab.json": good, "merges.txt": "",
			"added_tokens.json": `{"` + strings.Repeat("x", 1025) + `": 256}`},
			`added token 256 has 1025 bytes, want at most 1024`},
		"added not JSON": {map[string]string{"vocab.json": good, "merges.txt": "",
			"added_tokens.json": `[]`}, `added_tokens.json: byte 0: want an object, found an array`},
		"config not JSON": {map[string]string{"vocab.json": good, "merges.txt": "",
			"tokenizer_config.json": `{`}, `tokenizer_config.json: byte 1: not valid JSON: unexpected EOF`},
		"config: key twice": {map[string]string{"vocab.json": good, "merges.txt": "",
			"tokenizer_config.json": `{"x": 1, "x": 2}`}, `"x" comes twice`},
		"config: not a bool": {map[string]string{"vocab.json": good, "merges.txt": "",
			"tokenizer_config.json": `{"add_prefix_space": 1}`},
			`tokenizer_config.json: add_prefix_space: byte 21: want true or false, found 1`},
	} {
		checkBad(t, name, write(t, test.files), test.want)
	}
}

// checkBad loads dir and checks the error.
func checkBad(t *testing.T, name, dir, want string) {
	t.Helper()
	_, err := Load(os.DirFS(dir))
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%s: %v, want …%s…", name, err, want)
		return
	}
	if strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > len(dir)+400 ||
		errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: not one line of a known fault: %q", name, err)
	}
}

// TestFilesThatAreNone: a directory and a huge sparse file in the place of a file.
func TestFilesThatAreNone(t *testing.T) {
	for _, name := range []string{"tokenizer.json", "vocab.json", "merges.txt"} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		checkBad(t, name, dir, name+": a directory, want a regular file")
	}
	dir := write(t, map[string]string{"tokenizer.json": "{"})
	if err := os.Truncate(filepath.Join(dir, "tokenizer.json"), 1<<32); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	checkBad(t, "4 GiB", dir, "tokenizer.json: more than 33554432 bytes")
}

func FuzzVocabMerges(f *testing.F) {
	f.Add(`{"a": 0, "b": 1, "ab": 2}`, "#version: 0.2\na b\n", `{"<|endoftext|>": 3}`)
	f.Add(`{"\u0120": 0, "\ud83d\ude00": 5}`, "", "")
	f.Fuzz(func(t *testing.T, vocab, merges, added string) {
		tok, err := Load(folder.Memory{
			"vocab.json": []byte(vocab), "merges.txt": []byte(merges),
			"added_tokens.json": []byte(added),
		})
		usable(t, tok, err, vocab+merges+added)
	})
}

// usable checks that what was loaded works, or the error is one line.
func usable(t *testing.T, tok *Tokenizer, err error, text string) {
	if err != nil {
		if strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 1000 {
			t.Fatalf("%q", err)
		}
		return
	}
	for id := range tok.Size() {
		tok.Text(id)
	}
	for _, tok := range []*Tokenizer{tok, tok.WithSpecial()} {
		if ids, err := tok.Encode(text); err == nil && tok.level != nil &&
			!tok.level.prefixSpace {
			if missing, _ := tok.Missing(); len(missing) == 0 {
				roundTrip(t, tok, text, ids)
			} else if got, err := tok.Decode(ids); err != nil ||
				keptBytes(tok, got) != keptBytes(tok, text) {
				t.Fatalf("%q: %v decodes to %q, %v", text, ids, got, err)
			}
		}
	}
}

// TestAddedTokenOfALetterThatSpellsAByte: it is found as it is written, has the id that the
// vocabulary gives the letter, whatever id the file says, and decodes to the byte, as in Hugging
// Face's library (which writes the byte as U+FFFD).
func TestAddedTokenOfALetterThatSpellsAByte(t *testing.T) {
	toks := map[string]*Tokenizer{}
	for _, id := range []int{228, 256, 300} {
		for _, normalized := range []bool{false, true} {
			tok, err := loadJSON(t, func(top, model object) {
				top["added_tokens"] = []object{{"id": id, "content": "ä", "normalized": normalized}}
				model["vocab"], model["merges"] = byteVocab(0), []string{}
			})
			if err != nil {
				t.Fatal(err)
			}
			toks[fmt.Sprint("tokenizer.json ", id, normalized)] = tok
		}
		tok, err := Load(os.DirFS(write(t, map[string]string{"vocab.json": toJSON(byteVocab(0)), "merges.txt": "",
			"added_tokens.json": toJSON(object{"ä": id})})))
		if err != nil {
			t.Fatal(err)
		}
		toks[fmt.Sprint("added_tokens.json ", id)] = tok.WithSpecial()
	}
	for name, tok := range toks {
		for text, want := range map[string][]int{"ä": {228}, "aäb": {97, 228, 98}, "äü": {228, 195, 188},
			"ń": {197, 132}, "ä日": {228, 230, 151, 165}} {
			ids := encode(t, tok, text)
			back, err := tok.Decode(ids)
			if !equal(ids, want) || err != nil || back != strings.ReplaceAll(text, "ä", "\xe4") {
				t.Errorf("%s: %q: %v, %q, %v; want %v", name, text, ids, back, err, want)
			}
		}
		if _, ok := tok.Parts(); ok {
			t.Errorf("%s: GGUF cannot say it", name)
		}
	}
}

// Vocabularies that other files hold, and files that are written and read again.

package tokenizer

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestParts takes vocabularies apart, puts them together again and compares ids and tokens.
func TestParts(t *testing.T) {
	parts, ok := GPT2().Parts()
	if !ok || len(parts.Tokens) != 50257 || len(parts.Merges) != 50000 ||
		parts.Tokens[262] != "Ġthe" || parts.Merges[0] != "Ġ t" || parts.Kinds[50256] != Control {
		t.Fatalf("GPT-2: %t, %d tokens, %d merges", ok, len(parts.Tokens), len(parts.Merges))
	}
	tok, err := FromParts(parts)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "from parts", tok)

	parts = Parts{Tokens: []string{"a", "b", "ab", "[PAD3]", "<é>", "<x>", "[PAD6]"},
		Kinds: []Kind{1, 1, 6, 5, 3, 4, 5}, Merges: []string{"a b"}}
	if tok, err = FromParts(parts); err != nil {
		t.Fatal(err)
	}
	if got := encode(t, tok.WithSpecial(), "ab<é>b<x>"); !equal(got, []int{2, 4, 1, 5}) {
		t.Errorf("%v", got)
	}
	if got := encode(t, tok, "a<x>"); !equal(got, []int{0, 5}) || !equal(tok.Gaps(), []int{3, 6}) ||
		!equal(tok.Special(), []int{4}) {
		t.Errorf("%v, gaps %v, special %v", got, tok.Gaps(), tok.Special())
	}
	parts.Kinds[2] = Normal
	if got, ok := tok.Parts(); !ok || !slices.Equal(got.Tokens, parts.Tokens) ||
		!slices.Equal(got.Kinds, parts.Kinds) || !slices.Equal(got.Merges, parts.Merges) {
		t.Errorf("%t, %+v", ok, got)
	}
}

func TestBadParts(t *testing.T) {
	many := make([]string, maxIDs+1)
	for want, p := range map[string]Parts{
		"tokens: none, want at least one":       {},
		"tokens: 1048577, want at most 1048576": {Tokens: many},
		"token types: 1, want one for each of 2 tokens": {
			Tokens: []string{"a", "b"}, Kinds: []Kind{1}},
		`tokens: token "a" comes twice, as 0 and 1`:     {Tokens: []string{"a", "a"}},
		"tokens: the token of id 1 is empty":            {Tokens: []string{"a", ""}},
		`the token of id 0, "\xff", is not valid UTF-8`: {Tokens: []string{"\xff"}},
		"token types: 7 for id 0, want 1 to 6": {
			Tokens: []string{"a"}, Kinds: []Kind{7}},
		`merges[0]: "a", want two tokens with a space between`: {
			Tokens: []string{"a"}, Merges: []string{"a"}},
		`merges[0]: "b" is not in the tokens`: {
			Tokens: []string{"a"}, Merges: []string{"a b"}},
		`merges[0]: "aa", which "a" and "a" make, is not in the`: {
			Tokens: []string{"a"}, Merges: []string{"a a"}},
		"tokens: added token 1 is empty": {
			Tokens: []string{"a", ""}, Kinds: []Kind{1, 3}},
		`tokens: added token "<x>" comes twice`: {
			Tokens: []string{"<x>", "<x>"}, Kinds: []Kind{3, 4}},
	} {
		if _, err := FromParts(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want …%s…", err, want)
		}
	}
}

func TestFromBytes(t *testing.T) {
	list, err := GPT2().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	list[50256] = []byte(EndOfTextToken)
	if tok, err := FromBytes(list, 50256); tok != GPT2() || err != nil {
		t.Errorf("GPT-2's own: %v", err)
	}
	list[1] = []byte("other")
	tok, err := FromBytes(list, 50256)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := tok.Decode([]int{15496, 1, 995, 50256}); err != nil ||
		text != "Helloother world<|endoftext|>" {
		t.Errorf("%q, %v", text, err)
	}
	if id, ok := tok.EndOfText(); id != 50256 || !ok {
		t.Errorf("end of text %d, %t", id, ok)
	}
	if _, err := tok.Encode("a"); err == nil ||
		!strings.Contains(err.Error(), "it turns ids into text only") {
		t.Error(err)
	}
	e := tok.NewEncoder(1)
	e.Write([]byte("a"))
	if _, _, err := e.End(); err == nil {
		t.Error("Encoder: no error")
	}
	tok, err = FromBytes([][]byte{[]byte("a"), nil, []byte("b")}, -1)
	if err != nil || !equal(tok.Gaps(), []int{1}) {
		t.Errorf("gaps: %v", err)
	}
	for want, f := range map[string]func() (*Tokenizer, error){
		"tokens: none":       func() (*Tokenizer, error) { return FromBytes(nil, -1) },
		"end-of-text id 3: ": func() (*Tokenizer, error) { return FromBytes(make([][]byte, 3), 3) },
		"end-of-text id -2":  func() (*Tokenizer, error) { return FromBytes(make([][]byte, 3), -2) },
		"tokens: 1048577, w": func() (*Tokenizer, error) {
			return FromBytes(make([][]byte, maxIDs+1), 0)
		},
		"tokens: more than ": func() (*Tokenizer, error) {
			return FromBytes([][]byte{make([]byte, maxFileSize+1)}, -1)
		},
	} {
		if _, err := f(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s…", err, want)
		}
	}
}

func TestCharacters(t *testing.T) {
	tok, err := Characters(map[string]int{"a": 2, "\n": 0, "é": 4, "𝄞": 3})
	if err != nil {
		t.Fatal(err)
	}
	const text = "aé\n𝄞a"
	ids, spans, err := tok.EncodeSpans(text)
	if err != nil || !equal(ids, []int{2, 4, 0, 3, 2}) ||
		!slices.Equal(spans, []Span{{0, 1}, {1, 3}, {3, 4}, {4, 8}, {8, 9}}) {
		t.Errorf("%v, %v, %v", ids, spans, err)
	}
	roundTrip(t, tok, text, ids)
	e := tok.NewEncoder(10)
	for i := range len(text) {
		e.Write([]byte(text[i : i+1]))
	}
	if got, total, err := e.End(); !equal(got, ids) || total != 5 || err != nil {
		t.Errorf("in parts: %v, %d, %v", got, total, err)
	}
	if _, err := tok.Encode("aéx"); err == nil ||
		err.Error() != `byte 3 of the text, "x": the vocabulary has no token for it` {
		t.Error(err)
	}
	if _, ok := tok.EndOfText(); ok || tok.Size() != 5 || !equal(tok.Gaps(), []int{1}) {
		t.Errorf("size %d, gaps %v", tok.Size(), tok.Gaps())
	}
	longer, err := Characters(map[string]int{"a": 0, "b": 1, "<UNK>": 2, "ab": 3, "abba": 4})
	if err != nil {
		t.Fatal(err)
	}
	ids, err = longer.Encode("a<UNK>abbaabb")
	if err != nil || !equal(ids, []int{0, 2, 4, 3, 1}) {
		t.Errorf("longer entries: %v, %v", ids, err)
	}
	roundTrip(t, longer, "a<UNK>abbaabb", ids)
	for want, stoi := range map[string]map[string]int{
		"stoi: no characters":                       {},
		`stoi: "", want one character or more`:      {"": 1},
		`stoi: "\xff", want one character or more`:  {"\xff": 1},
		`stoi: "a" has id -1, want 0 to`:            {"a": -1},
		`stoi: "a" has id 1048576, want`:            {"a": 1 << 20},
		`stoi: id 1 is given twice, to "a" and "b"`: {"a": 1, "b": 1},
	} {
		if _, err := Characters(stoi); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s…", err, want)
		}
	}
}

func TestFilesOfGPT2(t *testing.T) {
	files, err := GPT2().Files()
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for name, b := range files {
		text[name] = string(b)
	}
	pair := map[string]string{"vocab.json": text["vocab.json"], "merges.txt": text["merges.txt"]}
	one := map[string]string{"tokenizer.json": text["tokenizer.json"]}
	for name, files := range map[string]map[string]string{"pair": pair, "one": one} {
		tok, err := Load(os.DirFS(write(t, files)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, name, tok)
	}
}

// TestFilesOfOthers: a rule that the files would lose is an error.
func TestFilesOfOthers(t *testing.T) {
	tok, err := loadJSON(t, func(top, _ object) {
		top["pre_tokenizer"] = object{"type": "ByteLevel", "add_prefix_space": true}
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = tok.Files()
	if _, ok := tok.Parts(); ok || err == nil || !strings.Contains(err.Error(), "copy the files") {
		t.Errorf("parts %t, %v", ok, err)
	}
	list, err := FromBytes([][]byte{[]byte("a")}, -1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list.Files(); err == nil {
		t.Error("no error")
	}
}

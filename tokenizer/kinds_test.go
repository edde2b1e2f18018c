// Every kind of vocabulary against what Hugging Face's own library gives: testdata/kinds.

package tokenizer

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A kindCase is a line of cases.jsonl: a text, its ids, and the text of the ids without special
// tokens. Kept is with them, where there are some; SPM is sentencepiece's own ids, if others.
type kindCase struct {
	Kind    string
	Text    string
	IDs     []int
	Decoded string
	Kept    *string
	SPM     []int
}

// kindCases returns all cases of testdata/kinds.
func kindCases(t testing.TB) []kindCase { return casesOf(t, "testdata/kinds/cases.jsonl") }

// casesOf returns the cases of a file.
func casesOf(t testing.TB, path string) (cases []kindCase) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c kindCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// kinds loads the vocabularies.
func kinds(t testing.TB) map[string]*Tokenizer {
	t.Helper()
	dirs, err := filepath.Glob("testdata/kinds/*/tokenizer.json")
	if err != nil || len(dirs) != 13 {
		t.Fatal(len(dirs), err)
	}
	toks := map[string]*Tokenizer{}
	for _, path := range dirs {
		tok, err := Load(os.DirFS(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		toks[filepath.Base(filepath.Dir(path))] = tok
	}
	return toks
}

func TestKinds(t *testing.T) {
	toks := kinds(t)
	cases := kindCases(t)
	if len(cases) != 793 {
		t.Errorf("%d cases", len(cases))
	}
	for _, c := range cases {
		tok := toks[c.Kind].WithSpecial()
		ids, spans, err := tok.EncodeSpans(c.Text)
		if err != nil || !equal(ids, c.IDs) {
			t.Errorf("%s: %q: %v, %v; want %v", c.Kind, c.Text, ids, err, c.IDs)
			continue
		}
		plain, err := tok.Encode(c.Text)
		if !equal(plain, ids) || err != nil || len(spans) != len(ids) {
			t.Errorf("%s: %q: without spans %v, %v", c.Kind, c.Text, plain, err)
		}
		checkSpans(t, c.Text, spans)
		kept := c.Decoded
		if c.Kept != nil {
			kept = *c.Kept
		}
		if text, err := tok.Decode(ids); text != kept || err != nil {
			t.Errorf("%s: %v: %q, %v; want %q", c.Kind, ids, text, err, kept)
		}
		ordinary := slices.DeleteFunc(slices.Clone(ids), func(id int) bool {
			return slices.Contains(tok.Special(), id)
		})
		if text, err := tok.Decode(ordinary); text != c.Decoded || err != nil {
			t.Errorf("%s: %v: %q, %v; want %q", c.Kind, ordinary, text, err, c.Decoded)
		}
	}
}

// checkSpans checks that spans are in the text, and in its order.
func checkSpans(t *testing.T, text string, spans []Span) {
	t.Helper()
	last := Span{}
	for _, s := range spans {
		if s.Start < last.Start || s.End < s.Start || s.End > len(text) {
			t.Errorf("%q: span %v after %v", text, s, last)
		}
		last = s
	}
}

// TestOfEqualWaysUnigramTakesTheFirst, the one whose last piece is the longest, as Hugging Face's
// library does.
func TestOfEqualWaysUnigramTakesTheFirst(t *testing.T) {
	tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(object{"model": object{
		"type": "Unigram", "unk_id": 0,
		"vocab": [][]any{{"<unk>", 0.0}, {"a", -1.0}, {"b", -1.0}, {"c", -1.0}, {"ab", -2.0}, {"bc", -2.0}},
	}})})))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{"ab": {4}, "abc": {1, 5}, "ba": {2, 1}} {
		if got := encode(t, tok, text); !equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

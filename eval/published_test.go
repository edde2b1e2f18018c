package eval_test

// Texts that the repository does not hold: WikiText-2's raw test, wikitext-2-raw.test.txt, in the
// folder GPT2_DATA, or in ../shared/data beside the repository. What others have published of them,
// package check measures.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"picogpt/eval"
	"picogpt/tokenizer"
)

// published is a text that the repository does not hold.
func published(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("GPT2_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no ", name, " in ", dir, "; set GPT2_DATA to the folder that holds it")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestWikiTextReadersAgreeWithPython is the twin that needs no file.
func TestWikiTextHasItsPublishedNumberOfTokens(t *testing.T) {
	text := published(t, "wikitext-2-raw.test.txt")
	tok := tokenizer.GPT2()
	if n := len(must(eval.NewWikiText(eval.HF, tok, text)).Documents[0].Tokens); n != 287644 {
		t.Errorf("%d tokens by the lines of the datasets library, want 287644", n)
	}
	if n := len(must(eval.NewWikiText(eval.LlamaCpp, tok, text)).Documents[0].Tokens); n != 286221 {
		t.Errorf("%d tokens in the file, want 286221", n)
	}
	if n := len(must(eval.NewWikiText(eval.LMEval, tok, text)).Documents); n != 62 {
		t.Errorf("%d pages, want 62", n)
	}
}

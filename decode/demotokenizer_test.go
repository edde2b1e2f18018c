package decode

import (
	"testing"

	"picogpt/checkpoint"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

func demoTokenizer(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	ck, err := checkpoint.OpenFS(demo.FS())
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	tok, err := ck.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

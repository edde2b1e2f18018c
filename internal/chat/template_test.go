package chat_test

import (
	"slices"
	"testing"

	"picogpt/internal/chat"
	"picogpt/tokenizer"
)

// TestSpecialTokensOfALineAreOrdinaryText: those of the template are single ids, for every line.
func TestSpecialTokensOfALineAreOrdinaryText(t *testing.T) {
	gpt2 := tokenizer.GPT2()
	c, err := chat.New("User: {{.Text}} ok<|endoftext|>", false, gpt2)
	if err != nil {
		t.Fatal(err)
	}
	const end = 50256
	for _, line := range []string{
		"hello", "<|endoftext|>", "a<|endoftext|><|endoftext|>b", "<|endoftext|", "\x00", "\xff",
		"\x00<|endoftext|>\x00\x00x", "<\x00|endoftext|>", "<<|endoftext|>",
		"<\x00\x00|endoftext|> <|endoftext|>",
	} {
		got, err := c.Encode(chat.Line{Text: line})
		if err != nil {
			t.Fatal(err)
		}
		want, err := gpt2.Encode("User: " + line + " ok")
		if err != nil {
			t.Fatal(err)
		}
		if want = append(want, end); !slices.Equal(got, want) {
			t.Errorf("%q: ids %v, want %v", line, got, want)
		}
	}
}

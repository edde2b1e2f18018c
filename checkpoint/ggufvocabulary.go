package checkpoint

// The tokenizer in a GGUF file.

import (
	"fmt"

	"picogpt/internal/gguf"
	"picogpt/internal/quote"
	"picogpt/tokenizer"
)

// ggufVocabulary returns the tokenizer that is in a file.
func ggufVocabulary(f *gguf.File, rows int) (*tokenizer.Tokenizer, error) {
	for _, want := range []struct{ key, value string }{{"model", "gpt2"}, {"pre", "gpt-2"}} {
		s, ok, err := f.Text(ggufTokenizer + want.key)
		if err != nil {
			return nil, err
		}
		// Files from before May 2024 have no "pre".
		if s != want.value && (ok || want.key == "model") {
			return nil, fmt.Errorf("%s%s: %s, want %q", ggufTokenizer, want.key, quote.Short(s, 40),
				want.value)
		}
	}
	var p tokenizer.Parts
	var err error
	if p.Tokens, err = f.Texts(ggufTokenizer + "tokens"); err != nil {
		return nil, err
	}
	if n := len(p.Tokens); n > rows {
		return nil, fmt.Errorf("%stokens: %d, want %d, one for each row of token_embd.weight",
			ggufTokenizer, n, rows)
	}
	if p.Merges, err = f.Texts(ggufTokenizer + "merges"); err != nil {
		return nil, err
	}
	kinds, err := f.Uints(ggufTokenizer + "token_type")
	if err != nil {
		return nil, err
	}
	for i, k := range kinds {
		kind := tokenizer.Kind(k)
		// Converters of 2023 called the fillers user's tokens.
		if i < len(p.Tokens) && kind == tokenizer.User && p.Tokens[i] == fmt.Sprintf("[PAD%d]", i) {
			kind = tokenizer.Unused
		}
		p.Kinds = append(p.Kinds, kind)
	}
	t, err := tokenizer.FromParts(p)
	if err != nil {
		return nil, fmt.Errorf("%s%w", ggufTokenizer, err)
	}
	return t, nil
}

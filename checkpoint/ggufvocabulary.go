package checkpoint

// The tokenizer in a GGUF file.

import (
	"fmt"
	"slices"

	"picogpt/internal/gguf"
	"picogpt/internal/quote"
	"picogpt/tokenizer"
)

// filler returns the text of a row of the embedding that has no token.
func filler(id int) string { return fmt.Sprintf("[PAD%d]", id) }

// ggufWithoutTokens reports whether a file says that it has no tokenizer, or has only fillers, as
// Convert writes them.
func ggufWithoutTokens(f *gguf.File) bool {
	if s, _, err := f.Text(ggufTokenizer + "model"); err == nil && (s == "no_vocab" || s == "none") {
		return true
	}
	kinds, err := f.Uints(ggufTokenizer + "token_type")
	return err == nil && len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind int) bool {
		return tokenizer.Kind(kind) != tokenizer.Unused
	})
}

// ggufVocabulary returns the tokenizer in a file. One that has only fillers counts as absent.
func ggufVocabulary(f *gguf.File, rows int) (*tokenizer.Tokenizer, error) {
	if s, _, err := f.Text(ggufTokenizer + "model"); err == nil && (s == "no_vocab" || s == "none") {
		return nil, fmt.Errorf("%smodel: %s: %w", ggufTokenizer, s, ErrNoTokenizer)
	}
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
	tokens := len(p.Tokens)
	for i, k := range kinds {
		kind := tokenizer.Kind(k)
		// Converters of 2023 wrote the fillers as user-defined tokens.
		if i < len(p.Tokens) && kind == tokenizer.User && p.Tokens[i] == filler(i) {
			kind = tokenizer.Unused
		}
		if kind == tokenizer.Unused {
			tokens--
		}
		p.Kinds = append(p.Kinds, kind)
	}
	if tokens == 0 && len(kinds) > 0 {
		return nil, fmt.Errorf("%stokens: only fillers: %w", ggufTokenizer, ErrNoTokenizer)
	}
	t, err := tokenizer.FromParts(p)
	if err != nil {
		return nil, fmt.Errorf("%s%w", ggufTokenizer, err)
	}
	return t, nil
}

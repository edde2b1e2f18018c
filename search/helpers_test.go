package search

// Helpers of the tests of searches.

import (
	"iter"
	"testing"

	"picogpt/checkpoint"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/dev/texts"
	"picogpt/dev/toys"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// tiny returns a random model with a context of 23 and 29 ids.
func tiny(t *testing.T, o fixture.Options) *model.Model {
	t.Helper()
	config, file := fixture.Checkpoint(o)
	return testmodel.New(t, config, file, model.Options{Threads: 1})
}

func demoTokenizer(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	ck, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
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

// collect returns the tokens of a loop that ends without an error.
func collect(t *testing.T, loop iter.Seq2[decode.Token, error]) (tokens []decode.Token) {
	t.Helper()
	for tok, err := range loop {
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, tok)
	}
	return tokens
}

var ids = texts.IDs

type letters = toys.Letters

// form returns a form over the bytes of GPT-2's tokens.
func form(
	t *testing.T, compile func(*constrain.Vocabulary) (*constrain.Constraint, error),
) constrain.Matcher {
	t.Helper()
	tokens, err := tokenizer.GPT2().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	v, err := constrain.NewVocabulary(tokens, constrain.VocabularyOptions{Ends: []int{50256}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := compile(v)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func regex(t *testing.T, re string) constrain.Matcher {
	t.Helper()
	return form(t, func(v *constrain.Vocabulary) (*constrain.Constraint, error) {
		return constrain.Regex(v, re)
	})
}

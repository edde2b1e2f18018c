package search

// What the tests of searches have in common.

import (
	"fmt"
	"iter"
	"testing"

	"picogpt/checkpoint"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/internal/testing/fixture"
	"picogpt/internal/testing/testmodel"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// tiny is a random model with a context of 23 and 29 ids.
func tiny(t *testing.T, o fixture.Options) *model.Model {
	t.Helper()
	config, file := fixture.Checkpoint(o)
	return testmodel.New(t, config, file, model.Options{Threads: 1})
}

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

// collect returns the tokens of a loop that ends well.
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

func ids(tokens []decode.Token) (ids []int) {
	for _, t := range tokens {
		ids = append(ids, t.ID)
	}
	return ids
}

// letters is a vocabulary of so many ids: 0 is "a", 1 is "b" and so on.
type letters int

func (l letters) Size() int { return int(l) }

func (l letters) NewDecoder([]int) tokenizer.Decoder { return l }

func (l letters) Push(id int) (string, error) {
	if id < 0 || id >= int(l) {
		return "", fmt.Errorf("id %d: want 0 to %d", id, int(l)-1)
	}
	return string(rune('a' + id)), nil
}

func (letters) Flush() string { return "" }

func (l letters) Fork() tokenizer.Decoder { return l }

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

package schema

// What the tests of this package share.

import (
	"context"
	"sync"
	"testing"

	"picogpt/constrain/internal/meter"
	"picogpt/constrain/internal/trie"
	"picogpt/dev/walks"
)

// gpt2 is GPT-2's vocabulary, for all tests.
var gpt2 = sync.OnceValue(func() *Vocabulary {
	ids, err := trie.New(walks.Tokens(), []int{walks.EndOfText}, nil)
	if err != nil {
		panic(err)
	}
	return &Vocabulary{Trie: ids}
})

func newForm(schema string, o Options) (*Form, []string, error) {
	return Compile(gpt2(), []byte(schema), o, meter.New(context.Background(), nil, nil, len(schema)))
}

func compile(t *testing.T, schema string, o Options) *Form {
	t.Helper()
	f, _, err := newForm(schema, o)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return f
}

// accepts reports whether a text of JSON has the form.
func accepts(f *Form, text string) bool {
	t := walks.Of(f)
	return walks.Feed(t, text) && t.Complete()
}

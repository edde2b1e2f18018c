package constrain

// Masks that others found by brute force over GPT-2's vocabulary.

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"picogpt/internal/testing/fixture"
	"picogpt/tokenizer"
)

const endOfText = 50256

// gpt2 returns GPT-2's vocabulary, arranged once for all tests.
var gpt2 = sync.OnceValue(func() *Vocabulary {
	t := tokenizer.GPT2()
	tokens := make([][]byte, t.Size())
	for id := range tokens {
		text, err := t.Text(id)
		if err != nil {
			panic(err)
		}
		tokens[id] = []byte(text)
	}
	v, err := NewVocabulary(tokens, VocabularyOptions{Ends: []int{endOfText}})
	if err != nil {
		panic(err)
	}
	return v
})

// opened returns the ids of a mask, ascending.
func opened(mask []uint64) (ids []int) {
	for id := range 64 * len(mask) {
		if mask[id>>6]>>(id&63)&1 != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// feed takes bytes into a text, one id for each.
func feed(t *testing.T, text Matcher, v *Vocabulary, bytes []byte) {
	t.Helper()
	for i, b := range bytes {
		id := int(v.ids.Nodes[v.ids.Child(0, b)].ID)
		if err := text.Accept(id); err != nil {
			t.Fatalf("byte %d of %q: %v", i, bytes, err)
		}
	}
}

func TestMasksAreThoseOfBruteForce(t *testing.T) {
	var cases []struct {
		Regex  string
		Schema json.RawMessage
		Prefix []int
		Count  int
		Sha256 string
		First  []int
		Ids    []int
		EOS    bool
	}
	if err := fixture.Decoding("masks", &cases); err != nil || len(cases) != 53 {
		t.Fatalf("%d cases, want 53: %v", len(cases), err)
	}
	for i, c := range cases {
		var constraint *Constraint
		var err error
		if c.Schema != nil {
			constraint, err = JSONSchema(gpt2(), c.Schema, SchemaOptions{Space: NoSpace})
		} else {
			constraint, err = Regex(gpt2(), c.Regex)
		}
		if err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		text, err := constraint.Start()
		if err != nil {
			t.Fatal(err)
		}
		prefix := make([]byte, len(c.Prefix))
		for i, b := range c.Prefix {
			prefix[i] = byte(b)
		}
		feed(t, text, gpt2(), prefix)
		mask := make([]uint64, gpt2().Words())
		if err := text.Mask(mask); err != nil {
			t.Fatal(err)
		}
		ids := opened(mask)
		eos := len(ids) > 0 && ids[len(ids)-1] == endOfText
		if eos {
			ids = ids[:len(ids)-1]
		}
		list := make([]string, len(ids))
		for i, id := range ids {
			list[i] = strconv.Itoa(id)
		}
		sum := sha256.Sum256([]byte(strings.Join(list, ",")))
		if got := fmt.Sprintf("%x", sum[:8]); got != c.Sha256 || eos != c.EOS {
			t.Errorf("case %d: %s %s after %q: %d ids (%s), end %v; want %d (%s), end %v", i,
				c.Regex, c.Schema, prefix, len(ids), got, eos, c.Count, c.Sha256, c.EOS)
		}
	}
}

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

	"picogpt/dev/fixture"
	"picogpt/dev/walks"
)

const endOfText = walks.EndOfText

// gpt2 returns GPT-2's vocabulary, arranged once for all tests.
var gpt2 = sync.OnceValue(func() *Vocabulary {
	v, err := NewVocabulary(walks.Tokens(), VocabularyOptions{Ends: []int{endOfText}})
	if err != nil {
		panic(err)
	}
	return v
})

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
		if !walks.Feed(text, string(prefix)) {
			t.Fatalf("case %d: %q is refused", i, prefix)
		}
		mask := make([]uint64, gpt2().Words())
		if err := text.Mask(mask); err != nil {
			t.Fatal(err)
		}
		ids := walks.Opened(mask)
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

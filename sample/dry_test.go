package sample

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/tokenizer"
)

// plainBreakers is the definition: it checks each id and each prefix of a string.
func plainBreakers(t *testing.T, v Speller, text string) (all [][]int) {
	t.Helper()
	for id := range v.Size() {
		word, err := v.Text(id)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(word, text) {
			all = append(all, []int{id})
			continue
		}
		for n := 1; n < len(text); n++ {
			if strings.HasSuffix(word, text[:n]) {
				rest, err := v.Encode(text[n:])
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, append([]int{id}, rest[:min(20, len(rest))]...))
			}
		}
	}
	return all
}

// dryTexts are breakers of every kind.
func dryTexts() []string {
	return append(UsualBreakers(), "\n\n", "Lily:", "é", "aaaaaaaa", " the the the the the the the the the",
		"\xa9\xc3", strings.Repeat("0 1", 13))
}

func TestDRYStringsBeginWhereTheDefinitionSays(t *testing.T) {
	cases.NotShort(t)
	v := tokenizer.GPT2()
	for _, text := range dryTexts() {
		got, err := DRYBreakers(v, text)
		if err != nil {
			t.Fatal(err)
		}
		if want := plainBreakers(t, v, text); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%q: %d sequences, want %d", text, len(got), len(want))
		}
	}
}

// TestDRYStringsAreTheirSequences chooses with strings and with their sequences from DRYBreakers.
func TestDRYStringsAreTheirSequences(t *testing.T) {
	cases.NotShort(t)
	v, r := tokenizer.GPT2(), rand.New(rand.NewPCG(22, 5))
	all := dryTexts()
	ids, err := v.Encode("Lily: \"the the\n\n the the\" é Lily:aaaaaaaaa\nLil* the the the the the the the the the")
	if err != nil {
		t.Fatal(err)
	}
	logits := make([]float32, v.Size())
	changed := 0
	for i := range 15 {
		texts := []string{all[i%len(all)], all[r.IntN(len(all))]}
		d, err := NewDRYStrings(t.Context(), v, texts)
		if err != nil {
			t.Fatal(err)
		}
		o := Params{DRY: DRY{Multiplier: 1, Base: 1.5, AllowedLength: r.IntN(2)}}
		plain, strings, sequences := sampler(t, o), o, o
		strings.DRYStrings = d
		for _, text := range texts {
			more, err := DRYBreakers(v, text)
			if err != nil {
				t.Fatal(err)
			}
			sequences.DRY.Breakers = append(sequences.DRY.Breakers, more...)
		}
		s, q := sampler(t, strings), sampler(t, sequences)
		for range 10 {
			var context []int
			for range 60 { // pieces of a text, so that much is repeated
				at := r.IntN(len(ids))
				context = append(context, ids[at:min(len(ids), at+r.IntN(6))]...)
			}
			for _, one := range []*Sampler{plain, s, q} {
				if err := one.score(Row{Logits: logits}, context); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(s.scores, q.scores) {
				t.Fatalf("%q after %v: other scores than with sequences", texts, context)
			}
			if !slices.Equal(s.scores, plain.scores) {
				changed++
			}
		}
	}
	if changed < 30 {
		t.Errorf("breakers changed the scores %d times, want more", changed)
	}
}

// A countingSpeller counts its calls.
type countingSpeller struct {
	Speller
	texts, encoded int
}

func (c *countingSpeller) Text(id int) (string, error) {
	c.texts++
	return c.Speller.Text(id)
}

func (c *countingSpeller) Encode(text string) ([]int, error) {
	c.encoded++
	return c.Speller.Encode(text)
}

func TestDRYStringsAreBounded(t *testing.T) {
	var most []string
	for i := range MostDRYStrings {
		most = append(most, fmt.Sprintf("%040d", i))
	}
	c := &countingSpeller{Speller: tokenizer.GPT2()}
	d, err := NewDRYStrings(t.Context(), c, most)
	if err != nil {
		t.Fatal(err)
	}
	if want := MostDRYStrings * (MostDRYBytes - 1); c.encoded != want || c.texts != 0 {
		t.Errorf("%d texts encoded and %d ids looked at, want %d and none", c.encoded, c.texts, want)
	}
	for range 3 {
		for id := range 1000 {
			d.following(id)
		}
	}
	if c.texts != 1000 || c.encoded != MostDRYStrings*(MostDRYBytes-1) {
		t.Errorf("%d ids looked at, want each once and nothing encoded", c.texts)
	}
	for want, texts := range map[string][]string{
		"65 strings: want at most 64":             append(most, "x"),
		"string 2: 41 bytes, want at most 40":     {"x", strings.Repeat("é", 20) + "x"},
		"string 1: 400000 bytes, want at most 40": {strings.Repeat("x", 400_000)},
	} {
		if _, err := NewDRYStrings(t.Context(), c, texts); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewDRYStrings(gone, c, most); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the client is gone", err)
	}
}

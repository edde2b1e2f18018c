package receipt

// That no damage to a receipt or a saved chat passes.

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/internal/chat"
	"picogpt/internal/fault"

	"picogpt/dev/cases"
)

// A kept file is one that gpt writes and reads again. read returns its content, or why it is
// refused.
type keptFile struct {
	line []byte
	read func(text string) (any, error)
}

func keptFiles(t *testing.T) map[string]keptFile {
	t.Helper()
	formats := chat.Formats{Weights: "f32", Cache: "f16"}
	files := map[string]string{"a.gbnf": "root ::= \"a\"\n"}
	r := &Receipt{
		Model: "0123456789abcdef", Formats: formats, PromptIDs: []int{7454, 2402},
		Options: []string{"--temp=0.9"}, Files: files, Seed: 18446744073709551615,
		Text: &Text{IDs: []int{11, 0}, FinishReason: "length", Logits: "ab12",
			TokenLogits: []string{"ab", "12"}},
	}
	s := &chat.Saved{
		Model: "0123456789abcdef", Formats: formats, Template: "{{.Text}}\n",
		Options: []string{"--stop= a"}, Files: files, Seed: 3,
		Turns: []chat.Turn{
			{Text: "Hi <b>\u00e9", PromptIDs: []int{17250}, Options: []string{}, Seed: 1,
				IDs: []int{}, FinishReason: "stop"},
			{Text: "", PromptIDs: []int{198}, Options: []string{"--temp=1"}, Seed: 2,
				IDs: []int{11, 50256}, Dropped: 1, FinishReason: "end_of_text"},
		},
	}
	var err [5]error
	var receiptLine, textsLine, nextLine, chatLine []byte
	receiptLine, err[0] = r.Line()
	r.Texts, r.Text = []Text{*r.Text, {IDs: []int{}, FinishReason: "stop",
		TokenLogits: []string{}}}, nil
	textsLine, err[3] = r.Line()
	r.Texts, r.Next = nil, &Next{Logits: "ab12", Candidates: []Candidate{
		{ID: 11, LogProb: -0.1, Prob: 0.75}, {ID: 12, LogProb: -2.5e-7, Prob: 1e-300}}}
	nextLine, err[4] = r.Line()
	if chatLine, err[2] = s.Line(); fault.First(err[:]...) != nil {
		t.Fatal(err)
	}
	parse := func(text string) (any, error) {
		r, err := Parse(text)
		if err == nil {
			err = r.Check()
		}
		return r, err
	}
	return map[string]keptFile{
		"receipt": {receiptLine, parse}, "receipt of texts": {textsLine, parse},
		"receipt of next": {nextLine, parse},
		"chat": {chatLine, func(text string) (any, error) {
			s, err := chat.Parse(text)
			if err == nil {
				err = s.Check(50257)
			}
			return s, err
		}},
	}
}

func TestNoFlippedBitOfAKeptFileChangesWhatItHolds(t *testing.T) {
	cases.NotShort(t)
	for name, file := range keptFiles(t) {
		want, err := file.read(string(file.line))
		if err != nil {
			t.Fatalf("%s: as it was written: %v", name, err)
		}
		refused := 0
		for i := range 8 * len(file.line) {
			damaged := slices.Clone(file.line)
			damaged[i/8] ^= 1 << (i % 8)
			switch got, err := file.read(string(damaged)); {
			case err != nil:
				refused++
			case !reflect.DeepEqual(got, want):
				t.Errorf("%s: bit %d of byte %d: %s is taken, and holds something else", name, i%8,
					i/8, damaged)
			}
		}
		if most := 8 * len(file.line); refused < most-16 { // but for space at the end
			t.Errorf("%s: %d of %d flipped bits are refused", name, refused, most)
		}
	}
}

// TestAKeptFileIsStrictAtEveryLevel takes a key away, adds one and makes a value null, in every
// object, where no digest would tell.
func TestAKeptFileIsStrictAtEveryLevel(t *testing.T) {
	for name, file := range keptFiles(t) {
		bare := string(file.line[:bytes.LastIndex(file.line, []byte(`,"digest"`))]) + "}"
		if _, err := file.read(bare); err != nil {
			t.Fatalf("%s: without a digest: %v", name, err)
		}
		var keys []string
		for i, part := range strings.Split(bare, `":`)[:strings.Count(bare, `":`)] {
			key := part[strings.LastIndex(part, `"`)+1:]
			if i > 0 && !slices.Contains(keys, key) && key != "a.gbnf" {
				keys = append(keys, key)
			}
		}
		if !json.Valid([]byte(bare)) || len(keys) < 11 {
			t.Fatalf("%s: keys %v of %s", name, keys, bare)
		}
		for _, key := range keys {
			quoted := `"` + key + `":`
			for _, other := range []string{`"Other":`, `"` + strings.ToUpper(key) + `":`,
				`"other":0,` + quoted, quoted + `null,"x":`, quoted + "null," + quoted} {
				changed := strings.Replace(bare, quoted, other, 1)
				if _, err := file.read(changed); err == nil {
					t.Errorf("%s: %s in place of %s is taken", name, other, quoted)
				}
			}
		}
	}
}

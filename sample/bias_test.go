package sample

// Biases of sequences, against Hugging Face's definition applied to all ids.

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/toys"
	"picogpt/tokenizer"
)

// plainSequenceBias is SequenceBiasLogitsProcessor: a sequence of one id always has its bias; a
// longer one has it where the context ends with all but its last id.
func plainSequenceBias(scores []float64, context []int, all []Bias) {
	for _, b := range all {
		n := len(b.IDs)
		if n == 1 || n-1 <= len(context) && slices.Equal(context[len(context)-n+1:], b.IDs[:n-1]) {
			scores[b.IDs[n-1]] += b.Value
		}
	}
}

func TestSequencesOfATextAreBiasedAsHuggingFaceDoes(t *testing.T) {
	tok, r := tokenizer.GPT2(), rand.New(rand.NewPCG(32, 6))
	texts := []string{" red apple", "red apple", " apple", " red", " an unusually long sequence of words",
		"é", " red apple", "apple pie", "a=b", "<|endoftext|>", " red apple pie"}
	p := Params{}
	for i, text := range texts {
		p.SequenceBias = append(p.SequenceBias, Bias{Text: text, Value: float64(i%5) - 2.5})
	}
	p.SequenceBias = append(p.SequenceBias, Bias{IDs: []int{11, 262}, Value: math.Inf(-1)})
	want := []Bias{p.SequenceBias[len(texts)]}
	for i, text := range texts {
		ids, err := tok.WithSpecial().Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, Bias{IDs: ids, Value: p.SequenceBias[i].Value})
	}
	if _, err := NewSampler(p, IDs{}); err == nil || !strings.Contains(err.Error(), "want Params.Open") {
		t.Fatalf("texts that are not opened: error %v", err)
	}
	if err := p.Open(t.Context(), tok); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(p.SequenceBias, want, func(a, b Bias) bool {
		return slices.Equal(a.IDs, b.IDs) && a.Value == b.Value && a.Text == b.Text
	}) {
		t.Fatalf("%+v, want %+v", p.SequenceBias, want)
	}
	logits, s, changed := make([]float32, tok.Size()), sampler(t, p), 0
	for i := range logits {
		logits[i] = float32(r.NormFloat64())
	}
	for i := range 60 {
		context := []int{r.IntN(100)}[:i%2]
		for range 1 + r.IntN(3) { // beginnings of sequences, so that they go on
			ids := want[r.IntN(len(want))].IDs
			context = append(context, ids[:max(1, r.IntN(len(ids)))]...)
		}
		if err := s.score(Row{Logits: logits}, context); err != nil {
			t.Fatal(err)
		}
		scores := make([]float64, len(logits))
		for id, x := range logits {
			scores[id] = float64(x)
		}
		alone := slices.Clone(scores)
		plainSequenceBias(scores, context, want)
		if !slices.Equal(s.scores, scores) {
			t.Fatalf("after %v: other scores than Hugging Face's", context)
		}
		plainSequenceBias(alone, []int{0}, want) // no longer sequence can go on
		if !slices.Equal(scores, alone) {
			changed++
		}
	}
	if changed < 20 {
		t.Errorf("%d contexts were the beginning of a sequence, want more", changed)
	}
}

// TestSequencesAreBiasedAfterGuidance: guidance multiplies what comes before it, here by 3.
func TestSequencesAreBiasedAfterGuidance(t *testing.T) {
	logits, against := []float32{1, 0, 2, 0.5}, []float32{0, 1, 1, 0}
	p := Params{Guidance: &Guidance{Scale: 3}}
	without := sampler(t, p)
	p.SequenceBias = []Bias{{IDs: []int{1, 2}, Value: -1.25}}
	with := sampler(t, p)
	without.Against, with.Against = against, against
	for _, s := range []*Sampler{without, with} {
		if err := s.score(Row{Logits: logits}, []int{3, 1}); err != nil {
			t.Fatal(err)
		}
	}
	want := slices.Clone(without.scores)
	want[2] -= 1.25
	if !slices.Equal(with.scores, want) {
		t.Errorf("%v, want %v", with.scores, want)
	}
}

func TestSequencesThatAreNone(t *testing.T) {
	tok, err := toys.Lacking("<")
	if err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string]Bias{
		`sequence bias " <a": byte 1, 0x3c: the vocabulary has no token for it`: {Text: " <a", Value: 1},
		"sequence bias 1 of 1: want at least one id, found none":                {Value: 1},
		"sequence bias NaN: want a number from -1e100 to 1e100, or -Inf":        {Text: "a", Value: math.NaN()},
	} {
		p := Params{SequenceBias: []Bias{b}}
		err := p.Check()
		if err == nil {
			err = p.Open(t.Context(), tok)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", b, err, want)
		}
	}
	var all Params
	for value, want := range map[string]string{
		"":      ` "": want TEXT=X, such as ' red apple=-5' or ' red apple=-inf'`,
		"=5":    ` "=5": want TEXT=X`,
		"a=":    ` "a=": want TEXT=X`,
		"a=inf": ` "a=inf": want TEXT=X`,
		"a=NaN": ` "a=NaN": want TEXT=X`,
	} {
		err := sequenceBiases{(*biases)(&all.SequenceBias)}.Set(value)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", value, err, want)
		}
	}
	for value, want := range map[string]Bias{
		"a=b=-inf": {Text: "a=b", Value: math.Inf(-1)}, "12=3": {Text: "12", Value: 3},
		" a =1": {Text: " a ", Value: 1},
	} {
		all = Params{}
		err := sequenceBiases{(*biases)(&all.SequenceBias)}.Set(value)
		if err != nil || len(all.SequenceBias) != 1 || all.SequenceBias[0].Text != want.Text ||
			all.SequenceBias[0].Value != want.Value {
			t.Errorf("%q: %+v and %v, want %+v", value, all.SequenceBias, err, want)
		}
	}
}

// TestBannedIDsAreNeverDrawn: of the scores after random contexts exactly those are gone that Hugging
// Face's processors of suppress_tokens, begin_suppress_tokens and bad_words_ids remove.
func TestBannedIDsAreNeverDrawn(t *testing.T) {
	const size = 12
	r := rand.New(rand.NewPCG(7, 7))
	gone, first := 0, 0
	for range 500 {
		p := Params{Temperature: 1}
		for range 1 + r.IntN(5) {
			ban := Ban{First: r.IntN(3) == 0}
			for range 1 + r.IntN(3)*r.IntN(2) {
				ban.IDs = append(ban.IDs, r.IntN(size))
			}
			p.BanIDs = append(p.BanIDs, ban)
		}
		context, new := []int{}, r.IntN(3)
		for range max(1, new) + r.IntN(5) {
			context = append(context, r.IntN(size))
		}
		logits := make([]float32, size)
		for i := range logits {
			logits[i] = float32(r.NormFloat64())
		}
		s := sampler(t, Params{Temperature: 1, BanIDs: append(p.BanIDs, Ban{}, Ban{First: true})})
		s.State.Generated = new
		if err := s.score(Row{Logits: logits}, context); err != nil {
			t.Fatal(err)
		}
		for id, x := range logits {
			want := float64(x)
			for _, b := range p.BanIDs {
				text := append(slices.Clone(context), id)
				if from := len(text) - len(b.IDs); from >= 0 && slices.Equal(text[from:], b.IDs) {
					if !b.First || new == 0 {
						want = math.Inf(-1)
					} else {
						first++
					}
				}
			}
			if math.IsInf(want, -1) {
				gone++
			}
			if got := s.scores[id]; got != want {
				t.Fatalf("%+v, %d new after %v: id %d has %v, want %v", p.BanIDs, new, context, id, got,
					want)
			}
		}
	}
	if gone < 500 || first < 50 {
		t.Errorf("%d scores were gone, %d would have been at first: want more", gone, first)
	}
}

package eval_test

// Records and their digest: the JSON of a score, and that the digest is what its documentation
// says.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/eval"
	"picogpt/model"
)

func ptr(x float64) *float64 { return &x }

// records are records that differ in one value each.
func records() []eval.Record {
	list := []eval.Record{
		{}, {Tokens: []int{}, LogProbs: []*float64{}, Line: 7, Text: "of no account", Greedy: true},
		{Tokens: []int{1, 2}, LogProbs: []*float64{nil, ptr(-1.5)}},
		{Tokens: []int{2, 1}, LogProbs: []*float64{nil, ptr(-1.5)}},
		{Tokens: []int{1, 2}, LogProbs: []*float64{nil, ptr(math.Nextafter(-1.5, 0))}},
		{Tokens: []int{1, 2}, LogProbs: []*float64{ptr(0), ptr(-1.5)}},
		{Tokens: []int{50256}, LogProbs: []*float64{nil}},
	}
	for _, id := range []string{`null`, `""`, `"a"`, `"é"`, `7`, `"7"`, `7.0`, `{"a": [1, 2]}`,
		` true `} {
		list = append(list, eval.Record{ID: json.RawMessage(id), Tokens: []int{1, 2},
			LogProbs: []*float64{nil, ptr(-1.5)}})
	}
	return list
}

func digest(t *testing.T, list ...eval.Record) (d eval.Digest) {
	t.Helper()
	for _, r := range list {
		if err := d.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// canonical follows the documentation in another way: one number after the other, as 8 bytes by
// division.
func canonical(id []byte, kind byte, tokens []int, logprobs []uint64) []byte {
	b := []byte{kind}
	number := func(x uint64) {
		for range 8 {
			b = append(b, byte(x%256))
			x /= 256
		}
	}
	if kind > 0 {
		number(uint64(len(id)))
		b = append(b, id...)
	}
	number(uint64(len(tokens)))
	for _, id := range tokens {
		number(uint64(id))
	}
	number(uint64(len(logprobs)))
	for _, x := range logprobs {
		number(x)
	}
	return b
}

func TestTheDigestIsAsDocumented(t *testing.T) {
	const null, minusOneAndAHalf = 0x7ff8000000000000, 0xbff8000000000000
	tokens, logprobs := []int{1, 2}, []uint64{null, minusOneAndAHalf}
	sum := new(big.Int)
	for _, b := range [][]byte{
		canonical(nil, 0, nil, nil),
		canonical(nil, 0, tokens, logprobs),
		canonical([]byte("é\""), 1, tokens, logprobs),
		canonical([]byte(`{"a":["é b",1.50]}`), 2, tokens, logprobs),
	} {
		h := sha256.Sum256(b)
		sum.Add(sum, new(big.Int).SetBytes(h[:]))
	}
	sum.Mod(sum, new(big.Int).Lsh(big.NewInt(1), 256))
	r := eval.Record{Tokens: []int{1, 2}, LogProbs: []*float64{nil, ptr(-1.5)}}
	list := []eval.Record{{}, r, r, r}
	list[2].ID = json.RawMessage(` "\u00e9\"" `)
	list[3].ID = json.RawMessage("{ \"a\" : [\"é b\",\n 1.50] }")
	if got, want := digest(t, list...).String(), fmt.Sprintf("%064x", sum); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTheDigestTellsRecordsApart(t *testing.T) {
	seen := map[eval.Digest]int{}
	for i, r := range records() {
		d := digest(t, r)
		// differs only in fields that do not count
		if j, ok := seen[d]; ok && !(i == 1 && j == 0 || i == 7 && j == 2) {
			t.Errorf("records %d and %d have one digest", i, j)
		}
		seen[d] = i
	}
	if err := new(eval.Digest).Add(&eval.Record{ID: json.RawMessage(`{"a":`)}); err == nil {
		t.Error("an id that is no JSON: no error")
	}
}

func TestTheDigestKnowsNoOrder(t *testing.T) {
	list := records()
	want := digest(t, list...)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		cut := rng.IntN(len(list))
		a, b := digest(t, list[:cut]...), digest(t, list[cut:]...)
		a.Merge(b)
		if a != want {
			t.Fatalf("%v, want %v", a, want)
		}
	}
	if twice := digest(t, list[0], list[0]); twice == (eval.Digest{}) ||
		twice == digest(t, list[0]) {
		t.Error("a record that comes twice counts once, or not at all")
	}
	text, err := want.MarshalText()
	var back eval.Digest
	if err != nil || back.UnmarshalText(text) != nil || back != want {
		t.Errorf("%s came back as %v", text, back)
	}
	for _, bad := range []string{"", "12", strings.Repeat("g", 64), string(text) + "00"} {
		if back.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// scores are those of a few texts, one of which cannot be scored.
func scores(t *testing.T) (list []eval.Scored) {
	m := tinyModel(t, model.Options{})
	requests := []eval.Request{
		{Text: "cab", Tag: "a < b"}, {Text: "", Tag: 7}, {Text: "a"},
		{Text: "bad", Tag: json.RawMessage(`{"x":1}`)},
		{Context: "ab", Text: "cab", Pair: true, Tag: new(int)},
	}
	for s, err := range eval.Score(context.Background(), m, letters{}, slices.Values(requests),
		eval.ScoreOptions{Top: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func TestAScoreInJSONIsItsRecord(t *testing.T) {
	for i, s := range scores(t) {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back eval.Record
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if back.Line != i+1 || digest(t, back) != digest(t, s.Record()) {
			t.Errorf("%s: not the record %+v", b, s.Record())
		}
		want := []string{
			`"id":"a \u003c b","tokens":[2,0,1],"text":"cab","offsets":[[0,1],[1,2],[2,3]],` +
				`"logprobs":[null,-`,
			`"id":7,"tokens":[],"text":"","offsets":[],"logprobs":[],"ranks":[],"entropies":[],` +
				`"sum_logprob":0,"mean_logprob":null,"greedy":true}`,
			`{"line":3,"tokens":[0],"text":"a","offsets":[[0,1]],"logprobs":[null],` +
				`"ranks":[null],"entropies":[null],"sum_logprob":0,"mean_logprob":null,"greedy":true,"top":[[]]}`,
			`"id":{"x":1},"tokens"`, `{"line":5,"tokens":[2,0,1],"text":"cab"`}[i]
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s\nwant %s", b, want)
		}
	}
}

func TestASummaryAddsUp(t *testing.T) {
	var whole eval.Summary
	sum, tokens := 0.0, 0
	for i, s := range scores(t) {
		r := s.Record()
		if i == 1 { // it goes through JSON and back on the way
			b, err := json.Marshal(whole)
			if err != nil || json.Unmarshal(b, &whole) != nil {
				t.Fatalf("%s: %v", b, err)
			}
		}
		if err := whole.Add(&r); err != nil {
			t.Fatal(err)
		}
		sum += s.Sum
		tokens += s.Count
	}
	whole.Err()
	if whole.Lines != 6 || whole.Errors != 1 || whole.Tokens != tokens || whole.Sum != sum {
		t.Errorf("%+v, want %d tokens of %v in 5 lines and one in error", whole, tokens, sum)
	}
	near(t, "perplexity", whole.Perplexity(), math.Exp(-sum/float64(tokens)))
	b, err := json.Marshal(eval.Summary{Lines: 1, Errors: 1})
	want := `{"lines":1,"errors":1,"tokens":0,"sum_logprob":0,"perplexity":null,"digest":"` +
		strings.Repeat("0", 64) + `"}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}

package finish

// Corpora for the tests, and the oracle: all documents in memory, ranked by whole numbers.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"picogpt/eval"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/ledger"
	"picogpt/x/corpus/internal/storage"
	"picogpt/x/corpus/internal/work"
)

// A document of the tests. Its perplexity is e to the power of halves/2: its order is that of whole
// numbers, and ties are many.
type document struct {
	halves       int
	tokens       int    // 0: no perplexity
	id           string // JSON, "" for none
	source, line int
}

// corpus makes documents whose ids are numbers and strings, some of them twice, some missing.
func corpus(r *rand.Rand, n, values int) []document {
	ids := []string{"0", "-7", "9", "10", "1.5", "2e1", "20", "-0.25", "9007199254740993",
		"9007199254740992", "18446744073709551617", `""`, `"9"`, `"10"`, `"a"`, `"aa"`, `"b"`,
		`"a\u0000"`, `"a\u0000b"`, `"é"`, `"z"`, "true", `[1]`}
	var all []document
	for i := range n {
		d := document{halves: 1 + r.IntN(values), tokens: r.IntN(4)}
		switch r.IntN(5) {
		case 0:
		case 1:
			d.id = ids[r.IntN(len(ids))]
		case 2:
			d.id = strconv.Quote(fmt.Sprint(r.IntN(n)))
		default:
			d.id = fmt.Sprint(1000 + i)
		}
		all = append(all, d)
	}
	return all
}

// compare returns the order of ranks, without positions.
func (d *document) compare(e *document) int {
	if c := cmp.Compare(d.halves, e.halves); c != 0 {
		return c
	}
	kinds := [2]int{kind(d.id), kind(e.id)}
	switch {
	case kinds[0] != kinds[1]:
		return cmp.Compare(kinds[0], kinds[1])
	case kinds[0] == 0:
		x, _ := new(big.Rat).SetString(d.id)
		y, _ := new(big.Rat).SetString(e.id)
		return cmp.Or(x.Cmp(y), cmp.Compare(d.id, e.id))
	case kinds[0] == 1:
		var x, y string
		json.Unmarshal([]byte(d.id), &x)
		json.Unmarshal([]byte(e.id), &y)
		return cmp.Compare(x, y)
	}
	return cmp.Compare(d.id, e.id)
}

// kind is 0 for a number, 1 for a string, 2 for other JSON, 3 for none.
func kind(id string) int {
	switch {
	case id == "":
		return 3
	case id[0] == '"':
		return 1
	case id == "true" || id[0] == '[':
		return 2
	}
	return 0
}

// ranked are the documents that have a perplexity, in their order.
func ranked(all []document) []document {
	with := slices.DeleteFunc(slices.Clone(all), func(d document) bool { return d.tokens == 0 })
	slices.SortFunc(with, func(a, b document) int {
		return cmp.Or(a.compare(&b), cmp.Compare(a.source, b.source), cmp.Compare(a.line, b.line))
	})
	return with
}

// keep returns the documents between two shares, in thousandths. It needs no ceilings: ceil(x) < r
// is x ≤ r−1, and r ≤ ceil(x) is r−1 < x.
func keep(all []document, low, high int) (kept []document) {
	with := ranked(all)
	for i, d := range with { // i is r−1
		if low*len(with) <= 1000*i && 1000*i < high*len(with) {
			kept = append(kept, d)
		}
	}
	return kept
}

// share distributes the documents over pieces, in a new order, and sets their positions.
func share(r *rand.Rand, all []document, pieces int) [][]document {
	all = slices.Clone(all)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	dealt := make([][]document, pieces)
	for i, d := range all {
		p := i * pieces / len(all)
		d.source, d.line = p/2, i+1 // two pieces are of one source
		dealt[p] = append(dealt[p], d)
	}
	return dealt
}

// entry is what a ledger has of a document.
func (d *document) entry(t *testing.T) *ledger.Entry {
	t.Helper()
	id, err := eval.CanonicalID(json.RawMessage(d.id))
	if err != nil {
		t.Fatal(err)
	}
	return &ledger.Entry{Source: d.source, Line: d.line, ID: id, Count: d.tokens,
		Sum: -float64(d.tokens*d.halves) / 2}
}

// write writes ledgers, as the work on the pieces does.
func write(t *testing.T, command string, pieces [][]document) (*job.Job, []work.Summary) {
	t.Helper()
	folder := t.TempDir()
	j := &job.Job{Command: command, Output: folder, Work: storage.Join(folder, ".work")}
	var all []work.Summary
	for i, documents := range pieces {
		s := work.Summary{Piece: job.Piece{Index: i, Of: len(pieces)}, Records: len(documents),
			Digest: eval.Digest{}.String()}
		w, err := ledger.Create(t.Context(), j.Ledger(&s.Piece))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			s.Tokens += d.tokens
			if err := w.Write(d.entry(t)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return j, all
}

// add adds up the results of the pieces.
func add(t *testing.T, j *job.Job, all []work.Summary) *Corpus {
	t.Helper()
	c, err := Add(t.Context(), j, all)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kept are the documents that a corpus keeps by their keys.
func (c *Corpus) kept(t *testing.T, all []document) (kept []document) {
	t.Helper()
	for _, d := range all {
		if key, ok := d.entry(t).RankKey(); ok && c.Keep.Keep(key) {
			kept = append(kept, d)
		}
	}
	return kept
}

// same reports whether two lists have the same documents, whatever their order.
func same(a, b []document, by func(document) string) bool {
	keys := func(all []document) (keys []string) {
		for _, d := range all {
			keys = append(keys, by(d))
		}
		slices.Sort(keys)
		return keys
	}
	return slices.Equal(keys(a), keys(b))
}

func place(d document) string { return fmt.Sprint(d.source, d.line) }

func identity(d document) string { return fmt.Sprint(d.halves, d.tokens > 0, d.id) }

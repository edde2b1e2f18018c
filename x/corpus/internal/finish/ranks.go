package finish

// Ranks: the documents sorted by perplexity, quantiles and cuts.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"github.com/lanrat/extsort"

	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/ledger"
)

// percents are the quantiles that a run reports.
var percents = [...]int{0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 100}

// rank visits the documents in the order of their ranks.
func (c *Corpus) rank(j *job.Job, ranks *sorter) error {
	quantiles := c.quantileRanks()
	cuts, err := newCuts(j, c.Ranked)
	if err != nil {
		return err
	}
	r := 0
	for p, err := range ranks.all() {
		if err != nil {
			return err
		}
		r++
		perplexity := math.Float64frombits(binary.BigEndian.Uint64(p.key))
		for ; len(quantiles) > 0 && quantiles[0] == r; quantiles = quantiles[1:] {
			m := &c.Manifest
			m.Quantiles = append(m.Quantiles,
				Quantile{percents[len(m.Quantiles)], finite(perplexity)})
		}
		for _, cut := range cuts {
			cut.see(r, p.key, perplexity)
		}
	}
	if j.Command == job.Filter {
		c.filter(cuts)
	}
	return nil
}

// quantileRanks returns the nearest ranks of the percents, or nil if there are no documents.
func (c *Corpus) quantileRanks() (ranks []int) {
	for _, p := range percents {
		if c.Ranked > 0 {
			ranks = append(ranks, max(1, (p*c.Ranked+99)/100))
		}
	}
	return ranks
}

// A cut is searched among the documents: it is after a rank, or before a perplexity.
type cut struct {
	Cut
	rank  int    // the last rank below it; 0 for a cut at a perplexity
	key   []byte // the smallest key above it
	lower bool   // it keeps the documents above it
}

// newCuts returns the cuts that the options define among n documents. Cuts that remove nothing are
// left out.
func newCuts(j *job.Job, n int) (cuts []*cut, _ error) {
	o := &j.Filter
	if o.Keep != "" {
		r, err := job.ParseRanks(o.Keep)
		if err != nil {
			return nil, err
		}
		after, last := r.Of(n)
		if after > 0 {
			cuts = append(cuts, &cut{Cut: Cut{Label: "quantile " + r.From}, rank: after, lower: true})
		}
		if last < n {
			cuts = append(cuts, &cut{Cut: Cut{Label: "quantile " + r.To}, rank: last})
		}
	}
	at := func(name string, p float64, lower bool) {
		if p > 0 {
			cuts = append(cuts, &cut{Cut: Cut{Label: fmt.Sprintf("%s %v", name, p),
				Perplexity: &p}, key: ledger.PerplexityKey(p), lower: lower})
		}
	}
	at("above", o.Above, true)
	at("below", o.Below, false)
	return cuts, nil
}

// see visits the document of a rank.
func (c *cut) see(rank int, key []byte, perplexity float64) {
	switch {
	case c.rank == rank:
		c.key, c.Perplexity, c.Below = ledger.After(key), finite(perplexity), rank
	case c.rank == 0 && bytes.Compare(key, c.key) < 0:
		c.Below = rank
	}
}

// filter sets the cuts, all of which must keep a document that stays, and counts the documents.
func (c *Corpus) filter(cuts []*cut) {
	f := &Filtered{Cuts: []Cut{}, Unranked: c.Manifest.Records - c.Ranked}
	from, to := 0, c.Ranked
	for _, cut := range cuts {
		if cut.lower {
			cut.Keeps = "above"
			from = max(from, cut.Below)
			if bytes.Compare(c.Keep.From, cut.key) < 0 {
				c.Keep.From = cut.key
			}
		} else {
			cut.Keeps = "below"
			to = min(to, cut.Below)
			if c.Keep.To == nil || bytes.Compare(cut.key, c.Keep.To) < 0 {
				c.Keep.To = cut.key
			}
		}
		f.Cuts = append(f.Cuts, cut.Cut)
	}
	f.Kept = max(0, to-from)
	f.Dropped = c.Ranked - f.Kept
	c.Manifest.Filtered = f
}

// Sorting more data than fits into memory.

// A pair is sorted by its key, then by its value, both as bytes.
type pair struct{ key, value []byte }

func (a pair) compare(b pair) int {
	return cmp.Or(bytes.Compare(a.key, b.key), bytes.Compare(a.value, b.value))
}

func packPair(p pair) ([]byte, error) {
	b := binary.AppendUvarint(make([]byte, 0, len(p.key)+len(p.value)+2), uint64(len(p.key)))
	return append(append(b, p.key...), p.value...), nil
}

func unpackPair(b []byte) (pair, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return pair{}, fmt.Errorf("%d bytes, want a key and a value", len(b))
	}
	b = bytes.Clone(b[size:])
	return pair{b[:n], b[n:]}, nil
}

// chunk is the number of pairs that are sorted in memory; more pairs go to temporary files.
const chunk = 1 << 17

// A sorter takes pairs, and returns them sorted. The caller must close it.
type sorter struct {
	ctx    context.Context
	close  context.CancelFunc
	in     chan pair
	sorted chan struct{} // closed when Sort has ended, perhaps with an error
	out    <-chan pair
	errs   <-chan error
}

// newSorter starts a sorter.
func newSorter(ctx context.Context) *sorter {
	s := &sorter{in: make(chan pair, 1024), sorted: make(chan struct{})}
	s.ctx, s.close = context.WithCancel(ctx)
	var sort *extsort.GenericSorter[pair]
	sort, s.out, s.errs = extsort.Generic(s.in, unpackPair, packPair, pair.compare,
		&extsort.Config{ChunkSize: chunk, SortedChanBuffSize: 1024})
	go func() {
		defer close(s.sorted)
		sort.Sort(s.ctx)
	}()
	return s
}

// add adds a pair. all returns the error, so it must be called.
func (s *sorter) add(key, value []byte) {
	select {
	case s.in <- pair{key, value}:
	case <-s.sorted:
	}
}

// all yields the pairs in order. An error comes last.
func (s *sorter) all() iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		close(s.in)
		<-s.sorted
		for p := range s.out {
			if !yield(p, nil) {
				return
			}
		}
		if err := cmp.Or(<-s.errs, s.ctx.Err()); err != nil {
			yield(pair{}, fmt.Errorf("sorting: %w", err))
		}
	}
}

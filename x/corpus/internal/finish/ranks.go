package finish

// Ranks: the documents sorted by perplexity, quantiles and cuts.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

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

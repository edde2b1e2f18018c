package report

// Counting documents by perplexity, in constant memory. Every piece of a corpus adds to a
// histogram.

import "math"

const (
	binsPerDecade = 32
	bins          = 12 * binsPerDecade // from 1 to 10¹²
)

// A Histogram counts documents in bins of perplexity: 32 bins for each power of ten, from 1 to
// 10¹². Counts do not depend on the order of documents or of merges. The zero value is empty.
type Histogram struct {
	Counts [bins]int64 `json:"counts"`
	Below  int64       `json:"below"` // a perplexity under 1
	Above  int64       `json:"above"` // 10¹² or more
	None   int64       `json:"none"`  // without a perplexity: NaN
}

// Add counts a document. NaN says that it has no perplexity.
func (h *Histogram) Add(perplexity float64) {
	switch {
	case math.IsNaN(perplexity):
		h.None++
	case perplexity < 1:
		h.Below++
	case perplexity >= edge(bins):
		h.Above++
	default:
		h.Counts[bin(perplexity)]++
	}
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.Counts {
		h.Counts[i] += n
	}
	h.Below += other.Below
	h.Above += other.Above
	h.None += other.None
}

// Documents returns the number of documents with a perplexity.
func (h *Histogram) Documents() int64 {
	n := h.Below + h.Above
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// bin returns the bin of a perplexity from 1 to below 10¹². The edges decide, not the logarithm,
// whose rounding may differ between processors.
func bin(perplexity float64) int {
	i := min(int(math.Log10(perplexity)*binsPerDecade), bins-1)
	for perplexity < edge(i) {
		i--
	}
	for perplexity >= edge(i+1) {
		i++
	}
	return i
}

// edge returns the perplexity with which bin i begins, 10^(i/32). Roots and products are rounded in
// the same way everywhere, and powers of ten are exact.
func edge(i int) float64 {
	e, root := math.Pow10(i/binsPerDecade), 10.0
	for bit := binsPerDecade / 2; bit > 0; bit /= 2 {
		root = math.Sqrt(root)
		if i&bit != 0 {
			e *= root
		}
	}
	return e
}

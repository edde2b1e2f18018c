package attention

// Causal attention over keys and values that are already in blocks: what a decoder does in each layer.

import "picogpt/kernels"

// A Span is new tokens of one sequence, all heads: their queries, and the keys and values of everything before them and of
// themselves. Query i sees the first Keys-Rows+1+i keys.
type Span struct {
	Rows, Heads      int
	KeyDim, ValueDim int // of one head

	Q, Out         []float32 // [key_dim], [value_dim] of a row and head:
	LDQ, LDO       int       // how far apart the rows lie,
	QHead, OutHead int       // and how far the heads

	Keys       int         // tokens so far, the new ones included
	K, V       [][]float32 // for each block of 64 tokens, from KOff and VOff on, the heads' blocks as kernels.StoreKV writes them
	KOff, VOff int

	Scale float32
}

// Attend computes the attention of every span, the workers sharing the heads and the tiles of queries. Every worker calls it;
// it ends with a barrier, and allocates nothing.
func Attend(w *kernels.Worker, spans []Span) {
	tile, total := 0, 0
	for i := range spans {
		s := &spans[i]
		tile = max(tile, tileRows(s.KeyDim+s.ValueDim))
		total += s.Rows * s.Heads
	}
	tile = spread(tile, total, 1, w.Size())
	tasks := 0
	for i := range spans {
		tasks += spans[i].tiles(tile)
	}
	for t := w.Next(); t < tasks; t = w.Next() {
		n := tasks - 1 - t // from the last: the last queries of a prompt take the longest
		i := 0
		for n >= spans[i].tiles(tile) {
			n -= spans[i].tiles(tile)
			i++
		}
		spans[i].attend(w, n%spans[i].Heads, n/spans[i].Heads*tile, tile)
	}
	w.Sync()
}

func (s *Span) tiles(tile int) int { return (s.Rows + tile - 1) / tile * s.Heads }

// attend computes one head's tile of queries, from first on.
func (s *Span) attend(w *kernels.Worker, head, first, tile int) {
	w.Attend(&kernels.Attention{
		Q: s.Q[first*s.LDQ+head*s.QHead:], LDQ: s.LDQ,
		Out: s.Out[first*s.LDO+head*s.OutHead:], LDO: s.LDO,
		Rows: min(tile, s.Rows-first),
		K:    s.K, V: s.V,
		KOff: s.KOff + head*s.KeyDim*kernels.Block, VOff: s.VOff + head*s.ValueDim*kernels.Block,
		DK: s.KeyDim, DV: s.ValueDim,
		Keys: s.Keys, See: s.Keys - s.Rows + first + 1, Step: 1,
		Scale: s.Scale,
	})
}

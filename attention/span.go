package attention

// Causal attention over a cache of keys and values in blocks: what a decoder does in each layer.

import "picogpt/kernels"

// A Span is the new tokens of one sequence, all heads, and the cache of everything before them.
type Span struct {
	Rows, Heads      int // new tokens
	KeyDim, ValueDim int // of one head

	Query, Key, Value, Out Rows // of the new tokens

	// For each block of 64 tokens, the heads' blocks one after the other, as kernels.StoreKV writes them: there must be room for the
	// new tokens.
	Keys, Values [][]float32
	Tokens       int // in the cache so far, the new ones included
}

// Rows says where the numbers of each token and head lie: token i's of head h begin at Data[i·Row + h·Head].
type Rows struct {
	Data      []float32
	Row, Head int
}

func (r *Rows) at(row, head int) []float32 { return r.Data[row*r.Row+head*r.Head:] }

// Attend stores the new keys and values of every span in its cache and computes the attention of its new tokens, each of which
// sees everything up to itself. The workers share the heads and the tiles of queries. In each block the first head begins at keysAt and
// valuesAt: a decoder has all its layers in one block. scale is what q·k is multiplied by.
//
// Every worker calls it; it ends with a barrier, and allocates nothing. However the tokens are cut into calls, the bits are the same.
func Attend(w *kernels.Worker, spans []Span, keysAt, valuesAt int, scale float32) {
	tile, heads := 0, 0
	for i := range spans {
		s := &spans[i]
		tile, heads = max(tile, tileRows(s.KeyDim+s.ValueDim)), heads+s.Heads
	}
	tile = spread(tile, longest(spans), heads, w.Size())
	tasks, together := 0, true // one tile a span, as in decoding: the task that needs a head's keys stores them
	for i := range spans {
		tasks += spans[i].tiles(tile)
		together = together && spans[i].Rows <= tile
	}
	if !together {
		for t := w.Next(); t < heads; t = w.Next() {
			s, h := &spans[0], t
			for i := 0; h >= s.Heads; s = &spans[i] {
				h, i = h-s.Heads, i+1
			}
			s.store(h, keysAt, valuesAt)
		}
		w.Sync()
	}
	for t := w.Next(); t < tasks; t = w.Next() {
		n, i := tasks-1-t, 0 // from the last: the last queries of a prompt take the longest
		for ; n >= spans[i].tiles(tile); i++ {
			n -= spans[i].tiles(tile)
		}
		s := &spans[i]
		if together {
			s.store(n%s.Heads, keysAt, valuesAt)
		}
		s.attend(w, n%s.Heads, n/s.Heads*tile, tile, keysAt, valuesAt, scale)
	}
	w.Sync()
}

func longest(spans []Span) (rows int) {
	for i := range spans {
		rows = max(rows, spans[i].Rows)
	}
	return rows
}

// tiles returns the number of tasks, all heads together.
func (s *Span) tiles(tile int) int { return (s.Rows + tile - 1) / tile * s.Heads }

// store writes the new keys and values of one head.
func (s *Span) store(head, keysAt, valuesAt int) {
	keysAt += head * s.KeyDim * kernels.Block
	valuesAt += head * s.ValueDim * kernels.Block
	for i := range s.Rows {
		p := s.Tokens - s.Rows + i
		block := p / kernels.Block
		kernels.StoreKV(s.Keys[block][keysAt:], s.Values[block][valuesAt:], p%kernels.Block, s.Key.at(i, head)[:s.KeyDim], s.Value.at(i, head)[:s.ValueDim])
	}
}

// attend computes one head's tile of queries, from first on.
func (s *Span) attend(w *kernels.Worker, head, first, tile, keysAt, valuesAt int, scale float32) {
	w.Attend(&kernels.Attention{
		Q: s.Query.at(first, head), LDQ: s.Query.Row,
		Out: s.Out.at(first, head), LDO: s.Out.Row,
		Rows: min(tile, s.Rows-first),
		K:    s.Keys, KOff: keysAt + head*s.KeyDim*kernels.Block, DK: s.KeyDim,
		V: s.Values, VOff: valuesAt + head*s.ValueDim*kernels.Block, DV: s.ValueDim,
		Keys: s.Tokens, See: s.Tokens - s.Rows + first + 1, Step: 1,
		Scale: scale,
	})
}

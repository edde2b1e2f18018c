package kernels

// Causal attention over a cache of keys and values in blocks: what a decoder does in each layer.

// A Span is the new tokens of one sequence, all heads, and the cache of everything before them.
type Span struct {
	Rows, Heads      int // new tokens
	KeyDim, ValueDim int // of one head

	Query, Key, Value, Out HeadRows // of the new tokens

	// A block is for 64 tokens. All are in one format. There must be room for the new tokens. The
	// last block may have less room than for 64: see Room.
	Keys, Values []KV
	Room         int // tokens that the last block has room for, a multiple of 8; 0 for all 64
	Tokens       int // in the cache so far, the new ones included
}

// HeadRows says where the numbers of each token and head are: token i's of head h begin at
// Data[i·Row + h·Head].
type HeadRows struct {
	Data      []float32
	Row, Head int
}

func (r *HeadRows) at(row, head int) []float32 { return r.Data[row*r.Row+head*r.Head:] }

// CausalAttention stores the new keys and values of every span in its cache and computes the
// attention of its new tokens: each sees everything up to itself. The workers share the heads and
// the tiles of queries. before is how many numbers of each token a block holds before the first
// head: a decoder has all its layers in one block. scale is what q·k is multiplied by.
//
// It ends with a barrier, and allocates nothing. However the tokens are cut into calls, the bits
// are the same.
func CausalAttention(w *Worker, spans []Span, before int, scale float32) {
	dims, heads, longest := 0, 0, 0
	for i := range spans {
		s := &spans[i]
		dims, heads, longest = max(dims, s.KeyDim+s.ValueDim), heads+s.Heads, max(longest, s.Rows)
	}
	tile := QueryTile(dims, longest, heads, w.Size())
	// one tile a span, as in decoding: the task that needs a head's keys stores them
	together := longest <= tile
	if !together {
		for t := w.Next(); t < heads; t = w.Next() {
			i, h := 0, t
			for ; h >= spans[i].Heads; i++ {
				h -= spans[i].Heads
			}
			spans[i].store(w, h, before)
		}
		w.Sync()
	}
	tasks := 0
	for i := range spans {
		tasks += spans[i].tasks(w, tile)
	}
	for t := w.Next(); t < tasks; t = w.Next() {
		n, i := tasks-1-t, 0 // from the last: the last queries of a prompt take the longest
		for ; n >= spans[i].tasks(w, tile); i++ {
			n -= spans[i].tasks(w, tile)
		}
		spans[i].attend(w, n, tile, before, scale, together)
	}
	w.Sync()
}

// QueryTile returns how many queries pass over a block of keys together: more where a head is wide,
// so that a block that does not stay in the cache is read less often, and fewer until there are
// enough tiles for the workers. dims is the width of a key and a value; rows the queries of each of
// heads.
func QueryTile(dims, rows, heads, workers int) int {
	tile := 96
	if dims >= 512 {
		tile = 192
	}
	for tile > 24 && heads*((rows+tile-1)/tile) < 4*workers {
		tile /= 2
	}
	return tile
}

// side returns how many heads one task takes: several where one query reads blocks in F16, so that
// it can fetch the next head's while it works on one.
func (s *Span) side(w *Worker) int {
	if s.Rows > 1 || s.Keys[0].F16 == nil {
		return 1
	}
	return w.share(s.Heads, 1, 8)
}

// tasks returns the number of tasks: groups of heads, for each tile of queries.
func (s *Span) tasks(w *Worker, tile int) int {
	side := s.side(w)
	return (s.Rows + tile - 1) / tile * ((s.Heads + side - 1) / side)
}

// store writes the new keys and values of one head, as many at a time as one block takes.
func (s *Span) store(w *Worker, head, before int) {
	for i, n := 0, 0; i < s.Rows; i += n {
		p := s.Tokens - s.Rows + i
		block := p / Block
		n = min(s.Rows-i, Block-p%Block)
		room := blockRoom(block, len(s.Keys), s.Room)
		k := s.Keys[block].from((before + head*s.KeyDim) * room)
		v := s.Values[block].from((before + head*s.ValueDim) * room)
		w.storeKV(k, v, room, p%Block, n, s.Key.at(i, head), s.Key.Row, s.KeyDim,
			s.Value.at(i, head), s.Value.Row, s.ValueDim)
	}
}

// blockRoom returns how many keys a block of so many has room for, where the last has room for last
// of them, or for all where that is 0.
func blockRoom(block, blocks, last int) int {
	if last != 0 && block == blocks-1 {
		return last
	}
	return Block
}

// attend computes one task: a tile of queries of some heads. If store, it first stores the keys and
// values of these heads.
func (s *Span) attend(w *Worker, task, tile, before int, scale float32, store bool) {
	side := s.side(w)
	groups := (s.Heads + side - 1) / side
	first := task / groups * tile
	w.attentions = w.attentions[:0]
	for head := task % groups * side; head < min(s.Heads, (task%groups+1)*side); head++ {
		if store {
			s.store(w, head, before)
		}
		w.attentions = append(w.attentions, Attention{
			Q: s.Query.at(first, head), LDQ: s.Query.Row,
			Out: s.Out.at(first, head), LDO: s.Out.Row,
			Rows: min(tile, s.Rows-first),
			K:    s.Keys, KBefore: before + head*s.KeyDim, DK: s.KeyDim,
			V: s.Values, VBefore: before + head*s.ValueDim, DV: s.ValueDim,
			Room: s.Room,
			Keys: s.Tokens, See: s.Tokens - s.Rows + first + 1, Step: 1,
			Scale: scale,
		})
	}
	w.attendTiles()
}

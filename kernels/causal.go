package kernels

// Causal attention over a cache of keys and values in blocks, as a decoder needs it in each layer.

// A Span is the new tokens of one sequence, for all heads, and the cache of all tokens before them.
type Span struct {
	Rows, Heads      int // new tokens
	KeyDim, ValueDim int // of one head

	// number of new tokens, the first ones, whose attention is not computed
	Unread int

	Key, Value HeadRows // of the new tokens
	Query, Out HeadRows // of the new tokens, without the Unread ones

	// A block is for 64 tokens. All blocks have one format. There must be room for the new tokens.
	// The last block may have room for fewer than 64 tokens: see Room.
	Keys, Values []KV
	// number of tokens that the last block has room for, a multiple of 8; 0 for all 64
	Room   int
	Tokens int // in the cache, with the new ones

	// All [Heads, queries, Tokens], or nil: which keys are not hidden; where the attention weights,
	// and the scaled scores (−Inf for what is not seen), are written. They cost a second pass.
	Keep            []bool
	Weights, Scores []float32
}

// HeadRows describes where the numbers of each token and head are: those of token i and head h
// begin at Data[i·Row + h·Head].
type HeadRows struct {
	Data      []float32
	Row, Head int
}

func (r *HeadRows) at(row, head int) []float32 { return r.Data[row*r.Row+head*r.Head:] }

// CausalAttention stores the new keys and values of every span in its cache and computes the
// attention of its new tokens, except the Unread ones: each sees all tokens up to itself. The workers
// share the heads and the tiles of queries. before is the number of heads that a block holds before
// the first one: a decoder has all its layers in one block. scale is the factor of q·k.
//
// It ends with a barrier, and allocates nothing. The division of the tokens into calls does not
// change the bits.
func CausalAttention(w *Worker, spans []Span, before int, scale float32) {
	dims, heads, longest, unread := 0, 0, 0, 0
	for i := range spans {
		s := &spans[i]
		dims, heads = max(dims, s.KeyDim+s.ValueDim), heads+s.Heads
		longest, unread = max(longest, s.queries()), max(unread, s.Unread)
	}
	tile := QueryTile(dims, longest, heads, w.Size())
	// one tile for each span, as in decoding: the task that needs a head's keys stores them
	together := longest <= tile && unread == 0
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
		n, i := tasks-1-t, 0 // in reverse: the last queries of a prompt take the longest
		for ; n >= spans[i].tasks(w, tile); i++ {
			n -= spans[i].tasks(w, tile)
		}
		spans[i].attend(w, n, tile, before, scale, together)
	}
	w.Sync()
}

// QueryTile returns how many queries are multiplied with a block of keys together. It is larger for
// wide heads, so that a block that does not stay in the cache is read less often, and smaller if
// there would be too few tiles for the workers. dims is the width of a key plus that of a value;
// rows is the number of queries of each of heads.
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

// queries returns how many new tokens have a query.
func (s *Span) queries() int { return s.Rows - s.Unread }

// side returns how many heads one task takes: several if there is one query, because it reads long
// runs of memory, and in F16 and Q8 prefetches the next head's while it computes one.
func (s *Span) side(w *Worker) int {
	if s.queries() > 1 {
		return 1
	}
	return w.share(s.Heads, 1, 8)
}

// tasks returns the number of tasks: groups of heads, for each tile of queries.
func (s *Span) tasks(w *Worker, tile int) int {
	side := s.side(w)
	return (s.queries() + tile - 1) / tile * ((s.Heads + side - 1) / side)
}

// store writes the new keys and values of one head, block by block.
func (s *Span) store(w *Worker, head, before int) {
	rowK, rowV := KVRow(s.Keys[0].format(), s.KeyDim, s.ValueDim)
	for i, n := 0, 0; i < s.Rows; i += n {
		p := s.Tokens - s.Rows + i
		block := p / Block
		n = min(s.Rows-i, Block-p%Block)
		room := blockRoom(block, len(s.Keys), s.Room)
		k := s.Keys[block].from((before + head) * rowK * room)
		v := s.Values[block].from((before + head) * rowV * room)
		w.storeKV(k, v, room, p%Block, n, s.Key.at(i, head), s.Key.Row, s.KeyDim,
			s.Value.at(i, head), s.Value.Row, s.ValueDim)
	}
}

// blockRoom returns the number of keys that a block has room for. The last of the blocks has room
// for last keys, or for Block keys if last is 0.
func blockRoom(block, blocks, last int) int {
	if last != 0 && block == blocks-1 {
		return last
	}
	return Block
}

// attend computes one task: a tile of queries of some heads. If store is set, it first stores the
// keys and values of these heads.
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
			Rows: min(tile, s.queries()-first),
			K:    s.Keys, V: s.Values, Before: before + head, Room: s.Room,
			DK: s.KeyDim, DV: s.ValueDim,
			Keys: s.Tokens, See: s.Tokens - s.queries() + first + 1, Step: 1,
			Scale: scale,
		})
		if s.Keep != nil || s.Weights != nil || s.Scores != nil {
			s.watch(&w.attentions[len(w.attentions)-1], head, first)
		}
	}
	w.attendTiles()
}

// watch sets what is hidden and wanted of the attention of one head, from a query on.
func (s *Span) watch(a *Attention, head, first int) {
	a.LDM, a.LDW = s.Tokens, s.Tokens
	at := (head*s.queries() + first) * s.Tokens
	if s.Keep != nil {
		a.Keep = s.Keep[at:]
	}
	if s.Weights != nil {
		a.Weights = s.Weights[at:]
	}
	if s.Scores != nil {
		a.Scores = s.Scores[at:]
	}
}

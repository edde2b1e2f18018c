package kernels

// Softmax attention of a tile of queries over keys and values that lie in blocks: online, one block after the other, so
// that nothing grows with the number of keys.

import "math"

// Block is the number of keys in a block. Blocks start at multiples of it, whatever the query: the boundaries are part of
// the definition of the result.
const Block = 64

// An Attention is one head's attention for a tile of queries:
//
//	out[i] = Σ_j softmax_j(q[i]·k[j]·Scale + mask[i,j]) · v[j], over the keys j that row i sees
//
// Row i sees the first min(Keys, See+Step·i) keys, but for those that Keep hides: for causal attention See is one more than
// the first row's position and Step is 1; for full attention See is Keys and Step 0. A row that sees no key, or whose scores
// are all −Inf, gives zeros.
type Attention struct {
	Q    []float32 // [Rows, DK], rows LDQ apart
	LDQ  int
	Out  []float32 // [Rows, DV], rows LDO apart
	LDO  int
	Rows int

	K, V       [][]float32 // for each block, from KOff and VOff on: as StoreKV lays them out
	KOff, VOff int
	DK, DV     int
	Keys       int
	See, Step  int

	Scale float32
	Mask  []float32 // [Rows, Keys], added to the scores, rows LDM apart; nil for none
	Keep  []bool    // [Rows, Keys], false hides a key, rows LDM apart; nil for none
	LDM   int

	Weights []float32 // [Rows, Keys], rows LDW apart: where to put the weights; nil where they are not wanted
	LDW     int
}

// visible returns how many keys row i sees.
func (a *Attention) visible(i int) int { return max(0, min(a.Keys, a.See+a.Step*i)) }

// panel returns how many columns the panel from column j of n on has.
func panel(j, n int) int { return min(tileCols, n-j) }

// An attendTile is the working memory of one Attention. Rows that lie a multiple of 512 bytes apart fall on the same few
// lines of the cache: queries and outputs are worked on in copies whose rows do not.
type attendTile struct {
	Attention
	v            *variant
	q            []float32 // [Rows, DK], rows ldq apart
	ldq          int
	acc          []float32 // [Rows, DV], rows lda apart
	lda          int
	scores       []float32 // [Rows, Block]
	maxima, sums []float32 // [Rows]
	hidden       []float32 // [Block]
}

// stride returns how far apart rows of n floats are to lie.
func stride(n int) int {
	if n%128 == 0 {
		n += tileCols
	}
	return n
}

// Attend computes one tile. It is one task: no other worker takes part, and there is no barrier.
func (w *Worker) Attend(a *Attention) {
	t := w.attendTile(a)
	for b := 0; b*Block < a.visible(a.Rows-1); b++ {
		t.score(b)
		t.softmax(b)
		t.values(b)
	}
	for i := range a.Rows {
		out := a.Out[i*a.LDO : i*a.LDO+a.DV]
		copy(out, t.acc[i*t.lda:])
		if t.sums[i] != 0 {
			t.v.scale(out, float32(1/t.sums[i]))
		}
	}
	if a.Weights != nil {
		t.weights()
	}
}

func (w *Worker) attendTile(a *Attention) attendTile {
	t := attendTile{Attention: *a, v: w.team.variant, q: a.Q, ldq: a.LDQ, lda: stride(a.DV)}
	buffer := w.floats(scratchScores, a.Rows*(Block+stride(a.DK)+t.lda))
	t.scores, buffer = buffer[:a.Rows*Block], buffer[a.Rows*Block:]
	t.acc, buffer = buffer[:a.Rows*t.lda], buffer[a.Rows*t.lda:]
	clear(t.acc)
	if a.Rows > 1 {
		t.q, t.ldq = buffer, stride(a.DK)
		for i := range a.Rows {
			copy(t.q[i*t.ldq:], a.Q[i*a.LDQ:i*a.LDQ+a.DK])
		}
	}
	state := w.floats(scratchState, 2*a.Rows+Block)
	t.maxima, t.sums, t.hidden = state[:a.Rows], state[a.Rows:2*a.Rows], state[2*a.Rows:]
	for i := range a.Rows {
		t.maxima[i], t.sums[i] = float32(math.Inf(-1)), 0
	}
	return t
}

// score sets scores [Rows, Block] to the products of the queries with the keys of block b.
func (t *attendTile) score(b int) {
	n := min(Block, t.visible(t.Rows-1)-b*Block)
	clear(t.scores)
	keys := t.K[b][t.KOff:] // [Block/16, DK, 16]
	t.v.tile(t.scores, Block, t.q, t.ldq, 1, keys, tileCols, t.DK*tileCols, t.Rows, t.DK, (n+tileCols-1)/tileCols)
}

// softmax replaces the scores that each row sees in block b by exp(score − running maximum), and brings the row's running sum
// and output to the new maximum.
func (t *attendTile) softmax(b int) {
	for i := range t.Rows {
		highest := t.scale(b, i, t.maxima[i])
		if highest != t.maxima[i] {
			shrink := exp(float32(t.maxima[i] - highest))
			t.sums[i] = float32(t.sums[i] * shrink)
			t.v.scale(t.acc[i*t.lda:i*t.lda+t.DV], shrink)
			t.maxima[i] = highest
		}
	}
	for i := range t.Rows { // apart from the loop above, so that one row's exponentials need not wait for its maximum
		s := t.row(b, i)
		if math.IsInf(float64(t.maxima[i]), -1) { // nothing seen so far
			clear(s)
			continue
		}
		t.sums[i] = float32(t.sums[i] + t.v.expShift(s, t.maxima[i]))
	}
}

// row returns the scores of row i with the keys that it sees in block b.
func (t *attendTile) row(b, i int) []float32 {
	return t.scores[i*Block : i*Block+max(0, min(Block, t.visible(i)-b*Block))]
}

// scale turns the products of row i with the keys that it sees in block b into scores, and returns the greatest of them and highest.
func (t *attendTile) scale(b, i int, highest float32) float32 {
	s := t.row(b, i)
	n := len(s)
	var mask []float32
	if t.Mask != nil {
		mask = t.Mask[i*t.LDM+b*Block:][:n]
	}
	if t.Keep != nil {
		hidden := t.hidden[:n]
		clear(hidden)
		copy(hidden, mask)
		for j, keep := range t.Keep[i*t.LDM+b*Block:][:n] {
			if !keep {
				s[j], hidden[j] = 0, float32(math.Inf(-1)) // whatever the product was, NaN too
			}
		}
		mask = hidden
	}
	return t.v.scoresMax(s, mask, t.Scale, highest)
}

// values adds the values of block b to the output, weighted: the chain of each output runs over the keys that its row sees.
func (t *attendTile) values(b int) {
	first, last := t.visible(0)-b*Block, t.visible(t.Rows-1)-b*Block
	if first >= Block || first == last {
		t.add(b, 0, t.Rows, 0, min(Block, first))
		return
	}
	// A staircase: of a few rows, the keys that all see go together, the rest row by row.
	for i := 0; i < t.Rows; i += tileRows {
		rows := min(tileRows, t.Rows-i)
		common := max(0, min(Block, t.visible(i)-b*Block))
		t.add(b, i, rows, 0, common)
		for r := i; r < i+rows; r++ {
			t.add(b, r, 1, common, min(Block, t.visible(r)-b*Block))
		}
	}
}

// add goes on with the chains of some rows over the keys from … to of block b.
func (t *attendTile) add(b, first, rows, from, to int) {
	if from >= to {
		return
	}
	values, weights := t.V[b][t.VOff:], t.scores[first*Block+from:] // [⌈DV/16⌉, Block, 16]
	panels := t.DV / tileCols
	if panels > 0 {
		t.v.tile(t.acc[first*t.lda:], t.lda, weights, Block, 1, values[from*tileCols:], tileCols, Block*tileCols, rows, to-from, panels)
	}
	if rest := panels * tileCols; rest < t.DV { // the last panel, which is narrow
		cols := t.DV - rest
		for i := range rows {
			t.v.chain(t.acc[(first+i)*t.lda+rest:][:cols], weights[i*Block:i*Block+to-from], values[rest*Block+from*cols:], cols)
		}
	}
}

// weights computes the scores once more, now that the maxima and sums are known.
func (t *attendTile) weights() {
	for i := range t.Rows {
		clear(t.Weights[i*t.LDW : i*t.LDW+t.Keys])
	}
	for b := 0; b*Block < t.visible(t.Rows-1); b++ {
		t.score(b)
		for i := range t.Rows {
			s := t.row(b, i)
			if len(s) == 0 || t.sums[i] == 0 {
				continue
			}
			t.scale(b, i, 0)
			t.v.expShift(s, t.maxima[i])
			t.v.scale(s, float32(1/t.sums[i]))
			copy(t.Weights[i*t.LDW+b*Block:], s)
		}
	}
}

// StoreKV writes one key [DK] and value [DV] as key number j of a block. A block of keys is [Block/16, DK, 16] and a block of
// values [⌈DV/16⌉, Block, 16], the last panel being as narrow as DV leaves it: they take DK·Block and DV·Block floats, and a
// register tile reads its 16 columns in one run.
func StoreKV(kBlock, vBlock []float32, j int, key, value []float32) {
	if dk := len(key); dk > 0 {
		k := kBlock[j/tileCols*tileCols*dk+j%tileCols:]
		for d, x := range key {
			k[d*tileCols] = x
		}
	}
	for d := 0; d < len(value); d += tileCols {
		cols := panel(d, len(value))
		copy(vBlock[d*Block+j*cols:][:cols], value[d:])
	}
}

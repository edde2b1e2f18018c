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
// Row i sees the first min(Keys, See+Step·i) keys: for causal attention See is one more than the first row's position and
// Step is 1; for full attention See is Keys and Step 0. A row that sees no key, or whose scores are all −Inf, gives zeros.
type Attention struct {
	Q    []float32 // [Rows, DK], rows LDQ apart
	LDQ  int
	Out  []float32 // [Rows, DV], rows LDO apart
	LDO  int
	Rows int

	K, V       [][]float32 // for each block of keys: K from KOff on is [DK, Block], keys as columns; V from VOff on is [Block, DV]
	KOff, VOff int
	DK, DV     int
	Keys       int
	See, Step  int

	Scale float32
	Mask  []float32 // [Rows, Keys], rows LDM apart; nil for none
	LDM   int
}

// visible returns how many keys row i sees.
func (a *Attention) visible(i int) int { return max(0, min(a.Keys, a.See+a.Step*i)) }

// Attend computes one tile. It is one task: no other worker takes part, and there is no barrier.
func (w *Worker) Attend(a *Attention) {
	scores := w.floats(scratchScores, a.Rows*Block)
	state := w.floats(scratchState, 2*a.Rows)
	maxima, sums := state[:a.Rows], state[a.Rows:]
	for i := range a.Rows {
		maxima[i], sums[i] = float32(math.Inf(-1)), 0
		clear(a.Out[i*a.LDO : i*a.LDO+a.DV])
	}
	for b := 0; b*Block < a.visible(a.Rows-1); b++ {
		w.scores(a, b, scores)
		w.softmax(a, b, scores, maxima, sums)
		w.values(a, b, scores)
	}
	for i := range a.Rows {
		if sums[i] != 0 {
			w.team.variant.scale(a.Out[i*a.LDO:i*a.LDO+a.DV], float32(1/sums[i]))
		}
	}
}

// scores sets scores [Rows, Block] to the products of the queries with the keys of block b.
func (w *Worker) scores(a *Attention, b int, scores []float32) {
	v := w.team.variant
	keys := a.K[b][a.KOff:] // [DK, Block]
	n := min(Block, a.visible(a.Rows-1)-b*Block)
	if a.Rows == 1 {
		clear(scores[:n])
		v.chain(scores[:n], a.Q[:a.DK], keys, Block)
		return
	}
	clear(scores[:a.Rows*Block])
	for j := 0; j < n; j += tileCols {
		for i := 0; i < a.Rows; i += tileRows {
			v.tile(scores[i*Block+j:], Block, a.Q[i*a.LDQ:], a.LDQ, keys[j:], Block, min(tileRows, a.Rows-i), a.DK, 0)
		}
	}
}

// softmax replaces the scores that each row sees in block b by exp(score − running maximum), and brings the row's running sum and output to
// the new maximum.
func (w *Worker) softmax(a *Attention, b int, scores, maxima, sums []float32) {
	v := w.team.variant
	for i := range a.Rows {
		n := min(Block, a.visible(i)-b*Block)
		if n <= 0 {
			continue
		}
		s := scores[i*Block : i*Block+n]
		var mask []float32
		if a.Mask != nil {
			mask = a.Mask[i*a.LDM+b*Block:][:n]
		}
		highest := v.scoresMax(s, mask, a.Scale, maxima[i])
		if math.IsInf(float64(highest), -1) { // all masked so far
			clear(s)
			continue
		}
		if highest != maxima[i] {
			shrink := exp(float32(maxima[i] - highest))
			sums[i] = float32(sums[i] * shrink)
			v.scale(a.Out[i*a.LDO:i*a.LDO+a.DV], shrink)
			maxima[i] = highest
		}
		sums[i] = float32(sums[i] + v.expShift(s, highest))
	}
}

// values adds the values of block b to the output, weighted: the chain of each output runs over the keys that its row sees.
func (w *Worker) values(a *Attention, b int, weights []float32) {
	v := w.team.variant
	values := a.V[b][a.VOff:] // [Block, DV]
	whole := a.DV / tileCols * tileCols
	for i := 0; i < a.Rows; i += tileRows {
		rows := min(tileRows, a.Rows-i)
		common := 0 // keys that every row of the tile sees: these go as a tile, the rest row by row
		if rows > 1 {
			common = max(0, min(Block, a.visible(i)-b*Block))
		}
		for j := 0; j < whole && common > 0; j += tileCols {
			v.tile(a.Out[i*a.LDO+j:], a.LDO, weights[i*Block:], Block, values[j:], a.DV, rows, common, 0)
		}
		for r := i; r < i+rows; r++ {
			out, p := a.Out[r*a.LDO:r*a.LDO+a.DV], weights[r*Block:]
			n := max(0, min(Block, a.visible(r)-b*Block))
			if common > 0 && whole < a.DV {
				v.chain(out[whole:], p[:common], values[whole:], a.DV)
			}
			if n > common {
				v.chain(out, p[common:n], values[common*a.DV:], a.DV)
			}
		}
	}
}

// StoreKV writes one key [DK] and value [DV] as key number j of a block's K [DK, Block] and V [Block, DV].
func StoreKV(kBlock, vBlock []float32, j int, key, value []float32) {
	for d, x := range key {
		kBlock[d*Block+j] = x
	}
	copy(vBlock[j*len(value):], value)
}

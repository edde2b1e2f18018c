package kernels

// Softmax attention of a tile of queries over keys and values in blocks. It is online: it processes
// one block after the other, so that no memory grows with the number of keys.

import "math"

// Block is the number of keys in a block. Blocks start at multiples of Block for every query: the
// boundaries are part of the definition of the result.
const Block = 64

// An Attention is one head's attention for a tile of queries:
//
//	out[i] = Σ_j softmax_j(q[i]·k[j]·Scale + mask[i,j]) · v[j], over the keys j that row i sees
//
// Row i sees the first min(Keys, See+Step·i) keys: for causal attention See is the first row's
// position plus one and Step is 1; for full attention See is Keys and Step 0. Of these keys, those
// whose Keep is false or whose Mask is −Inf are hidden. A row that sees no key gives zeros.
//
// Nothing else hides a key. A row that sees a score which is NaN or +Inf gives NaN, and so does a
// row that sees keys but only scores that have overflowed to −Inf. A score of −Inf beside greater
// scores has a weight of 0.
type Attention struct {
	Q    []float32 // [Rows, DK], rows LDQ apart
	LDQ  int
	Out  []float32 // [Rows, DV], rows LDO apart
	LDO  int
	Rows int

	K, V   []KV // for each block
	Before int  // heads in a block before this one
	Room   int  // number of keys that the last block has room for; 0 for all of Block
	// if not 0, the values of a block, in F32, are row-major with rows LDV apart
	LDV       int
	DK, DV    int
	Keys      int
	See, Step int

	Scale float32
	Mask  []float32 // [Rows, Keys], added to the scores, rows LDM apart; nil for none
	Keep  []bool    // [Rows, Keys], false hides a key, rows LDM apart; nil for none
	LDM   int

	// [Rows, Keys], rows LDW apart, nil if not wanted: the attention weights are written here,
	// and the scores after Scale and Mask, −Inf where a key is not seen
	Weights, Scores []float32
	LDW             int
}

// visible returns how many keys row i sees.
func (a *Attention) visible(i int) int { return max(0, min(a.Keys, a.See+a.Step*i)) }

// An attendTile is the working memory of one Attention. Rows that lie a multiple of 512 bytes apart
// share a few lines of the cache: such queries are copied.
type attendTile struct {
	Attention
	v   *variant
	q   []float32 // [Rows, DK], rows ldq apart
	ldq int
	// the output so far, [⌈DV/64⌉, Rows, 64], the last part narrower if DV is no multiple of 64
	acc          []float32
	part         []float32 // what one block adds to 64 columns of acc, [Rows, 64]
	scores       []float32 // [Rows, Block]
	maxima, sums []float32 // [Rows]
	shrink       []float32 // [Rows]
	hidden       []float32 // [Block]
	wide         []float32 // a part of a block in F16, for several queries: see widened
	soon         soon      // the memory that is read next
	rowK, rowV   int       // see KVRow

	// in Q8: the queries as integers, from row query on, and the weights of a block's values
	queries, weighed *quantRows
	query            int
	later            later
}

// quantized reports whether keys and values are in Q8.
func (t *attendTile) quantized() bool { return t.queries != nil }

// stride returns the distance at which rows of n floats should lie.
func stride(n int) int {
	if n%128 == 0 {
		n += panelCols
	}
	return n
}

// AttendTile computes one tile. It is one task: no other worker takes part, and it does not wait at
// a barrier.
func (w *Worker) AttendTile(a *Attention) {
	w.attentions = append(w.attentions[:0], *a)
	w.attendTiles()
}

// attendTiles computes w.attentions: tiles of one size of several heads, which see the same keys.
// It processes them block by block, so that neighbouring heads read one long run of memory.
func (w *Worker) attendTiles() {
	w.prepareTiles()
	last := w.tiles[0].visible(w.tiles[0].Rows - 1)
	for b := 0; b*Block < last; b++ {
		for i := range w.tiles {
			t := &w.tiles[i]
			t.soon, t.later = w.soon(b, i), w.later(b, i)
			t.score(b)
			t.softmax(b)
			t.values(b)
		}
	}
	for i := range w.tiles {
		t := &w.tiles[i]
		t.finish()
		if t.Weights != nil || t.Scores != nil {
			t.weights()
		}
	}
	clear(w.attentions) // they refer to the callers' memory
	clear(w.tiles)
}

// prepareTiles makes w.tiles from w.attentions. Each tile has its own memory for what it needs from
// block to block; all tiles share the rest.
func (w *Worker) prepareTiles() {
	a := &w.attentions[0]
	rows, heads := a.Rows, len(w.attentions)
	shared, own := rows*(Block+outCols), rows*(a.DV+stride(a.DK))
	buffer := w.floats(scratchScores, shared+heads*own)
	state := w.floats(scratchState, rows+Block+heads*2*rows)
	common := attendTile{
		v: w.team.variant, scores: buffer[:rows*Block], part: buffer[rows*Block : shared],
		shrink: state[:rows], hidden: state[rows : rows+Block],
	}
	if rows > 1 && len(a.K) > 0 && a.K[0].F16 != nil {
		common.wide = w.floats(scratchPack, max(a.DK, outCols)*Block)
	}
	if len(a.K) > 0 {
		format := a.K[0].format()
		common.rowK, common.rowV = KVRow(format, a.DK, a.DV)
		if format == Q8 {
			w.queries = w.queries.grown(heads*rows, blocksOf(a.DK))
			w.weighed = w.weighed.grown(rows, blocksOf(Block))
			common.queries, common.weighed = w.queries, w.weighed
		}
	}
	buffer, state = buffer[shared:], state[rows+Block:]
	w.tiles = w.tiles[:0]
	for i := range w.attentions {
		t := common
		t.Attention, t.query = w.attentions[i], i*rows
		t.begin(buffer[i*own:(i+1)*own], state[i*2*rows:(i+1)*2*rows])
		w.tiles = append(w.tiles, t)
	}
}

// begin assigns a tile its own memory, and sets the state before any key.
func (t *attendTile) begin(buffer, state []float32) {
	t.acc, buffer = buffer[:t.Rows*t.DV], buffer[t.Rows*t.DV:]
	clear(t.acc)
	if t.quantized() {
		t.quantizeQueries()
	}
	t.q, t.ldq = t.Q, t.LDQ
	if t.Rows > 1 && t.LDQ%128 == 0 {
		t.q, t.ldq = buffer, stride(t.DK)
		for i := range t.Rows {
			copy(t.q[i*t.ldq:], t.Q[i*t.LDQ:i*t.LDQ+t.DK])
		}
	}
	t.maxima, t.sums = state[:t.Rows], state[t.Rows:]
	for i := range t.Rows {
		t.maxima[i], t.sums[i] = float32(math.Inf(-1)), 0
	}
}

// finish divides the outputs by the sums of their weights. If a row's maximum is still −Inf its sum
// is 0 or NaN: its result is zeros only if it sees no key.
func (t *attendTile) finish() {
	for i := range t.Rows {
		if math.IsInf(float64(t.maxima[i]), -1) && t.sees(i) {
			t.sums[i] = float32(math.NaN())
		}
		out := t.Out[i*t.LDO : i*t.LDO+t.DV]
		for j := 0; j < t.DV; j += outCols {
			part := t.outputs(i, j)
			if t.sums[i] != 0 {
				t.v.scale(part, float32(1/t.sums[i]))
			}
			copy(out[j:], part)
		}
	}
}

// sees reports whether row i sees a key that no mask hides.
func (t *attendTile) sees(i int) bool {
	for j := range t.visible(i) {
		kept := t.Keep == nil || t.Keep[i*t.LDM+j]
		if kept && (t.Mask == nil || !math.IsInf(float64(t.Mask[i*t.LDM+j]), -1)) {
			return true
		}
	}
	return false
}

// score sets scores [Rows, Block] to the products of the queries with the keys of block b. The
// scores of rows that see none of these keys do not change, and are not used.
func (t *attendTile) score(b int) {
	n := min(Block, t.visible(t.Rows-1)-b*Block)
	// whole panels: the scores of keys beyond the last are not used
	n = min((n+panelCols-1)/panelCols*panelCols, blockRoom(b, len(t.K), t.Room))
	first := t.seeing(b)
	clear(t.scores[first*Block:])
	switch {
	case t.quantized():
		t.scoreQ8(b, first, n)
		return
	case t.inPlace():
		t.scoreInPlace(b, n)
		return
	}
	keys := t.keys(b, n)
	middle := first // rows before it see none of the second half of a block
	for n > Block/2 && t.visible(middle) <= b*Block+Block/2 {
		middle++
	}
	if half := keys; middle > first {
		half.Cols = Block / 2
		t.v.multiply(t.scores[first*Block:], Block, t.q[first*t.ldq:], t.ldq, middle-first, &half, 0,
			t.DK, false)
	}
	t.v.multiply(t.scores[middle*Block:], Block, t.q[middle*t.ldq:], t.ldq, t.Rows-middle, &keys, 0,
		t.DK, false)
}

// seeing returns the first row that sees a key of block b.
func (t *attendTile) seeing(b int) int {
	i := 0
	for t.visible(i) <= b*Block {
		i++
	}
	return i
}

// softmax replaces the scores that each row sees in block b by exp(score − running maximum), and
// rescales the row's running sum and output to the new maximum.
func (t *attendTile) softmax(b int) {
	grown := false
	for i := range t.Rows {
		highest := t.scale(b, i, t.maxima[i])
		t.shrink[i] = 0
		if highest != t.maxima[i] {
			if t.sums[i] != 0 {
				t.shrink[i], grown = float32(t.maxima[i]-highest), true
			}
			t.maxima[i] = highest
		}
	}
	if grown {
		t.rescale()
	}
	t.later.fetch(t.v)
	for i := range t.Rows {
		shift := t.maxima[i]
		if math.IsInf(float64(shift), -1) { // all scores so far are −Inf, with weight 0, or NaN
			shift = 0
		}
		t.sums[i] = float32(t.sums[i] + t.v.expShift(t.row(b, i), shift))
	}
	t.later.fetch(t.v)
}

// rescale rescales the sums and outputs of the rows whose maximum has grown.
func (t *attendTile) rescale() {
	t.v.expShift(t.shrink, 0) // all at once; exp(0) = 1 for rows whose maximum has not grown
	for i, by := range t.shrink {
		if by == 1 {
			continue
		}
		t.sums[i] = float32(t.sums[i] * by)
		for j := 0; j < t.DV; j += outCols {
			t.v.scale(t.outputs(i, j), by)
		}
	}
}

// outputs returns the output so far of row i in the outCols columns from j on.
func (t *attendTile) outputs(i, j int) []float32 {
	cols := min(outCols, t.DV-j)
	return t.acc[j*t.Rows+i*cols:][:cols]
}

// row returns the scores of row i with the keys that it sees in block b.
func (t *attendTile) row(b, i int) []float32 {
	return t.scores[i*Block : i*Block+max(0, min(Block, t.visible(i)-b*Block))]
}

// scale turns the products of row i with the keys that it sees in block b into scores, and returns
// the greatest of them and highest. It skips NaN, which is still among the scores when the
// exponentials are summed.
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
				s[j], hidden[j] = 0, float32(math.Inf(-1)) // whatever the product was, also NaN
			}
		}
		mask = hidden
	}
	return t.v.scoresMax(s, mask, t.Scale, highest)
}

// values adds the weighted values of block b to the output. The chain of each output runs over the
// keys of the block that its row sees, from +0, and is then added: sums of sums lose less precision
// than one chain over all keys.
func (t *attendTile) values(b int) {
	if t.inPlace() {
		t.valuesInPlace(b)
		return
	}
	seeing := t.seeing(b) // rows before it do not change
	if t.quantized() {
		t.valuesQ8(b, seeing)
		return
	}
	first, last := t.visible(seeing)-b*Block, t.visible(t.Rows-1)-b*Block
	for j := 0; j < t.DV; j += outCols {
		cols := min(outCols, t.DV-j)
		values, acc := t.columns(b, j, cols), t.acc[j*t.Rows+seeing*cols:(j+cols)*t.Rows]
		same := first >= Block || first == last
		if same && cols%panelCols == 0 {
			t.v.multiply(acc, cols, t.scores[seeing*Block:], Block, t.Rows-seeing, &values, 0,
				min(Block, first), true)
			continue
		}
		part := t.part[:t.Rows*cols]
		clear(part)
		if same {
			t.weigh(part, seeing, t.Rows-seeing, &values, 0, min(Block, first))
		} else {
			t.staircase(b, part, seeing, &values)
		}
		t.v.add(acc, part[seeing*cols:])
	}
}

// outCols is the number of columns of the output that are computed together, so that what a block
// adds to them stays in the first caches.
const outCols = 64

// staircase multiplies the values by the weights if the rows do not all see the same keys. For a
// few rows, the keys that all see are taken together, the others row by row.
func (t *attendTile) staircase(b int, part []float32, from int, values *Panels) {
	for i := from; i < t.Rows; i += tileRows {
		rows := min(tileRows, t.Rows-i)
		common := min(Block, t.visible(i)-b*Block)
		t.weigh(part, i, rows, values, 0, common)
		for r := i + 1; r < i+rows; r++ {
			t.weigh(part, r, 1, values, common, min(Block, t.visible(r)-b*Block))
		}
	}
}

// weigh continues the sums of some rows over the keys from … to of a block.
func (t *attendTile) weigh(part []float32, first, rows int, values *Panels, from, to int) {
	if from < to {
		t.v.multiply(part[first*values.Cols:], values.Cols, t.scores[first*Block+from:], Block,
			rows, values, from, to, false)
	}
}

// weights computes the scores again, and the weights with the final maxima and sums.
func (t *attendTile) weights() {
	for i := range t.Rows {
		if t.Weights != nil {
			clear(t.Weights[i*t.LDW : i*t.LDW+t.Keys])
		}
		if t.Scores != nil {
			for j := range t.Keys {
				t.Scores[i*t.LDW+j] = float32(math.Inf(-1))
			}
		}
	}
	for b := 0; b*Block < t.visible(t.Rows-1); b++ {
		t.score(b)
		for i := range t.Rows {
			s := t.row(b, i)
			if len(s) == 0 {
				continue
			}
			t.scale(b, i, 0)
			if t.Scores != nil {
				copy(t.Scores[i*t.LDW+b*Block:], s)
			}
			if t.Weights == nil || t.sums[i] == 0 {
				continue
			}
			t.v.expShift(s, t.maxima[i])
			t.v.scale(s, float32(1/t.sums[i]))
			copy(t.Weights[i*t.LDW+b*Block:], s)
		}
	}
}

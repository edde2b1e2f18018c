package textzip

// Logits to frequencies: whole numbers in proportion to the probabilities.

import "picogpt/kernels"

// A frequency is ⌊exp(logit − greatest logit) · 2^30⌋ + 1: no id is impossible, and the 1 costs
// less than a ten-thousandth of a bit for a vocabulary of 50,257. The exponential is the kernels',
// which has the same bits on every machine, and sums of whole numbers do not depend on their order.
const one = 1 << 30

// run is the number of ids whose frequencies are summed together.
const run = 256

// frequencies are those of one row of logits.
type frequencies struct {
	each  []uint32 // [vocab_size]
	sums  []uint64 // of each run
	total uint64

	wide  [run]float64
	great [run / kernels.MaximaRun]float64
}

func newFrequencies(vocab int) *frequencies {
	return &frequencies{each: make([]uint32, vocab), sums: make([]uint64, (vocab+run-1)/run)}
}

// set computes the frequencies of logits [vocab_size]. Logits that are not finite give none: Eval
// reports them.
func (f *frequencies) set(l kernels.Leaves, logits []float32) {
	f.total = 0
	greatest, ok := f.greatest(l, logits)
	if !ok {
		return
	}
	for i := range f.sums {
		x := logits[i*run : min((i+1)*run, len(logits))]
		y := f.wide[:len(x)]
		l.Widen(y, x)
		l.Exp64s(y, y, greatest, 1)
		each, sum := f.each[i*run:][:len(y)], uint64(0)
		for j, v := range y {
			n := uint32(int32(v*one)) + 1
			each[j] = n
			sum += uint64(n)
		}
		f.sums[i] = sum
		f.total += sum
	}
}

// greatest returns the greatest logit, and whether all are finite.
func (f *frequencies) greatest(l kernels.Leaves, logits []float32) (greatest float64, ok bool) {
	greatest = float64(logits[0])
	for i := range f.sums {
		x := logits[i*run : min((i+1)*run, len(logits))]
		y := f.wide[:len(x)]
		if !l.Widen(y, x) {
			return 0, false
		}
		great := f.great[:(len(y)+kernels.MaximaRun-1)/kernels.MaximaRun]
		l.Maxima(great, y)
		for _, v := range great {
			greatest = max(greatest, v)
		}
	}
	return greatest, true
}

// symbol returns an id's symbol.
func (f *frequencies) symbol(id int) symbol {
	s := symbol{size: uint64(f.each[id]), total: f.total}
	for _, sum := range f.sums[:id/run] {
		s.low += sum
	}
	for _, n := range f.each[id/run*run : id] {
		s.low += uint64(n)
	}
	return s
}

// find returns the id whose symbol holds a value below the total.
func (f *frequencies) find(value uint64) (id int, s symbol) {
	s.total = f.total
	for s.low+f.sums[id/run] <= value {
		s.low += f.sums[id/run]
		id += run
	}
	for s.low+uint64(f.each[id]) <= value {
		s.low += uint64(f.each[id])
		id++
	}
	s.size = uint64(f.each[id])
	return id, s
}

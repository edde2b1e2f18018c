package textzip

// A range coder (Martin, 1979) of 64 bits, whose carries go into the bytes that are written; and
// its frequencies, which logits become: whole numbers in proportion to the probabilities.

import (
	"math/bits"

	"picogpt/kernels"
)

// least is the least range before a symbol. A total of frequencies is below 2^46 for vocabularies
// of up to 2^16 ids, so that what the division loses is less than a thousandth of a bit.
const least = 1 << 56

// A symbol is a part of the whole numbers below total: size of them, from low on.
type symbol struct{ low, size, total uint64 }

// An encoder writes symbols. The zero value is not ready: see newEncoder.
type encoder struct {
	low, width uint64
	out        []byte
}

func newEncoder() *encoder { return &encoder{width: 1<<64 - 1} }

func (e *encoder) encode(s symbol) {
	unit := e.width / s.total
	e.add(unit * s.low)
	e.width = unit * s.size
	for e.width < least {
		e.out = append(e.out, byte(e.low>>56))
		e.low <<= 8
		e.width <<= 8
	}
}

// add adds n to the number that is written.
func (e *encoder) add(n uint64) {
	sum, carry := bits.Add64(e.low, n, 0)
	e.low = sum
	for i := len(e.out) - 1; carry != 0; i-- {
		e.out[i]++
		if e.out[i] != 0 {
			carry = 0
		}
	}
}

// end returns all bytes. The last symbol takes one byte at most; a decoder reads zeros after them.
func (e *encoder) end() []byte {
	if e.low > 0 {
		// The first multiple of 2^56 from low on is within the range.
		e.add(least - 1)
		e.out = append(e.out, byte(e.low>>56))
	}
	for len(e.out) > 0 && e.out[len(e.out)-1] == 0 {
		e.out = e.out[:len(e.out)-1]
	}
	return e.out
}

// A decoder reads the symbols of an encoder.
type decoder struct {
	code, width uint64 // code is what is left above the range's beginning
	in          []byte
}

func newDecoder(in []byte) *decoder {
	d := &decoder{width: 1<<64 - 1, in: in}
	for range 8 {
		d.code = d.code<<8 | d.next()
	}
	return d
}

func (d *decoder) next() (b uint64) {
	if len(d.in) > 0 {
		b, d.in = uint64(d.in[0]), d.in[1:]
	}
	return b
}

// value returns a number that is within the next symbol. One that is not below total comes from a
// damaged file only.
func (d *decoder) value(total uint64) uint64 { return d.code / (d.width / total) }

// take removes a symbol that the value was within.
func (d *decoder) take(s symbol) {
	unit := d.width / s.total
	d.code -= unit * s.low
	d.width = unit * s.size
	for d.width < least {
		d.code = d.code<<8 | d.next()
		d.width <<= 8
	}
}

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

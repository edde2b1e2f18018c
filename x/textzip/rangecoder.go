package textzip

// A range coder (Martin, 1979) of 64 bits, whose carries go into the bytes that are written.

import "math/bits"

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

// What rules may make of a text: a file of some bytes can say that each letter becomes a million.

package tokenizer

import "fmt"

// A bound is on the bytes by which all rules together lengthen one text: growthFor each of its bytes
// and some more. No rule of Unicode makes more than 11 bytes of one, and spelling bytes as
// characters at most doubles that.
type bound struct {
	bytes int // of the text
	grown int
	err   error

	pause func() error // asked between steps; its error ends the work. It may be nil
	read  int          // bytes since it was asked
}

const (
	growthFor = 32 // of each byte of a text
	growth    = 64 << 10
	pauseFor  = 64 << 10 // bytes of parts
)

// grow counts so many bytes more or less. It is false where the bound is reached.
func (b *bound) grow(bytes int) bool {
	if b == nil {
		return true
	}
	b.grown += max(0, bytes)
	if most := growth + growthFor*b.bytes; b.grown > most && b.err == nil {
		b.err = fmt.Errorf("a text of %d bytes grows by more than %d by the rules of the vocabulary",
			b.bytes, most)
	}
	return b.err == nil
}

// step returns the error of what was done before, or that of pause.
func (b *bound) step() error {
	if b == nil {
		return nil
	}
	if b.err == nil && b.pause != nil {
		b.err, b.read = b.pause(), 0
	}
	return b.err
}

// part is step where there may be many small parts.
func (b *bound) part(bytes int) error {
	if b == nil {
		return nil
	}
	if b.read += bytes; b.read < pauseFor {
		return b.err
	}
	return b.step()
}

// fail keeps the error of a rule.
func (b *bound) fail(err error) {
	if b != nil && b.err == nil {
		b.err = err
	}
}

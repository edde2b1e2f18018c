// What rules may make of a text, and what that takes: a file of some bytes can say that each letter
// becomes a million, or that a thousand patterns are tried at each.

package tokenizer

import "fmt"

// A bound is on the bytes by which all rules together lengthen one text, and on their steps. No rule
// of Unicode makes more than 11 bytes of one, and spelling bytes as characters at most doubles that;
// the patterns of gpt-4o take 10 to 120 steps for a byte.
type bound struct {
	bytes  int // of the text
	grown  int
	worked int // steps: bytes that a rule reads, and what its pattern tries
	err    error

	pause func() error // asked between steps; its error ends the work. It may be nil
	since int          // steps since it was asked
}

const (
	growthFor = 32 // of each byte of a text
	growth    = 64 << 10
	workFor   = 512 // of each byte of a text
	work      = 16 << 20
	workPart  = 32       // steps of a part or a replacement besides its bytes
	pauseFor  = 64 << 10 // steps
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
	return b.work(workPart) == nil
}

// work counts steps. It returns the error of what was done before, or that of pause.
func (b *bound) work(steps int) error {
	if b == nil {
		return nil
	}
	b.worked += steps
	if most := work + workFor*b.bytes; b.worked > most && b.err == nil {
		b.err = fmt.Errorf("a text of %d bytes takes more than %d steps by the rules of the vocabulary",
			b.bytes, most)
	}
	if b.since += steps; b.since >= pauseFor && b.err == nil && b.pause != nil {
		b.err, b.since = b.pause(), 0
	}
	return b.err
}

// fail keeps the error of a rule.
func (b *bound) fail(err error) {
	if b != nil && b.err == nil {
		b.err = err
	}
}

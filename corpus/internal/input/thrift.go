package input

// Metadata of Parquet, in Thrift's compact protocol: walked through before a library allocates what
// it claims to hold.

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	mostItems   = 1 << 20 // of all lists together: for each, a reader makes a value of some hundred bytes
	mostNesting = 32
)

// errShort is of metadata that end within a value: their rest may be there.
var errShort = errors.New("broken Parquet metadata: they end within a value")

// A thriftWalk walks through the values of a struct.
type thriftWalk struct {
	b     []byte // what is left
	items int
}

// walkThrift returns how many bytes the struct at the beginning of b has.
func walkThrift(b []byte) (int, error) {
	w := thriftWalk{b: b}
	err := w.structure(0)
	return len(b) - len(w.b), err
}

func (w *thriftWalk) skip(n uint64) error {
	if n > uint64(len(w.b)) {
		return errShort
	}
	w.b = w.b[n:]
	return nil
}

func (w *thriftWalk) byte() (byte, error) {
	if len(w.b) == 0 {
		return 0, errShort
	}
	b := w.b[0]
	w.b = w.b[1:]
	return b, nil
}

func (w *thriftWalk) varint() (uint64, error) {
	n, size := binary.Uvarint(w.b)
	if size < 0 {
		return 0, errors.New("broken Parquet metadata: a number of more than 64 bits")
	} else if size == 0 {
		return 0, errShort
	}
	w.b = w.b[size:]
	return n, nil
}

// structure walks through fields, up to the one that ends them.
func (w *thriftWalk) structure(depth int) error {
	if depth > mostNesting {
		return fmt.Errorf("broken Parquet metadata: nested more than %d times", mostNesting)
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // its number follows
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind > 2 { // not a boolean, whose value is the kind
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

// value walks through a value of a kind.
func (w *thriftWalk) value(kind byte, depth int) error {
	switch kind {
	case 1, 2, 3: // a boolean of a list, a byte
		return w.skip(1)
	case 4, 5, 6: // integers
		_, err := w.varint()
		return err
	case 7: // a double
		return w.skip(8)
	case 8: // bytes
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case 9, 10: // a list, a set
		return w.list(depth)
	case 12:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("broken Parquet metadata: a value of kind %d", kind) // maps do not occur
}

func (w *thriftWalk) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.b)) { // each item has a byte at least
		return errShort
	}
	if w.items += int(n); w.items > mostItems {
		return fmt.Errorf("more than %d items in Parquet metadata", mostItems)
	}
	for range n {
		if err := w.value(head&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}

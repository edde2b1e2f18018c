package input

// Metadata of Parquet, in Thrift's compact protocol: checked before a library allocates what it
// claims to contain.

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// of all lists together: for each item, a reader allocates about a hundred bytes
	mostItems   = 1 << 20
	mostNesting = 32
)

// errShort is the error for metadata that end within a value. More bytes may complete them.
var errShort = errors.New("broken Parquet metadata: they end within a value")

// A thriftWalk reads the values of a struct.
type thriftWalk struct {
	b     []byte // the remaining bytes
	items int
}

// walkThrift returns the size of the struct at the beginning of b.
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

// structure reads fields, up to the one that ends them.
func (w *thriftWalk) structure(depth int) error {
	if depth > mostNesting {
		return fmt.Errorf("broken Parquet metadata: nested more than %d times", mostNesting)
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number follows
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind > 2 { // not a boolean, whose value is in its kind
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

// value reads a value of a kind.
func (w *thriftWalk) value(kind byte, depth int) error {
	switch kind {
	case 1, 2, 3: // a boolean in a list, a byte
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
	if n > uint64(len(w.b)) { // each item has at least one byte
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

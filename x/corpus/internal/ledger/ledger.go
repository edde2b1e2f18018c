// Package ledger stores what the end of a run needs of each document: a few numbers and its id, in
// the order of the documents, so that the results for the whole corpus are computed from a stream
// of them.
package ledger

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"picogpt/eval"
	"picogpt/x/corpus/internal/storage"
)

// A Writer writes entries.
type Writer struct {
	file   *storage.File
	buffer *bufio.Writer
	entry  []byte
}

// Create creates a ledger.
func Create(ctx context.Context, name string) (*Writer, error) {
	f, err := storage.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Writer{file: f, buffer: bufio.NewWriterSize(f, 1<<16)}, nil
}

// Write adds an entry: its length, then its bytes.
func (w *Writer) Write(e *Entry) error {
	w.entry = e.Append(w.entry[:0])
	if _, err := w.buffer.Write(binary.AppendUvarint(nil, uint64(len(w.entry)))); err != nil {
		return err
	}
	_, err := w.buffer.Write(w.entry)
	return err
}

// Commit gives the ledger its name.
func (w *Writer) Commit() error {
	if err := w.buffer.Flush(); err != nil {
		return err
	}
	return w.file.Commit()
}

// Abort discards the ledger, unless it is committed.
func (w *Writer) Abort() { w.file.Abort() }

// Read yields the entries of ledgers, one ledger after the other. An error comes last.
func Read(ctx context.Context, names ...string) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for _, name := range names {
			more := true
			err := read(ctx, name, func(e *Entry) bool {
				more = yield(e, nil)
				return more
			})
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", name, err))
				return
			}
			if !more {
				return
			}
		}
	}
}

// read calls take with the entries of one ledger, until it returns false.
func read(ctx context.Context, name string, take func(*Entry) bool) error {
	f, err := storage.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		size, err := binary.ReadUvarint(r)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(r, b); err != nil {
			return err
		}
		e, err := Parse(b)
		if err != nil {
			return err
		}
		if !take(e) {
			return nil
		}
	}
}

// Entries as bytes.

// An Entry holds what is stored of a document.
type Entry struct {
	Source, Line int     // the index of its source, and its first line
	ID           []byte  // its id in canonical form; nil if it has none
	Order        []byte  // the value of --order-field, as bytes that sort in the same order
	Count        int     // tokens with a log-probability
	Sum          float64 // of the log-probabilities

	// For a measured document, as in eval.Measured.
	Tokens, Words, Bytes, Scored int
	Windows                      []float64
	Squares                      float64
}

// Perplexity returns exp(−Sum/Count), or NaN if nothing is scored.
func (e *Entry) Perplexity() float64 {
	s := eval.Summary{Tokens: e.Count, Sum: e.Sum}
	return s.Perplexity()
}

// numbers returns pointers to the whole numbers of an entry, in order.
func (e *Entry) numbers() []*int {
	return []*int{&e.Source, &e.Line, &e.Count, &e.Tokens, &e.Words, &e.Bytes, &e.Scored}
}

// Append appends an entry to b.
func (e *Entry) Append(b []byte) []byte {
	for _, n := range e.numbers() {
		b = binary.AppendVarint(b, int64(*n))
	}
	for _, s := range [][]byte{e.ID, e.Order} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Windows)))
	for _, x := range append([]float64{e.Sum, e.Squares}, e.Windows...) {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

var errShort = errors.New("cut off within an entry")

// Parse reads an entry that is all of b.
func Parse(b []byte) (*Entry, error) {
	e := &Entry{}
	for _, to := range e.numbers() {
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, errShort
		}
		*to, b = int(n), b[size:]
	}
	for _, to := range []*[]byte{&e.ID, &e.Order} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, errShort
		}
		if b = b[size:]; n > 0 {
			*to = append(*to, b[:n]...)
		}
		b = b[n:]
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || uint64(len(b)-size) != 8*(n+2) {
		return nil, errShort
	}
	b = b[size:]
	floats := make([]float64, n+2)
	for i := range floats {
		floats[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	e.Sum, e.Squares = floats[0], floats[1]
	if n > 0 {
		e.Windows = floats[2:]
	}
	return e, nil
}

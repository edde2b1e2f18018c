// Package ledger stores what the end of a run needs of each document: a few numbers and its id, in
// the order of the documents, so that the results for the whole corpus are computed from a stream
// of them.
package ledger

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"

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

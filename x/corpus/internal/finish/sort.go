package finish

// Sorting more data than fits into memory.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/lanrat/extsort"
)

// A pair is sorted by its key, then by its value, both as bytes.
type pair struct{ key, value []byte }

func (a pair) compare(b pair) int {
	return cmp.Or(bytes.Compare(a.key, b.key), bytes.Compare(a.value, b.value))
}

func packPair(p pair) ([]byte, error) {
	b := binary.AppendUvarint(make([]byte, 0, len(p.key)+len(p.value)+2), uint64(len(p.key)))
	return append(append(b, p.key...), p.value...), nil
}

func unpackPair(b []byte) (pair, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return pair{}, fmt.Errorf("%d bytes, want a key and a value", len(b))
	}
	b = bytes.Clone(b[size:])
	return pair{b[:n], b[n:]}, nil
}

// chunk is the number of pairs that are sorted in memory; more pairs go to temporary files.
const chunk = 1 << 17

// A sorter takes pairs, and returns them sorted. The caller must close it.
type sorter struct {
	ctx    context.Context
	close  context.CancelFunc
	in     chan pair
	sorted chan struct{} // closed when Sort has ended, perhaps with an error
	out    <-chan pair
	errs   <-chan error
}

// newSorter starts a sorter.
func newSorter(ctx context.Context) *sorter {
	s := &sorter{in: make(chan pair, 1024), sorted: make(chan struct{})}
	s.ctx, s.close = context.WithCancel(ctx)
	var sort *extsort.GenericSorter[pair]
	sort, s.out, s.errs = extsort.Generic(s.in, unpackPair, packPair, pair.compare,
		&extsort.Config{ChunkSize: chunk, SortedChanBuffSize: 1024})
	go func() {
		defer close(s.sorted)
		sort.Sort(s.ctx)
	}()
	return s
}

// add adds a pair. all returns the error, so it must be called.
func (s *sorter) add(key, value []byte) {
	select {
	case s.in <- pair{key, value}:
	case <-s.sorted:
	}
}

// all yields the pairs in order. An error comes last.
func (s *sorter) all() iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		close(s.in)
		<-s.sorted
		for p := range s.out {
			if !yield(p, nil) {
				return
			}
		}
		if err := cmp.Or(<-s.errs, s.ctx.Err()); err != nil {
			yield(pair{}, fmt.Errorf("sorting: %w", err))
		}
	}
}

package finish

// Sorting more than fits into memory.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/lanrat/extsort"
)

// A pair is sorted by its key, then by its value, as bytes.
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

// chunk is how many pairs are sorted in memory; beyond them are temporary files.
const chunk = 1 << 17

// sorted yields pairs in their order. An error, of the source or of sorting, comes last.
func sorted(ctx context.Context, pairs iter.Seq2[pair, error]) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		in := make(chan pair, 1024)
		var failed error // written before in is closed
		go func() {
			defer close(in)
			for p, err := range pairs {
				if err != nil {
					failed = err
					return
				}
				select {
				case in <- p:
				case <-ctx.Done():
					return
				}
			}
		}()
		sorter, out, errs := extsort.Generic(in, unpackPair, packPair, pair.compare,
			&extsort.Config{ChunkSize: chunk, SortedChanBuffSize: 1024})
		sorter.Sort(ctx)
		if failed != nil {
			yield(pair{}, failed)
			return
		}
		for p := range out {
			if !yield(p, nil) {
				return
			}
		}
		if err := cmp.Or(<-errs, ctx.Err()); err != nil {
			yield(pair{}, err)
		}
	}
}

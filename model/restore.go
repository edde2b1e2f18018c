package model

// Save and Restore: a session as a file, and back.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"strconv"
	"strings"

	"picogpt/internal/engine"
	"picogpt/internal/outfile"
	"picogpt/kernels"
	"picogpt/weights"
)

// ErrNoDigest is returned by Save and Restore of a model without Options.Digest.
var ErrNoDigest = errors.New("snapshot: the model has no Options.Digest, want a checkpoint's")

// A RestoreError says why Restore has not taken all of a snapshot: it is damaged, or it is one of
// another model, number format or version. What is missing can be evaluated, with the same bits.
type RestoreError struct {
	Tokens int // how many tokens the session holds that Restore returned with the error
	Err    error
}

func (e *RestoreError) Error() string { return e.Err.Error() }

func (e *RestoreError) Unwrap() error { return e.Err }

// Save writes the session: its tokens, keys and values, in a form that any kernel and device reads.
// Restore gives a session that continues with the same bits. See [Snapshot] for the file, which
// gives the text away. The session does not change.
//
// Save takes its turn with Eval for one page after the other. Its errors are ErrNoDigest, the
// context's, ErrClosed, ErrInVisit, w's, and the device's.
func (s *Session) Save(ctx context.Context, w io.Writer) error { return s.SaveWith(ctx, w, nil) }

// SaveWith is Save with a note of the program's own, at most 64 MiB, which [ReadSnapshot] returns.
func (s *Session) SaveWith(ctx context.Context, w io.Writer, note []byte) error {
	if s.Edited() {
		return errors.New("snapshot: the session was computed with edits, want one without")
	}
	digest, err := s.model.Digest(ctx)
	if err != nil {
		return err
	}
	if len(note) > maxNote {
		return fmt.Errorf("snapshot: note of %d bytes, want at most %d", len(note), maxNote)
	}
	tokens := make([]byte, 4*len(s.tokens))
	for i, id := range s.tokens {
		binary.LittleEndian.PutUint32(tokens[4*i:], uint32(id))
	}
	tensors := []weights.Tensor{{Name: "tokens", DType: weights.I32, Shape: []int{len(s.tokens)},
		Data: tokens}}
	var sums []string
	for i := range (len(s.tokens) + kernels.Block - 1) / kernels.Block {
		t := s.model.pageTensor(i, min(kernels.Block, len(s.tokens)-i*kernels.Block))
		t.Fill = func(dst []byte, from int64) error {
			page, err := s.pageBytes(ctx, i, t.Shape[3])
			copy(dst, page[from:])
			return err
		}
		page, err := s.pageBytes(ctx, i, t.Shape[3])
		if err != nil {
			return err
		}
		sums = append(sums, fmt.Sprintf("%08x", crc32.Checksum(page, castagnoli())))
		tensors = append(tensors, t)
	}
	tensors = append(tensors, weights.Tensor{Name: "note", DType: weights.U8, Shape: []int{len(note)},
		Data: note})
	meta := map[string]string{
		snapshotKey: snapshotVersion, snapshotKey + ".model": digest,
		snapshotKey + ".weights": s.model.Format(), snapshotKey + ".cache": s.model.CacheFormat(),
		snapshotKey + ".arithmetic": strconv.Itoa(engine.Arithmetic),
		snapshotKey + ".pages":      strings.Join(sums, " "),
	}
	meta[snapshotKey+".checksum"] = snapshotSum(meta, tokens, note)
	return weights.Write(outfile.Cancellable(ctx, w), meta, tensors)
}

// Digest returns what Options.Digest returns. It takes its turn with Eval, so that the checkpoint
// stays open meanwhile.
func (m *Model) Digest(ctx context.Context) (string, error) {
	if m.digest == nil {
		return "", ErrNoDigest
	}
	if err := m.begin(ctx); err != nil {
		return "", err
	}
	defer m.end()
	return m.digest()
}

// pageBytes returns the first n positions of a page as they are in a file.
func (s *Session) pageBytes(ctx context.Context, page, n int) ([]byte, error) {
	numbers, err := s.readPage(ctx, page, n)
	b := numbers.Bytes()
	swapBytes(b, s.model.pageTensor(page, n).DType.Size())
	return b, err
}

// readPage returns the keys and values of the first n positions of a page, [2, n_layer, n_head, n,
// head_dim].
func (s *Session) readPage(ctx context.Context, page, n int) (kernels.KV, error) {
	m := s.model
	numbers := kernels.MakeKV(m.params.CacheFormat, m.pageTensor(page, n).Len())
	if err := m.begin(ctx); err != nil {
		return numbers, err
	}
	defer m.end()
	defer runtime.KeepAlive(s)
	return numbers, s.cache.cache.Read(numbers, page, n)
}

// Restore returns a new session that holds what Save wrote to a file of that size. It takes a page
// only if its checksum holds, evaluates the last token again, which gives the logits, and compares
// its keys and values with the file's.
//
// A *RestoreError says that not all of the file could be taken; the session then holds the tokens
// before what could not, or none. With every other error there is no session: ErrNoSnapshot,
// wrapped, ErrNoDigest, ErrCacheFull, ErrClosed, ErrInVisit, the context's, and the device's.
func (m *Model) Restore(ctx context.Context, r io.ReaderAt, size int64) (*Session, error) {
	if len(m.edits) > 0 {
		return nil, errors.New("snapshot: the model has edits, want one without")
	}
	digest, err := m.Digest(ctx)
	if err != nil {
		return nil, err
	}
	file, err := ReadSnapshot(r, size)
	if errors.Is(err, ErrNoSnapshot) {
		return nil, err
	}
	damage := err
	if err == nil {
		damage = file.check(m, digest)
	}
	s := m.NewSession()
	if damage == nil && len(file.Tokens) > 0 {
		if damage, err = s.take(ctx, file); err != nil {
			s.Release()
			return nil, err
		}
	}
	if damage != nil {
		return s, &RestoreError{s.Len(), fmt.Errorf("snapshot: %w", damage)}
	}
	return s, nil
}

// take makes the session hold the snapshot's tokens, up to the first page that is damaged.
func (s *Session) take(ctx context.Context, file *Snapshot) (damage, err error) {
	m := s.model
	memory := kernels.MakeKV(m.params.CacheFormat, m.pageTensor(0, file.positions(0)).Len())
	var last []byte // the keys and values of the last token
	n := 0
	for i := range file.pages {
		positions := file.positions(i)
		page := memory.Part(0, m.pageTensor(i, positions).Len())
		if damage = file.page(i, page); damage != nil {
			break
		}
		if err := s.writePage(ctx, i, positions, page); err != nil {
			return nil, err
		}
		last = m.lastRow(page, positions)
		n += positions
	}
	if n > 0 {
		err = s.evalLast(ctx, file.Tokens[:n], last)
		var other *NonFiniteError
		if errors.Is(err, errOther) || errors.As(err, &other) {
			s.Release()
			damage, err = errOther, nil
		}
	}
	return damage, err
}

// errOther says that a snapshot's numbers are not those that the model computes.
var errOther = errors.New("the keys and values of the last token are not the model's")

// evalLast evaluates the last of the tokens, whose pages the cache holds. It returns errOther if
// that gives other keys and values.
func (s *Session) evalLast(ctx context.Context, tokens []int, want []byte) error {
	last := len(tokens) - 1
	s.tokens = append(s.tokens, tokens[:last]...)
	s.cache.truncate(last)
	err := s.model.Eval(ctx, Input{Session: s, Tokens: tokens[last:]})
	if err != nil {
		return Cause(err)
	}
	positions := last%kernels.Block + 1
	page, err := s.readPage(ctx, last/kernels.Block, positions)
	if err == nil && !bytes.Equal(s.model.lastRow(page, positions), want) {
		err = errOther
	}
	return err
}

// lastRow returns the keys and values of the last of n positions of a page, [2, n_layer, n_head,
// head_dim], as bytes.
func (m *Model) lastRow(page kernels.KV, n int) (row []byte) {
	b := page.Bytes()
	each := len(b) / (2 * len(m.params.H) * m.params.Heads * n)
	for at := (n - 1) * each; at < len(b); at += n * each {
		row = append(row, b[at:at+each]...)
	}
	return row
}

// writePage adds a page to the session's cache.
func (s *Session) writePage(ctx context.Context, page, n int, from kernels.KV) error {
	if err := s.model.begin(ctx); err != nil {
		return err
	}
	defer s.model.end()
	defer runtime.KeepAlive(s)
	if err := s.cache.cache.Reserve(n); err != nil {
		return err
	}
	if err := s.cache.cache.Write(page, n, from); err != nil {
		s.cache.cache.Rollback()
		return err
	}
	s.cache.cache.Commit()
	return nil
}

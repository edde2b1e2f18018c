package model

// Snapshots: what a file of a session says, read and checked before anything is taken from it.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/weights"
)

// A Snapshot is what a file says that [Session.Save] has written, all but the keys and values.
//
// The file is safetensors. Tensor tokens is I32 [n]; page.000000, page.000001, … are F32 or F16
// [2, n_layer, n_head, positions, head_dim], keys before values, of 64 positions each, the last one
// of the rest; note is U8. The metadata have the version of this layout (picogpt.session), the keys
// below, and picogpt.session.checksum: the SHA-256 of a line "key" "value" for each other key in
// order, a line with the numbers of bytes of tokens and note, and these bytes. The checksum of a
// page is its CRC-32C. Checksums find accidents: they are no signature, and nothing is encrypted.
type Snapshot struct {
	Model      string // picogpt.session.model: the digest of the checkpoint
	Weights    string // picogpt.session.weights: the number format of the linear layers
	Cache      string // picogpt.session.cache: the number format of keys and values
	Arithmetic int    // picogpt.session.arithmetic: the version of the engine's order of operations
	Tokens     []int
	Note       []byte // see [Session.SaveWith]

	pages []uint32 // picogpt.session.pages: their checksums
	file  *weights.Tensors
}

// ErrNoSnapshot is the error, wrapped, for a file that does not begin as a snapshot does.
var ErrNoSnapshot = errors.New("not a session that gpt has saved")

const (
	snapshotKey     = "picogpt.session" // its value is the version of the layout
	snapshotVersion = "1"

	// snapshotStart follows the length of the header. snapshotKey is the first key, because keys
	// are sorted and the others begin with it.
	snapshotStart = `{"__metadata__":{"` + snapshotKey + `":"`

	// maxNote bounds a note, in bytes.
	maxNote = 64 << 20
)

// ReadSnapshot reads what a file of that size says. It returns ErrNoSnapshot, wrapped, if the file
// does not begin as a snapshot does; another error says how the file is damaged, or that it has
// another version. Keys and values are not read.
func ReadSnapshot(r io.ReaderAt, size int64) (*Snapshot, error) {
	start := make([]byte, 8+len(snapshotStart))
	if n, err := r.ReadAt(start, 0); n < len(start) {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("%w: %d bytes", ErrNoSnapshot, n)
		}
		return nil, err
	}
	if string(start[8:]) != snapshotStart {
		return nil, ErrNoSnapshot
	}
	file, err := weights.FromReaders(weights.File{ReaderAt: r, Name: "header", Size: size})
	if err != nil {
		return nil, err
	}
	s := &Snapshot{file: file}
	if err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

// read reads and checks all but the pages' numbers.
func (s *Snapshot) read() error {
	meta := s.file.Metadata()
	if v := meta[snapshotKey]; v != snapshotVersion {
		return fmt.Errorf("version %q, want %s", v, snapshotVersion)
	}
	s.Model, s.Weights, s.Cache = meta[snapshotKey+".model"], meta[snapshotKey+".weights"],
		meta[snapshotKey+".cache"]
	var err error
	if s.Arithmetic, err = strconv.Atoi(meta[snapshotKey+".arithmetic"]); err != nil {
		return fmt.Errorf("arithmetic: %q, want a number", meta[snapshotKey+".arithmetic"])
	}
	for sum := range strings.FieldsSeq(meta[snapshotKey+".pages"]) {
		n, err := strconv.ParseUint(sum, 16, 32)
		if err != nil {
			return fmt.Errorf("pages: %q, want a checksum", sum)
		}
		s.pages = append(s.pages, uint32(n))
	}
	tokens, note := s.tensor("tokens"), s.tensor("note")
	switch most := len(s.pages) * kernels.Block; {
	case tokens.DType != weights.I32 || len(tokens.Shape) != 1:
		return fmt.Errorf("tokens: %s %v, want I32 [n]", tokens.DType, tokens.Shape)
	case tokens.Len() > most || tokens.Len() <= most-kernels.Block:
		return fmt.Errorf("%d tokens, want those of %d pages", tokens.Len(), len(s.pages))
	case note.DType != weights.U8 || len(note.Shape) != 1 || note.Len() > maxNote:
		return fmt.Errorf("note: %s %v, want U8 of at most %d bytes", note.DType, note.Shape, maxNote)
	}
	ids, err := tokens.Bytes()
	if err == nil {
		s.Note, err = note.Bytes()
	}
	if err != nil {
		return err
	}
	if sum := snapshotSum(meta, ids, s.Note); sum != meta[snapshotKey+".checksum"] {
		return fmt.Errorf("checksum of the header %s, want %s", sum, meta[snapshotKey+".checksum"])
	}
	s.Tokens = make([]int, tokens.Len())
	for i := range s.Tokens {
		s.Tokens[i] = int(int32(binary.LittleEndian.Uint32(ids[4*i:])))
	}
	return nil
}

// tensor returns the tensor of that name, or one without a type.
func (s *Snapshot) tensor(name string) weights.Tensor {
	t, _ := s.file.Tensor(name)
	return t
}

// check returns why a model cannot take the snapshot's keys and values, nil if it can.
func (s *Snapshot) check(m *Model, digest string) error {
	p := m.params
	switch {
	case s.Model != digest:
		return fmt.Errorf("model: digest %.40q, want %s", s.Model, digest)
	case s.Weights != m.Format() || s.Cache != m.CacheFormat():
		return fmt.Errorf("formats: weights %.40q and cache %.40q, want %s and %s", s.Weights, s.Cache,
			m.Format(), m.CacheFormat())
	case s.Arithmetic != engine.Arithmetic:
		return fmt.Errorf("arithmetic: version %d, want %d", s.Arithmetic, engine.Arithmetic)
	case len(s.Tokens) > p.Positions:
		return &ContextError{0, len(s.Tokens), p.Positions}
	}
	for i, id := range s.Tokens {
		if id < 0 || id >= p.Vocab {
			return fmt.Errorf("token %d: id %d, want 0 to %d", i, id, p.Vocab-1)
		}
	}
	for i := range s.pages {
		t, want := s.tensor(pageName(i)), m.pageTensor(i, s.positions(i))
		if t.DType != want.DType || !slices.Equal(t.Shape, want.Shape) {
			return fmt.Errorf("%s: %s %v, want %s %v", want.Name, t.DType, t.Shape, want.DType,
				want.Shape)
		}
	}
	return nil
}

// positions returns how many positions page i has.
func (s *Snapshot) positions(i int) int { return min(kernels.Block, len(s.Tokens)-i*kernels.Block) }

// page reads the numbers of page i, and checks them.
func (s *Snapshot) page(i int, to kernels.KV) error {
	t, b := s.tensor(pageName(i)), to.Bytes()
	if err := t.Fill(b, 0); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	if sum := crc32.Checksum(b, castagnoli()); sum != s.pages[i] {
		return fmt.Errorf("%s: checksum %08x, want %08x", t.Name, sum, s.pages[i])
	}
	swapBytes(b, t.DType.Size())
	if !to.Finite() {
		return fmt.Errorf("%s: a number that is not finite", t.Name)
	}
	return nil
}

// Check reads all pages, and returns an error if a checksum does not hold.
func (s *Snapshot) Check() error {
	part := make([]byte, 1<<20)
	for i, want := range s.pages {
		t, sum := s.tensor(pageName(i)), uint32(0)
		for at := int64(0); at < t.Size(); at += int64(len(part)) {
			b := part[:min(int64(len(part)), t.Size()-at)]
			if err := t.Fill(b, at); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
			sum = crc32.Update(sum, castagnoli(), b)
		}
		if sum != want {
			return fmt.Errorf("%s: checksum %08x, want %08x", pageName(i), sum, want)
		}
	}
	return nil
}

// pageName returns the name of the tensor of page i.
func pageName(i int) string { return fmt.Sprintf("page.%06d", i) }

// pageTensor returns the tensor of page i, without its numbers.
func (m *Model) pageTensor(i, positions int) weights.Tensor {
	p, t := m.params, weights.Tensor{Name: pageName(i), DType: weights.F32}
	if p.CacheFormat == kernels.F16 {
		t.DType = weights.F16
	}
	t.Shape = []int{2, len(p.H), p.Heads, positions, p.HeadDim()}
	return t
}

// castagnoli returns the table of CRC-32C, which package crc32 makes once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// snapshotSum returns the checksum of metadata, tokens and note.
func snapshotSum(meta map[string]string, tokens, note []byte) string {
	var b bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key != snapshotKey+".checksum" {
			fmt.Fprintf(&b, "%q %q\n", key, meta[key])
		}
	}
	fmt.Fprintf(&b, "%d %d\n", len(tokens), len(note))
	h := sha256.New()
	h.Write(b.Bytes())
	h.Write(tokens)
	h.Write(note)
	return hex.EncodeToString(h.Sum(nil))
}

// swapBytes reverses each element of that size, if this machine's byte order is not the file's.
func swapBytes(b []byte, size int) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return
	}
	for ; len(b) >= size; b = b[size:] {
		slices.Reverse(b[:size])
	}
}

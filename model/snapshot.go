package model

// Snapshots: a session as a file, and back. What a file says is read and checked before anything is
// taken from it.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/engine"
	"picogpt/internal/outfile"
	"picogpt/kernels"
	"picogpt/weights"
)

// A Snapshot is what a file says that [Session.Save] has written, all but the keys and values.
//
// The file is safetensors. Tensor tokens is I32 [n]; page.000000, page.000001, … are F32 or F16
// [2, n_layer, n_head, positions, head_dim], keys before values, of 64 positions each, the last one
// of the rest; in Q8 they are U8, with rows as [kernels.PlainRow] says in place of head_dim numbers; note
// is U8. The metadata have the version of this layout (picogpt.session), the keys
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
		return fmt.Errorf("note: %s %v, want U8 of at most %d bytes", note.DType, note.Shape,
			maxNote)
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
		return fmt.Errorf("formats: weights %.40q and cache %.40q, want %s and %s", s.Weights,
			s.Cache, m.Format(), m.CacheFormat())
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

// page reads the numbers of page i, of heads of that width, and checks them.
func (s *Snapshot) page(i, headDim int, to kernels.KV) error {
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
	if !to.Finite(headDim) {
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
	switch p.CacheFormat {
	case kernels.F16:
		t.DType = weights.F16
	case kernels.Q8:
		t.DType = weights.U8
	}
	t.Shape = []int{2, len(p.H), p.Heads, positions, kernels.PlainRow(p.CacheFormat, p.HeadDim())}
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
	if s.model.virtual > 0 {
		return errVirtualSaved
	}
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
	if m.virtual > 0 {
		return nil, errVirtualSaved
	}
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
		if damage = file.page(i, m.params.HeadDim(), page); damage != nil {
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

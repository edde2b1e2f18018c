package model_test

// Files whose checksums hold and that no Save has written, changed anywhere; and what Save and
// Restore refuse.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/weights"
)

// A forgery is a snapshot that is changed, and written with the checksums of what it then holds.
type forgery struct {
	meta    map[string]string
	tensors map[string]*weights.Tensor
}

// forge changes a snapshot.
func forge(t *testing.T, file []byte, change func(f *forgery)) []byte {
	t.Helper()
	opened, err := weights.FromBytes("good", file)
	if err != nil {
		t.Fatal(err)
	}
	f := &forgery{maps.Clone(opened.Metadata()), map[string]*weights.Tensor{}}
	for _, x := range opened.All() {
		x.Data = slices.Clone(x.Data)
		f.tensors[x.Name] = &x
	}
	change(f)
	var sums []string
	var tensors []weights.Tensor
	for _, name := range slices.Concat([]string{"tokens"}, slices.Sorted(maps.Keys(f.tensors))) {
		x := f.tensors[name]
		if name == "tokens" && len(tensors) > 0 {
			continue
		}
		if tensors = append(tensors, *x); strings.HasPrefix(name, "page.") {
			sum := crc32.Checksum(x.Data, crc32.MakeTable(crc32.Castagnoli))
			sums = append(sums, fmt.Sprintf("%08x", sum))
		}
	}
	if f.meta["picogpt.session.pages"] != "as it is" {
		f.meta["picogpt.session.pages"] = strings.Join(sums, " ")
	}
	delete(f.meta, "picogpt.session.checksum")
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(f.meta)) {
		fmt.Fprintf(h, "%q %q\n", key, f.meta[key])
	}
	ids, note := f.tensors["tokens"].Data, f.tensors["note"].Data
	fmt.Fprintf(h, "%d %d\n", len(ids), len(note))
	h.Write(ids)
	h.Write(note)
	f.meta["picogpt.session.checksum"] = fmt.Sprintf("%x", h.Sum(nil))
	var b bytes.Buffer
	if err := weights.Write(&b, f.meta, tensors); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// number sets an element of a page.
func (f *forgery) number(page string, index int, x float32) {
	binary.LittleEndian.PutUint32(f.tensors[page].Data[4*index:], math.Float32bits(x))
}

// TestForgedSnapshots: 70 tokens of a model of 3 layers with 3 heads of 5, so that page 0 is
// [2, 3, 3, 64, 5] and page 1 [2, 3, 3, 6, 5].
func TestForgedSnapshots(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 100})
	o := model.Options{Digest: digested("own")}
	m := testmodel.New(t, config, file, o)
	s, ids := m.NewSession(), tokens(rand.New(rand.NewPCG(77, 78)), 70, 29)
	want := slices.Clone(eval(t, s, ids...))
	good := saved(t, s)
	if again := forge(t, good, func(*forgery) {}); !bytes.Equal(again, good) {
		t.Fatal("a forgery of what is there is another file")
	}
	meta := func(key, value string) func(f *forgery) {
		return func(f *forgery) { f.meta["picogpt.session"+key] = value }
	}
	token := func(id int32) func(f *forgery) {
		return func(f *forgery) {
			binary.LittleEndian.PutUint32(f.tensors["tokens"].Data[4*30:], uint32(id))
		}
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		change func(f *forgery)
		tokens int
		err    string
	}{
		{meta("", "2"), 0, `version "2", want 1`},
		{meta(".model", "another"), 0, `model: digest "another", want own`},
		{meta(".weights", "q8"), 0, `formats: weights "q8" and cache "f32", want f32 and f32`},
		{meta(".cache", "f16"), 0, `formats: weights "f32" and cache "f16", want f32 and f32`},
		{meta(".arithmetic", "999"), 0, "arithmetic: version 999, want 1"},
		{meta(".arithmetic", ""), 0, `arithmetic: "", want a number`},
		{token(29), 0, "token 30: id 29, want 0 to 28"},
		{token(-1), 0, "token 30: id -1, want 0 to 28"},
		{func(f *forgery) { f.number("page.000000", 0, nan) }, 0, "page.000000: a number that is not"},
		{func(f *forgery) { f.number("page.000001", 3, inf) }, 64, "page.000001: a number that is not"},
		{func(f *forgery) { f.number("page.000001", 3, -inf) }, 64, "page.000001: a number that is not"},
		{func(f *forgery) { f.number("page.000000", 0, 3) }, 0, "are not the model's"},
		{func(f *forgery) { f.number("page.000001", 2*3*3*6*5-1, 3) }, 0, "are not the model's"},
		{func(f *forgery) { f.tensors["page.000000"].Shape = []int{2, 3, 3, 5, 64} }, 0,
			"page.000000: F32 [2 3 3 5 64], want F32 [2 3 3 64 5]"},
		{func(f *forgery) { f.tensors["page.000001"].DType = weights.I32 }, 0,
			"page.000001: I32 [2 3 3 6 5], want F32"},
		{func(f *forgery) { delete(f.tensors, "page.000001") }, 0, "70 tokens, want those of 1 pages"},
		{func(f *forgery) {
			more := *f.tensors["page.000001"]
			more.Name = "page.000009"
			f.tensors["page.000009"] = &more
		}, 0, "70 tokens, want those of 3 pages"},
		{func(f *forgery) { f.meta["picogpt.session.pages"] = "as it is" }, 0, `"as", want a checksum`},
		{func(f *forgery) { f.tensors["tokens"].DType = weights.U32 }, 0, "tokens: U32 [70], want I32"},
		{func(f *forgery) { f.tensors["note"].Shape = []int{0, 1} }, 0, "note: U8 [0 1], want U8"},
	} {
		restored, err := restore(m, forge(t, good, c.change))
		var part *model.RestoreError
		if !errors.As(err, &part) || part.Tokens != c.tokens || restored.Len() != c.tokens ||
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("error %v of %v, want %s", err, part, c.err)
			continue
		}
		sameBits(t, c.err, eval(t, restored, ids[c.tokens:]...), want)
		restored.Release()
	}

	short, _ := fixture.Checkpoint(fixture.Options{Positions: 69})
	_, shortFile := fixture.Checkpoint(fixture.Options{Positions: 69})
	if _, err := restore(testmodel.New(t, short, shortFile, o), good); err == nil ||
		!strings.Contains(err.Error(), "70 more, want at most 69 (n_positions)") {
		t.Errorf("a context of 69 tokens: %v", err)
	}
}

func TestWhatSaveAndRestoreRefuse(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 200})
	ctx, o := context.Background(), model.Options{Digest: digested("own")}
	m := testmodel.New(t, config, file, o)
	s := m.NewSession()
	eval(t, s, tokens(rand.New(rand.NewPCG(79, 80)), 150, 29)...)
	good := saved(t, s)
	pages := s.Bytes()

	text := bytes.Repeat([]byte("text "), 99)
	for _, b := range [][]byte{nil, []byte("hello"), text, file, good[:40]} {
		if s, err := restore(m, b); !errors.Is(err, model.ErrNoSnapshot) || s != nil {
			t.Errorf("%.20q: %v", b, err)
		}
	}
	without := testmodel.New(t, config, file, model.Options{})
	if err := without.NewSession().Save(ctx, &bytes.Buffer{}); !errors.Is(err, model.ErrNoDigest) {
		t.Errorf("Save without a digest: %v", err)
	}
	if _, err := restore(without, good); !errors.Is(err, model.ErrNoDigest) {
		t.Errorf("Restore without a digest: %v", err)
	}
	unreadable := errors.New("the checkpoint cannot be read")
	o.Digest = func() (string, error) { return "", unreadable }
	if _, err := restore(testmodel.New(t, config, file, o), good); !errors.Is(err, unreadable) {
		t.Errorf("a digest that fails: %v", err)
	}

	o = model.Options{Digest: digested("own"), CacheBytes: pages - 1}
	small := testmodel.New(t, config, file, o)
	if s, err := restore(small, good); !errors.Is(err, model.ErrCacheFull) || s != nil ||
		small.CacheBytes() != 0 {
		t.Errorf("a cache that is too small: %v, %d bytes stay", err, small.CacheBytes())
	}
	o.CacheBytes = pages
	exact := testmodel.New(t, config, file, o)
	if s, err := restore(exact, good); err != nil || exact.CacheBytes() != pages {
		t.Errorf("a cache of the exact size: %v, %d bytes of %d", err, exact.CacheBytes(), pages)
	} else {
		s.Release()
	}

	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Save(ended, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Save with a context that has ended: %v", err)
	}
	if _, err := m.Restore(ended, bytes.NewReader(good), int64(len(good))); !errors.Is(err,
		context.Canceled) {
		t.Errorf("Restore with a context that has ended: %v", err)
	}
	var none context.Context
	if _, err := m.Restore(none, bytes.NewReader(good), int64(len(good))); !errors.Is(err,
		model.ErrNoContext) {
		t.Errorf("Restore without a context: %v", err)
	}
	err := m.Eval(ctx, model.Input{Session: m.NewSession(), Tokens: []int{1}, Visit: func(model.Row) {
		if err := s.Save(ctx, &bytes.Buffer{}); !errors.Is(err, model.ErrInVisit) {
			t.Errorf("Save in a Visit: %v", err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if err := s.Save(ctx, &bytes.Buffer{}); !errors.Is(err, model.ErrClosed) {
		t.Errorf("Save of a closed model: %v", err)
	}
}

// TestASnapshotSaysWhatItIs: ReadSnapshot needs no model.
func TestASnapshotSaysWhatItIs(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{CacheFormat: "f16", Digest: digested("own")})
	for n := range 3 {
		s, ids, note := m.NewSession(), []int{3, 1, 4}[:n], []byte("note"[:n])
		if n > 0 {
			eval(t, s, ids...)
		}
		var b bytes.Buffer
		if err := s.SaveWith(context.Background(), &b, note); err != nil {
			t.Fatal(err)
		}
		x, err := model.ReadSnapshot(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if x.Model != "own" || x.Weights != "f32" || x.Cache != "f16" || x.Arithmetic != 1 ||
			!slices.Equal(x.Tokens, ids) || !bytes.Equal(x.Note, note) {
			t.Errorf("%d tokens: %+v", n, x)
		}
		if restored, err := restore(m, b.Bytes()); err != nil || restored.Len() != n {
			t.Errorf("%d tokens: restored with %v", n, err)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 100})
	m := testmodel.New(f, config, file, model.Options{Digest: digested("own"), Threads: 1})
	s, ids := m.NewSession(), tokens(rand.New(rand.NewPCG(77, 78)), 70, 29)
	eval(f, s, ids...)
	good := saved(f, s)
	keys := []string{"", ".model", ".weights", ".cache", ".arithmetic", ".pages"}
	names := []string{"tokens", "note", "page.000000", "page.000001"}
	kinds := []weights.DType{weights.I32, weights.U8, weights.F32, weights.F16}
	f.Add(uint8(0), "1", uint8(0), uint8(0), uint16(280), []byte{1, 0, 0, 0}, uint16(4))
	f.Add(uint8(5), "as it is", uint8(1), uint8(1), uint16(3), []byte("abc"), uint16(0))
	f.Add(uint8(4), "99", uint8(3), uint8(2), uint16(2160), []byte{0, 0, 0xc0, 0x7f}, uint16(8))
	f.Add(uint8(9), "", uint8(9), uint8(9), uint16(0), []byte{}, uint16(900))
	f.Fuzz(func(t *testing.T, key uint8, value string, name, kind uint8, size uint16, data []byte, at uint16) {
		changed := forge(t, good, func(g *forgery) {
			if int(key) < len(keys) && strings.ToValidUTF8(value, "") == value {
				g.meta["picogpt.session"+keys[key]] = value
			}
			if int(name) >= len(names) {
				return
			}
			x := g.tensors[names[name]]
			if d := kinds[int(kind)%len(kinds)]; int(kind) < len(kinds) && int(size)%d.Size() == 0 {
				x.DType, x.Shape, x.Data = d, []int{int(size) / d.Size()}, slices.Grow(x.Data, int(size))[:size]
			}
			if int(at) < len(x.Data) {
				copy(x.Data[at:], data)
			}
		})
		if len(data)%2 == 1 { // and outside of the checksums
			copy(changed[min(int(at), len(changed)):], data)
		}
		snapshot, err := model.ReadSnapshot(bytes.NewReader(changed), int64(len(changed)))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		restored, err := restore(m, changed)
		if restored == nil {
			t.Fatalf("read, and not restored: %v", err)
		}
		defer restored.Release()
		var part *model.RestoreError
		if err != nil && (!errors.As(err, &part) || part.Tokens != restored.Len()) {
			t.Errorf("%v, with %d tokens", err, restored.Len())
		}
		if n := restored.Len(); n > len(snapshot.Tokens) || restored.Matches(snapshot.Tokens) != n {
			t.Errorf("%d tokens of %d, of which %d match", n, len(snapshot.Tokens), restored.Matches(snapshot.Tokens))
		}
		if err == nil {
			if err := snapshot.Check(); err != nil {
				t.Errorf("restored, and then: %v", err)
			}
			var again bytes.Buffer
			if err := restored.SaveWith(context.Background(), &again, snapshot.Note); err != nil {
				t.Fatal(err)
			}
			if read, err := model.ReadSnapshot(bytes.NewReader(again.Bytes()), int64(again.Len())); err != nil ||
				!slices.Equal(read.Tokens, snapshot.Tokens) || !bytes.Equal(read.Note, snapshot.Note) {
				t.Errorf("saved again, it is read as %v, %v", read, err)
			}
		}
	})
}

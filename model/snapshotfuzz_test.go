package model_test

// Snapshots that are changed anywhere, with checksums that hold.

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/weights"
)

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

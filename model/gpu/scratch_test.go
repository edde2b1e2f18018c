package gpu

import (
	"testing"

	"picogpt/kernels"
	"picogpt/model/stack"
)

// TestPartsHaveRoomForEveryBlock: a file may have blocks in Q8, whose layers are one part, before
// blocks of floats.
func TestPartsHaveRoomForEveryBlock(t *testing.T) {
	p := &stack.Params{Vocab: 9, Embd: 300, Heads: 1, Inner: 700}
	for _, f := range []kernels.Format{kernels.Q8, kernels.F32} {
		of := func(in, out int) stack.Linear {
			return stack.Linear{Weight: kernels.Matrix{Format: f, In: in, Out: out}}
		}
		p.H = append(p.H, stack.Block{CAttn: of(300, 900), AttnProj: of(300, 300),
			CFC: of(300, 700), MLPProj: of(700, 300)})
	}
	fake := newFake(t)
	s, err := newScratch(fake, p, 0, 16, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fake.live[s.parts], int64(4*16*2*900); got < want {
		t.Errorf("%d bytes of parts, want %d: c_attn in floats has two segments", got, want)
	}
}

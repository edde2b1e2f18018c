package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A head is one head's queries, keys and values, and the same keys and values in blocks.
type head struct {
	queries, keys, dk, dv int
	q, k, v, mask         []float32
	format                Format // of the blocks
	kBlocks, vBlocks      []KV
	room                  int // of the last block
}

// newHead makes a head whose last block has as little room as its keys need.
func newHead(rng *rand.Rand, queries, keys, dk, dv int) *head {
	return newHeadIn(F32, rng, queries, keys, dk, dv)
}

// newHeadIn is newHead with blocks of a format.
func newHeadIn(format Format, rng *rand.Rand, queries, keys, dk, dv int) *head {
	h := &head{queries: queries, keys: keys, dk: dk, dv: dv, format: format}
	h.q, h.k, h.v, h.mask = randoms(rng, queries*dk), randoms(rng, keys*dk), randoms(rng, keys*dv),
		randoms(rng, queries*keys)
	h.room = KVRoom(format)
	for h.room < (keys-1)%Block+1 {
		h.room *= 2
	}
	for j := range keys {
		room := blockRoom(j/Block, (keys+Block-1)/Block, h.room)
		if j%Block == 0 {
			garbage := func(n int) KV { // past the last key there may be anything
				b := MakeKV(format, n)
				for i := range b.F32 {
					b.F32[i] = float32(math.NaN())
				}
				for i := range b.F16 {
					b.F16[i] = 0x7e00
				}
				for i := range b.Q8 {
					b.Q8[i] = 0xff
				}
				return b
			}
			rowK, rowV := KVRow(format, dk, dv)
			h.kBlocks = append(h.kBlocks, garbage((headsBefore+1)*rowK*room))
			h.vBlocks = append(h.vBlocks, garbage((headsBefore+1)*rowV*room))
		}
		h.store(j, h.k[j*dk:(j+1)*dk], h.v[j*dv:(j+1)*dv])
	}
	return h
}

// store writes key and value j to their block, behind what other heads might have there.
func (h *head) store(j int, key, value []float32) {
	b := j / Block
	room := blockRoom(b, (h.keys+Block-1)/Block, h.room)
	rowK, rowV := KVRow(h.format, len(key), len(value))
	lone(goVariant).storeKV(h.kBlocks[b].from(headsBefore*rowK*room),
		h.vBlocks[b].from(headsBefore*rowV*room), room, j%Block, 1, key, 0, len(key), value, 0,
		len(value))
}

// headsBefore is how many other heads each block of a head has before it.
const headsBefore = 3

// lone returns a worker that is for operations without a barrier only.
func lone(v *variant) *Worker { return &Worker{team: &Team{variant: v}} }

// attention describes rows from … to of the head: causal or full, with or without the mask.
func (h *head) attention(out []float32, from, to int, causal, masked bool) *Attention {
	a := &Attention{Q: h.q[from*h.dk:], LDQ: h.dk, Out: out[from*h.dv:], LDO: h.dv, Rows: to - from,
		K: h.kBlocks, V: h.vBlocks, Before: headsBefore,
		Room: h.room, DK: h.dk, DV: h.dv, Keys: h.keys, See: h.keys,
		Scale: float32(1 / math.Sqrt(float64(h.dk)))}
	if causal {
		a.See, a.Step = h.keys-h.queries+from+1, 1
	}
	if masked {
		a.Mask, a.LDM = h.mask[from*h.keys:], h.keys
	}
	return a
}

// naive is the softmax in float64 over all keys at once.
func (h *head) naive(causal, masked bool) []float64 {
	out := make([]float64, h.queries*h.dv)
	for i := range h.queries {
		sees := h.keys
		if causal {
			sees = max(0, h.keys-h.queries+i+1)
		}
		p, high, sum := make([]float64, sees), math.Inf(-1), 0.0
		for j := range p {
			for d := range h.dk {
				p[j] += float64(h.q[i*h.dk+d]) * float64(h.k[j*h.dk+d])
			}
			p[j] /= math.Sqrt(float64(h.dk))
			if masked {
				p[j] += float64(h.mask[i*h.keys+j])
			}
			high = max(high, p[j])
		}
		for j := range p {
			p[j] = math.Exp(p[j] - high)
			sum += p[j]
		}
		for j := range p {
			for d := range h.dv {
				out[i*h.dv+d] += p[j] / sum * float64(h.v[j*h.dv+d])
			}
		}
	}
	return out
}

func attendTiles(t testing.TB, h *head, variant string, tile int, causal, masked bool) []float32 {
	out := make([]float32, h.queries*h.dv)
	newTeam(t, 2, variant).Run(func(w *Worker) {
		tiles := (h.queries + tile - 1) / tile
		for n := w.Next(); n < tiles; n = w.Next() {
			w.AttendTile(h.attention(out, n*tile, min((n+1)*tile, h.queries), causal, masked))
		}
		w.Sync()
	})
	return out
}

func TestAttend(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for _, s := range [][4]int{{1, 1, 4, 4}, {5, 5, 8, 8}, {70, 70, 64, 64}, {3, 200, 16, 20},
		{130, 150, 33, 17}, {1, 129, 64, 80}} {
		h := newHead(rng, s[0], s[1], s[2], s[3])
		for flags := range 4 {
			causal, masked := flags&1 == 1, flags&2 == 2
			want := h.naive(causal, masked)
			var first []float32
			for _, variant := range Variants() {
				for _, tile := range []int{1, 2, 6, 7, 32, 64, 200} {
					got := attendTiles(t, h, variant, tile, causal, masked)
					what := fmt.Sprintf("%s %v causal %v mask %v, tiles of %d", variant, s, causal,
						masked, tile)
					if first == nil {
						first = got
					}
					// the rows in a tile do not matter, nor the variant
					sameSlices(t, what, got, first)
					for i := range got {
						if math.Abs(float64(got[i])-want[i]) > 3e-6 {
							t.Fatalf("%s: [%d] is %v, want %v", what, i, got[i], want[i])
						}
					}
				}
			}
		}
	}
}

// A key that is not there yet, or is masked by a large negative number as GPT-2 masks it, changes
// nothing.
func TestAttendUnseenKeysDoNotCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	const keys, seen = 150, 70
	h := newHead(rng, 1, keys, 64, 64)
	full, masked := make([]float32, 64), make([]float32, 64)
	for j := range keys {
		h.mask[j] = 0
		if j >= seen {
			h.mask[j] = -1e10
		}
	}
	newTeam(t, 1, "").Run(func(w *Worker) {
		a := h.attention(full, 0, 1, false, false)
		a.Keys, a.See = seen, seen
		w.AttendTile(a)
		w.AttendTile(h.attention(masked, 0, 1, false, true))
	})
	sameSlices(t, "masked", masked, full)
}

func TestAttendOfNothingIsZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	h := newHead(rng, 3, 100, 8, 8)
	for i := range h.mask {
		h.mask[i] = float32(math.Inf(-1))
	}
	out := make([]float32, 3*8)
	newTeam(t, 1, "").Run(func(w *Worker) {
		for i := range out {
			out[i] = 7
		}
		w.AttendTile(h.attention(out, 0, 3, false, true))
		sameSlices(t, "all masked", out, make([]float32, len(out)))
		for i := range out {
			out[i] = 7
		}
		a := h.attention(out, 0, 3, false, false)
		a.See, a.Step = -1, 1 // rows 0 and 1 see nothing, row 2 one key
		w.AttendTile(a)
	})
	sameSlices(t, "no keys", out[:16], make([]float32, 16))
	sameSlices(t, "one key", out[16:], h.v[:8])
}

func TestABlockWithLessRoomGivesTheSameBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	for _, keys := range []int{1, 7, 8, 9, 16, 64, 70, 80, 97} {
		for _, variant := range Variants() {
			for _, format := range []Format{F32, F16, Q8} {
				h := newHeadIn(format, rng, min(keys, 3), keys, 20, 36)
				want := attendTiles(t, h, variant, 2, true, false)
				for room := h.room; room <= Block; room *= 2 {
					h.move(room)
					what := fmt.Sprintf("%s, %d keys in %v, room for %d", variant, keys, format, room)
					sameSlices(t, what, attendTiles(t, h, variant, 2, true, false), want)
				}
			}
		}
	}
}

// move gives the last block room for so many keys.
func (h *head) move(room int) {
	last := len(h.kBlocks) - 1
	rowK, rowV := KVRow(h.format, h.dk, h.dv)
	k, v := MakeKV(h.format, (headsBefore+1)*rowK*room), MakeKV(h.format, (headsBefore+1)*rowV*room)
	MoveKV(k.from(headsBefore*rowK*room), v.from(headsBefore*rowV*room), room,
		h.kBlocks[last].from(headsBefore*rowK*h.room), h.vBlocks[last].from(headsBefore*rowV*h.room),
		h.room, 1, h.dk, h.dv)
	h.kBlocks[last], h.vBlocks[last], h.room = k, v, room
}

// Checkpoints of GPT-2's shapes with random weights, so that speed can be measured without a download;
// and the random numbers of torch, which places of some adapters come from.

package checkpoint

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/weights"
)

// RandomShapes returns the names that RandomShape knows, smallest first.
func RandomShapes() []string { return []string{"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"} }

// RandomShape returns the configuration of one of GPT-2's four sizes.
func RandomShape(name string) (model.Config, error) {
	c := model.DefaultConfig()
	size, ok := map[string][3]int{"gpt2": {768, 12, 12}, "gpt2-medium": {1024, 24, 16},
		"gpt2-large": {1280, 36, 20}, "gpt2-xl": {1600, 48, 25}}[name]
	if !ok {
		return c, fmt.Errorf("--random: %q, want one of %v", name, RandomShapes())
	}
	c.Embd, c.Layer, c.Head, c.Inner = size[0], size[1], size[2], 4*size[0]
	return c, nil
}

// WriteRandom writes a checkpoint of that shape into dir: float32 weights, uniform with standard
// deviation 0.02 as GPT-2 starts training with, the same each time.
func WriteRandom(ctx context.Context, dir string, c model.Config) error {
	config, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, folder.Config), config, 0o666); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, folder.Safetensors))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err = weights.Write(w, nil, randomTensors(ctx, c)); err == nil {
		err = w.Flush()
	}
	return errors.Join(err, f.Close())
}

// randomTensors lists the tensors of a checkpoint, made as they are written.
func randomTensors(ctx context.Context, c model.Config) []weights.Tensor {
	var ts []weights.Tensor
	tensor := func(name string, fill func(i uint64) float32, shape ...int) {
		ts = append(ts, weights.Tensor{Name: name, DType: weights.F32, Shape: shape,
			Fill: func(dst []byte, from int64) error {
				return make32(ctx, dst, uint64(from)/4, fill)
			}})
	}
	random := func(name string, shape ...int) {
		s := uint64(len(ts))
		tensor(name, func(i uint64) float32 { return uniform(s, i) }, shape...)
	}
	one := func(uint64) float32 { return 1 }
	zero := func(uint64) float32 { return 0 }
	random("wte.weight", c.VocabSize, c.Embd)
	random("wpe.weight", c.Positions, c.Embd)
	for i := range c.Layer {
		h := fmt.Sprintf("h.%d.", i)
		for _, ln := range []string{"ln_1", "ln_2"} {
			tensor(h+ln+".weight", one, c.Embd)
			tensor(h+ln+".bias", zero, c.Embd)
		}
		random(h+"attn.c_attn.weight", c.Embd, 3*c.Embd)
		random(h+"attn.c_attn.bias", 3*c.Embd)
		random(h+"attn.c_proj.weight", c.Embd, c.Embd)
		random(h+"attn.c_proj.bias", c.Embd)
		random(h+"mlp.c_fc.weight", c.Embd, c.Inner)
		random(h+"mlp.c_fc.bias", c.Inner)
		random(h+"mlp.c_proj.weight", c.Inner, c.Embd)
		random(h+"mlp.c_proj.bias", c.Embd)
	}
	tensor("ln_f.weight", one, c.Embd)
	tensor("ln_f.bias", zero, c.Embd)
	return ts
}

// make32 sets dst to the float32s that fill gives from number `from` on.
func make32(ctx context.Context, dst []byte, from uint64, fill func(i uint64) float32) error {
	for i := range len(dst) / 4 {
		if i%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(fill(from+uint64(i))))
	}
	return nil
}

// uniform returns the i-th number of stream s: SplitMix64's mixing of a counter (Steele, Lea and
// Flood 2014), 24 bits of it, spread over ±0.02·√3.
func uniform(s, i uint64) float32 {
	z := (s<<40 + i + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	const width = 0.02 * 1.7320508
	return float32(float32(int32(z>>40)-1<<23) * (width / (1 << 23)))
}

// A torchRand is torch.Generator("cpu"): Matsumoto and Nishimura's mt19937, 1998.
type torchRand struct {
	state [624]uint32
	next  int
}

func newTorchRand(seed uint32) *torchRand {
	r := &torchRand{next: 624}
	r.state[0] = seed
	for i := uint32(1); i < 624; i++ {
		before := r.state[i-1]
		r.state[i] = 1812433253*(before^before>>30) + i
	}
	return r
}

func (r *torchRand) bits() uint32 {
	if r.next == 624 {
		s := &r.state
		for i := range s {
			y := s[i]&(1<<31) | s[(i+1)%624]&(1<<31-1)
			s[i] = s[(i+397)%624] ^ y>>1 ^ y&1*0x9908b0df
		}
		r.next = 0
	}
	y := r.state[r.next]
	r.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// skip passes by n numbers.
func (r *torchRand) skip(n int) {
	for range n {
		r.bits()
	}
}

// uniform returns a number of [from, to) as Tensor.uniform_ does.
func (r *torchRand) uniform(from, to float32) float32 {
	x := float32(r.bits()&(1<<24-1)) * (1.0 / (1 << 24))
	return float32(x*(to-from)) + from
}

// permutation returns the first count of torch.randperm(n): each is swapped with one of those after
// it.
func (r *torchRand) permutation(n, count int) []int {
	// moved is how far what is at a place has come
	moved, first := map[int]int{}, make([]int, count)
	for i := range first {
		j := i + int(r.bits()%uint32(n-i))
		first[i] = j + moved[j]
		moved[j] = i + moved[i] - j
	}
	return first
}

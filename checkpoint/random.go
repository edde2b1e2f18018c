// Checkpoints of GPT-2's shapes with random weights, so that speed can be measured without a download.

package checkpoint

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
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
	switch name {
	case "gpt2":
	case "gpt2-medium":
		c.Embd, c.Layer, c.Head = 1024, 24, 16
	case "gpt2-large":
		c.Embd, c.Layer, c.Head = 1280, 36, 20
	case "gpt2-xl":
		c.Embd, c.Layer, c.Head = 1600, 48, 25
	default:
		return c, fmt.Errorf("--random: %q, want one of %v", name, RandomShapes())
	}
	c.Inner = 4 * c.Embd
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
	if err := weights.Write(w, nil, randomTensors(ctx, c)); err != nil {
		f.Close()
		return err
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
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

// Package steer makes, reads and writes control vectors: directions that, added to the residual
// stream, make a model write more of something. Files are llama.cpp's.
package steer

// Vectors: what they add where, their sums, and their files: GGUF of the architecture
// controlvector, as llama.cpp and repeng write them.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/gguf"
	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/weights"
)

// A Vector is a control vector: for the number of a block, from 1, the direction [n_embd] that is
// added to the residual stream after it, blocks.N.hook_resid_post, of every token. As in llama.cpp
// the first block, number 0, has none.
type Vector map[int][]float32

// Layers returns the numbers of the blocks that have a direction, in order.
func (v Vector) Layers() []int { return slices.Sorted(maps.Keys(v)) }

// Length returns the length of the direction of block n, 0 if it has none.
func (v Vector) Length(n int) float64 { return math.Sqrt(project(v[n], v[n])) }

// Check returns an error if the vector is not one for a model: directions of another width, or of
// blocks that the model has not.
func (v Vector) Check(c model.Config) error {
	for _, n := range v.Layers() {
		if n < 1 || n >= c.Layer {
			return fmt.Errorf("direction.%d: the model has the blocks 1 to %d that a control "+
				"vector can be for", n, c.Layer-1)
		}
		if len(v[n]) != c.Embd {
			return fmt.Errorf("direction.%d: %d numbers, want %d, the model's n_embd", n, len(v[n]),
				c.Embd)
		}
	}
	return nil
}

// Between returns the directions of the blocks from to to, both included.
func (v Vector) Between(from, to int) Vector {
	part := maps.Clone(v)
	maps.DeleteFunc(part, func(n int, _ []float32) bool { return n < from || n > to })
	return part
}

// A Scaled is a vector and the number that it is multiplied by.
type Scaled struct {
	Vector Vector
	Scale  float32
}

// Edits returns the edits that add a sum of vectors of one width: an edit for each block that has a
// direction. The sum is of float32, in the order of the list, each product rounded before it is
// added.
func Edits(list []Scaled) ([]model.Edit, error) {
	sum := Vector{}
	for _, s := range list {
		for n, direction := range s.Vector {
			if sum[n] == nil {
				sum[n] = make([]float32, len(direction))
			}
			for i, x := range direction {
				sum[n][i] += float32(x * s.Scale)
			}
		}
	}
	var edits []model.Edit
	for _, n := range sum.Layers() {
		if err := checkFinite(sum[n]); err != nil {
			return nil, fmt.Errorf("direction.%d, scaled: %w", n, err)
		}
		edits = append(edits, model.Edit{At: model.Point{Kind: model.ResidPost, Layer: n},
			Head: model.AllHeads, Op: model.Add, Values: sum[n]})
	}
	return edits, nil
}

// checkFinite returns an error for the first number that is not finite.
func checkFinite(direction []float32) error {
	if i := kernels.FirstNonFinite(direction); i >= 0 {
		return fmt.Errorf("number %d is not finite", i)
	}
	return nil
}

// What a file has in common with others, and bounds of what it has.
const (
	architecture = "controlvector"
	prefix       = "direction."
	mostLayers   = 1 << 16
)

// Longest is the most bytes of a file that are worth reading: 1.5B has 300 kB.
const Longest = 64 << 20

// Parse returns the vector of a file: GGUF whose general.architecture is controlvector, and whose
// tensors are direction.N, of one dimension and f32, all of one length. Other metadata is not read.
func Parse(b []byte) (Vector, error) {
	f, err := gguf.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("want a control vector (GGUF): %w", err)
	}
	const key = "general.architecture"
	switch name, ok, err := f.Text(key); {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("%s: missing, want %s", key, architecture)
	case name != architecture:
		return nil, fmt.Errorf("%s: %s, want %s", key, quote.Short(name, 40), architecture)
	}
	v, width := Vector{}, 0
	for _, t := range f.Tensors {
		n, err := layerOf(t.Name)
		if err != nil {
			return nil, err
		}
		if t.Type != gguf.F32 || len(t.Shape) != 1 {
			return nil, fmt.Errorf("%s: type %s, shape %d, want F32 of one dimension", t.Name,
				t.Type, t.Shape)
		}
		if width == 0 {
			width = t.Shape[0]
		}
		if t.Shape[0] != width {
			return nil, fmt.Errorf("%s: %d numbers, others have %d", t.Name, t.Shape[0], width)
		}
		v[n] = make([]float32, width) // gguf.Parse has compared it with the data
		for i := range v[n] {
			v[n][i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
		}
		if err := checkFinite(v[n]); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	if len(v) == 0 {
		return nil, errors.New("no tensor direction.N")
	}
	return v, nil
}

// layerOf returns the N of direction.N.
func layerOf(name string) (int, error) {
	digits, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || strconv.Itoa(n) != digits || n < 1 || n >= mostLayers {
		return 0, fmt.Errorf("%s: want direction.N with N from 1 to %d", name, mostLayers-1)
	}
	return n, nil
}

// Write writes the vector as a file. modelType is a note for people, such as gpt2.
func (v Vector) Write(w io.Writer, modelType string) error {
	var tensors []weights.Tensor
	for _, n := range v.Layers() {
		b := make([]byte, 0, 4*len(v[n]))
		for _, x := range v[n] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		tensors = append(tensors, weights.Tensor{Name: prefix + strconv.Itoa(n), DType: weights.F32,
			Shape: []int{len(v[n])}, Data: b})
	}
	return gguf.Write(w, []gguf.Pair{
		{Key: "general.architecture", Value: architecture},
		{Key: architecture + ".model_hint", Value: modelType},
		{Key: architecture + ".layer_count", Value: uint32(len(v))},
	}, tensors)
}

// Package steer makes, reads and writes control vectors: directions that, added to the residual
// stream, make a model write more of something. Files are llama.cpp's.
package steer

// Vectors: what they add where, and their sums.

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"picogpt/model"
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
			return fmt.Errorf("direction.%d: the model has the blocks 1 to %d that a control vector can "+
				"be for", n, c.Layer-1)
		}
		if len(v[n]) != c.Embd {
			return fmt.Errorf("direction.%d: %d numbers, want %d, the model's n_embd", n, len(v[n]), c.Embd)
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
	for i, x := range direction {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("number %d is not finite", i)
		}
	}
	return nil
}

package steer

// Files: GGUF of the architecture controlvector, as llama.cpp and repeng write them.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"picogpt/internal/gguf"
	"picogpt/internal/quote"
	"picogpt/weights"
)

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
			return nil, fmt.Errorf("%s: type %s, shape %d, want F32 of one dimension", t.Name, t.Type,
				t.Shape)
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

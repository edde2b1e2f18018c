package pages

// Attention weights in bytes, which a page can hold.

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
)

const (
	// MostWhole is how many tokens a text has at most whose weights are kept whole. Of longer ones
	// Kept weights of each row are kept, the largest.
	MostWhole = 256
	Kept      = 8

	entry = 3 // bytes of a kept weight: the position, little-endian, and the weight
	none  = 0xffff
)

// Attention holds the attention weights of all heads for one text, as bytes: 255 times their square
// roots, because of a text of 256 tokens most weights are near 1/256, which must be seen and told
// apart.
type Attention struct {
	layers, heads, tokens int

	// For each head, layer by layer: the rows of a triangle, or Kept entries a row.
	bytes [][]byte
}

// NewAttention returns the weights of so many tokens, all 0. There are at most 65,535 tokens.
func NewAttention(layers, heads, tokens int) *Attention {
	a := &Attention{layers: layers, heads: heads, tokens: tokens,
		bytes: make([][]byte, layers*heads)}
	size := a.row(tokens)
	for i := range a.bytes {
		a.bytes[i] = make([]byte, size)
	}
	return a
}

func (a *Attention) sparse() bool { return a.tokens > MostWhole }

// row returns where the row of a position begins.
func (a *Attention) row(position int) int {
	if a.sparse() {
		return position * Kept * entry
	}
	return position * (position + 1) / 2
}

// Take takes the weights [heads, position+1] of a layer for one position. Positions may be taken
// side by side.
func (a *Attention) Take(layer, position int, pattern []float32) {
	keys := position + 1
	for head := range a.heads {
		weights := pattern[head*keys : (head+1)*keys]
		to := a.bytes[layer*a.heads+head][a.row(position):a.row(position+1)]
		if a.sparse() {
			keepLargest(to, weights)
			continue
		}
		for i, w := range weights {
			to[i] = level(w)
		}
	}
}

// level returns a weight as a byte, 0 for a NaN.
func level(w float32) byte {
	if !(w > 0) {
		return 0
	}
	return byte(min(255, 255*math.Sqrt(float64(w))+0.5))
}

// weight returns the weight of a byte.
func weight(level byte) float64 { return float64(level) * float64(level) / (255 * 255) }

// keepLargest writes the largest weights, in the order of their positions.
func keepLargest(to []byte, weights []float32) {
	var best []int
	for i, w := range weights {
		if len(best) == Kept && w <= weights[best[Kept-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, i, func(a, b int) int {
			return cmp.Or(cmp.Compare(weights[b], weights[a]), a-b)
		})
		best = slices.Insert(best, at, i)[:min(len(best)+1, Kept)]
	}
	slices.Sort(best)
	for k := range Kept {
		position, w := uint16(none), byte(0)
		if k < len(best) {
			position, w = uint16(best[k]), level(weights[best[k]])
		}
		binary.LittleEndian.PutUint16(to[entry*k:], position)
		to[entry*k+2] = w
	}
}

// Weight returns what is kept of a weight, from 0 to 1.
func (a *Attention) Weight(layer, head, from, to int) float64 {
	row := a.bytes[layer*a.heads+head][a.row(from):a.row(from+1)]
	if !a.sparse() {
		return weight(row[to])
	}
	for ; len(row) > 0; row = row[entry:] {
		if int(binary.LittleEndian.Uint16(row)) == to {
			return weight(row[2])
		}
	}
	return 0
}

// means returns the mean weights of a head on the token itself, the one before it and the first,
// over the tokens from the second on.
func (a *Attention) means(layer, head int) (self, previous, first float64) {
	for t := 1; t < a.tokens; t++ {
		self += a.Weight(layer, head, t, t)
		previous += a.Weight(layer, head, t, t-1)
		first += a.Weight(layer, head, t, 0)
	}
	n := float64(max(1, a.tokens-1))
	return self / n, previous / n, first / n
}

// encoded returns the weights of each head in base64.
func (a *Attention) encoded() []string {
	all := make([]string, len(a.bytes))
	for i, b := range a.bytes {
		all[i] = base64.StdEncoding.EncodeToString(b)
	}
	return all
}

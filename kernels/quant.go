package kernels

// The integer formats Q8 and Q4: the meaning of the bytes, which is the same in memory and in
// files.
//
// Weights are integers with one scale for each block of 32 consecutive inputs of one output: weight
// = integer · scale. Blocks are stored in tiles of 16 outputs × 32 inputs. The tiles of outputs
// 0–15 come first, in the order of their inputs, then those of outputs 16–31, and so on, with
// nothing between them. If In is no multiple of 32, or Out none of 16, the last tiles are filled
// with weights that are zero. So there are ⌈Out/16⌉ · ⌈In/32⌉ tiles, and tile o·⌈In/32⌉ + b holds
// outputs 16o … 16o+15 and inputs 32b … 32b+31.
//
// A Q8 tile is 544 bytes. With j the output and k the input within the tile:
//
//	byte 32·⌊k/2⌋ + 2j + k mod 2    the integer of (j, k), int8, −127 … 127
//	bytes 512+2j and 513+2j         the scale of output j, bfloat16, little-endian
//
// A Q4 tile is 288 bytes. The integer is four bits, 0 … 15, minus 8. A byte holds those of two
// outputs:
//
//	byte 32·⌊k/4⌋ + 4·(j mod 8) + 2·(k mod 2) + ⌊(k mod 4)/2⌋    (j, k): the low four bits where j < 8, else the high four
//	bytes 256+2j and 257+2j                                      the scale of output j, bfloat16, little-endian
//
// A scale is bfloat16, not binary16, because of its range: it has float32's exponent, so that
// weights of any size keep their precision. A Q4 scale may be negative, so that −8, the farthest of
// −8 … 7 from 0, can be used on either side. A NaN as scale means that a weight of the block was
// NaN or infinite: the whole block reads as NaN, and so does every output that uses it.

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

const (
	quantBlock = 32 // inputs that share a scale
	quantCols  = 16 // outputs of a stored tile
	q8Weights  = quantBlock * quantCols
	q4Weights  = q8Weights / 2
	q8Tile     = q8Weights + 2*quantCols // 544 bytes
	q4Tile     = q4Weights + 2*quantCols // 288 bytes
)

// tileBytes is the size of one tile.
func (f Format) tileBytes() int {
	if f == Q8 {
		return q8Tile
	}
	return q4Tile
}

// blocksOf returns the number of blocks for n inputs.
func blocksOf(n int) int { return int((uint(n) + quantBlock - 1) / quantBlock) }

// tilesOf returns the number of tiles for n outputs.
func tilesOf(n int) int { return (n + quantCols - 1) / quantCols }

// QuantBytes returns the number of bytes of [in, out] weights in Q8 or Q4, or −1 for another
// format, a negative size, or a number that does not fit an int.
func QuantBytes(f Format, in, out int) int {
	if f != Q8 && f != Q4 || in < 0 || out < 0 {
		return -1
	}
	high, tiles := bits.Mul64(uint64(blocksOf(in)), (uint64(out)+quantCols-1)/quantCols)
	over, size := bits.Mul64(tiles, uint64(f.tileBytes()))
	if high != 0 || over != 0 || size > math.MaxInt {
		return -1
	}
	return int(size)
}

// QuantMatrix returns a matrix of stored blocks, which it uses in place; any alignment is allowed.
// It returns an error if their number is not [QuantBytes]. Any bytes are valid numbers, so nothing
// else is checked.
func QuantMatrix(f Format, in, out int, blocks []byte) (Matrix, error) {
	if want := QuantBytes(f, in, out); want < 0 || len(blocks) != want {
		return Matrix{}, fmt.Errorf("%v [%d %d]: %d bytes, want %d", f, in, out, len(blocks), want)
	}
	return Matrix{Format: f, In: in, Out: out, Blocks: blocks}, nil
}

// quantRow is Row for Q8 and Q4.
func (m *Matrix) quantRow(dst []float32, i int) {
	size := m.Format.tileBytes()
	tile := m.Blocks[i/quantCols*blocksOf(m.In)*size:]
	for k := 0; k < m.In; k += quantBlock {
		scale := tileScale(tile[:size], i%quantCols)
		for n := range min(quantBlock, m.In-k) {
			dst[k+n] = float32(float32(m.Format.integer(tile, i%quantCols, n)) * scale)
		}
		tile = tile[size:]
	}
}

// integer returns the integer of output j and input k of a tile.
func (f Format) integer(tile []byte, j, k int) int32 {
	if f == Q8 {
		return int32(int8(tile[q8Index(j, k)]))
	}
	at, shift := q4Index(j, k)
	return int32(tile[at]>>shift&15) - 8
}

func q8Index(j, k int) int { return k/2*32 + 2*j + k%2 }

func q4Index(j, k int) (at, shift int) { return k/4*32 + j%8*4 + k%2*2 + k%4/2, j / 8 * 4 }

// tileScale returns the scale of output j: the last 32 bytes of a tile are its scales.
func tileScale(tile []byte, j int) float32 {
	return widen(binary.LittleEndian.Uint16(tile[len(tile)-2*quantCols+2*j:]), true)
}

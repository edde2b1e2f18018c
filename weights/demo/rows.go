package demo

// How the weights are stored: without the rows of the embedding that are all the same.

import (
	"encoding/binary"

	"picogpt/internal/folder"
)

// Of the embedding's rows, the first tensor of the file, 41,590 belong to tokens that did not occur in
// training, and are equal. model.rows is model.safetensors with a bit for each row in place of these:
//
//	length of the header and the header, as in model.safetensors
//	a bit for each row, the lowest of a byte first: whether the row is stored
//	the row that stands for all others
//	the rows that are stored, and the rest of the file
//
// zstd would make it 6 % smaller, take twice as long to decode, and be linked into every program that
// has the demo.
const (
	rows     = 50257
	rowBytes = 128 * 2 // F16
)

// unpack returns the model.safetensors that packed stands for, in memory of its own, which stays.
func unpack(packed []byte) []byte {
	head := 8 + int(binary.LittleEndian.Uint64(packed))
	marks, stored := packed[head:], packed[head+(rows+7)/8:]
	shared, stored := stored[:rowBytes], stored[rowBytes:]
	kept := 0
	for row := range rows {
		kept += int(marks[row/8] >> (row % 8) & 1)
	}
	// on small pages it takes twice as long as the copies
	whole := folder.Kept(head + len(stored) + (rows-kept)*rowBytes)
	to := whole[copy(whole, packed[:head]):]
	for row := range rows {
		if marks[row/8]>>(row%8)&1 == 1 {
			copy(to, stored[:rowBytes])
			stored = stored[rowBytes:]
		} else {
			copy(to, shared)
		}
		to = to[rowBytes:]
	}
	copy(to, stored)
	return whole
}

// Transposing a matrix: some cache lines of each column at a time, two or four elements at once.

package weights

import "encoding/binary"

// Transposed returns a matrix [rows, cols] as [cols, rows].
func (t Tensor) Transposed() Tensor {
	rows, cols, width := t.Shape[0], t.Shape[1], t.DType.Size()
	from := t
	t.Shape, t.Data, t.turned = []int{cols, rows}, nil, &from
	t.Fill = func(dst []byte, at int64) error {
		return from.columns(dst, int(at)/width, rows, cols)
	}
	return t
}

const (
	lineBytes = 256 // what a tile writes of a column at once
	tileCols  = pieceRows
)

// tileRows returns the rows of a tile: their elements of one column fill lineBytes.
func tileRows(width int) int { return lineBytes / width }

// strips returns the number of strips of t. A strip is a group of rows that are transposed
// together.
func (t Tensor) strips() int {
	n := tileRows(t.DType.Size())
	return (t.Shape[0] + n - 1) / n
}

// turn writes one strip of rows of t into dst, the whole transpose of t.
func (t Tensor) turn(dst []byte, strip int) error {
	rows, cols, width := t.Shape[0], t.Shape[1], t.DType.Size()
	row := strip * tileRows(width)
	height := min(tileRows(width), rows-row)
	buffer := t.buffer()
	for col := 0; col < cols; col += tileCols {
		count := min(tileCols, cols-col)
		at := (col*rows + row) * width
		if err := t.tile(dst[at:], rows*width, row, height, col, count, buffer); err != nil {
			return err
		}
	}
	return nil
}

// buffer returns the memory that tile needs.
func (t Tensor) buffer() []byte {
	if t.Data != nil {
		return nil
	}
	return make([]byte, lineBytes*tileCols)
}

// columns sets dst to the elements of the transpose of t from element `at` on, column after column.
// It takes many columns at a time, because neighbours in a row lie together.
func (t Tensor) columns(dst []byte, at, rows, cols int) error {
	width := t.DType.Size()
	buffer := t.buffer()
	for n := len(dst) / width; n > 0; {
		col, row := at/rows, at%rows
		count := min(tileCols, cols-col, n/rows)
		height := rows
		if row != 0 || count == 0 { // a part of one column
			count, height = 1, min(rows-row, n)
		}
		for r := 0; r < height; r += tileRows(width) {
			high := min(tileRows(width), height-r)
			err := t.tile(dst[r*width:], height*width, row+r, high, col, count, buffer)
			if err != nil {
				return err
			}
		}
		done := count * height
		dst, at, n = dst[done*width:], at+done, n-done
	}
	return nil
}

// tile transposes a part of t, height rows and count columns: column c goes to dst[c·stride:].
func (t Tensor) tile(dst []byte, stride, row, height, col, count int, buffer []byte) error {
	width, cols := t.DType.Size(), t.Shape[1]
	var parts [lineBytes][]byte // of the rows
	for r := range height {
		begin, size := ((row+r)*cols+col)*width, count*width
		if t.Data != nil {
			parts[r] = t.Data[begin : begin+size]
			continue
		}
		parts[r] = buffer[r*size : (r+1)*size]
		if err := t.Fill(parts[r], int64(begin)); err != nil {
			return err
		}
	}
	scatter(dst, parts[:height], count, stride, width)
	return nil
}

// scatter sets dst[0], dst[stride], … to elements 0, 1, … of all rows: count elements each. stride
// and width, the size of an element, are in bytes.
func scatter(dst []byte, rows [][]byte, count, stride, width int) {
	c, block := 0, 0
	switch width {
	case 2:
		block = 4
	case 4:
		block = 2
	}
	if block > 0 && len(rows)%block == 0 {
		for ; c+block <= count; c += block {
			if width == 2 {
				blocksOf4(dst[c*stride:], rows, 2*c, stride)
			} else {
				blocksOf2(dst[c*stride:], rows, 4*c, stride)
			}
		}
	}
	for ; c < count; c++ {
		to := dst[c*stride:]
		for i, row := range rows {
			copy(to[i*width:][:width], row[c*width:])
		}
	}
}

// blocksOf2 transposes two columns of elements of 4 bytes, which begin at byte at of each row, two
// rows at a time.
func blocksOf2(dst []byte, rows [][]byte, at, stride int) {
	const low = 1<<32 - 1
	first, second := dst[:4*len(rows)], dst[stride:][:4*len(rows)]
	for i := 0; i+2 <= len(rows); i += 2 {
		x := binary.LittleEndian.Uint64(rows[i][at:])
		y := binary.LittleEndian.Uint64(rows[i+1][at:])
		binary.LittleEndian.PutUint64(first[4*i:], x&low|y<<32)
		binary.LittleEndian.PutUint64(second[4*i:], x>>32|y&^low)
	}
}

// blocksOf4 transposes four columns of elements of 2 bytes, which begin at byte at of each row,
// four rows at a time: first pairs of elements, then the elements of the pairs.
func blocksOf4(dst []byte, rows [][]byte, at, stride int) {
	const low, even = 1<<32 - 1, 0xffff<<32 | 0xffff
	for i := 0; i+4 <= len(rows); i += 4 {
		a := binary.LittleEndian.Uint64(rows[i][at:])
		b := binary.LittleEndian.Uint64(rows[i+1][at:])
		c := binary.LittleEndian.Uint64(rows[i+2][at:])
		d := binary.LittleEndian.Uint64(rows[i+3][at:])
		a, c = a&low|c<<32, a>>32|c&^low
		b, d = b&low|d<<32, b>>32|d&^low
		to := dst[2*i:]
		binary.LittleEndian.PutUint64(to, a&even|b&even<<16)
		binary.LittleEndian.PutUint64(to[stride:], a>>16&even|b&^even)
		binary.LittleEndian.PutUint64(to[2*stride:], c&even|d&even<<16)
		binary.LittleEndian.PutUint64(to[3*stride:], c>>16&even|d&^even)
	}
}

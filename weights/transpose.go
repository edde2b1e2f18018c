// Transposing a matrix: a cache line of each column at a time, elements two or four at a time.

package weights

import "encoding/binary"

// Transposed returns a matrix [rows, cols] as [cols, rows].
func (t Tensor) Transposed() Tensor {
	rows, cols, width := t.Shape[0], t.Shape[1], t.DType.Size()
	from := t
	t.Shape, t.Data = []int{cols, rows}, nil
	t.Fill = func(dst []byte, at int64) error {
		return from.columns(dst, int(at)/width, rows, cols)
	}
	return t
}

// columns sets dst to the elements of the transpose of t from number `at` on, column after column.
// Columns are taken many at a time, since neighbours in a row lie together, and so many rows that
// what they put into a column is a cache line.
func (t Tensor) columns(dst []byte, at, rows, cols int) error {
	width := t.DType.Size()
	band := make([][]byte, max(1, 64/width))
	for i := range band {
		if t.Data == nil {
			band[i] = make([]byte, pieceRows*width)
		}
	}
	for n := len(dst) / width; n > 0; {
		col, row := at/rows, at%rows
		count := min(pieceRows, cols-col, n/rows)
		height := rows
		if row != 0 || count == 0 { // a part of one column
			count, height = 1, min(rows-row, n)
		}
		for r := 0; r < height; r += len(band) {
			band := band[:min(len(band), height-r)]
			for i := range band {
				begin := ((row+r+i)*cols + col) * width
				if t.Data != nil {
					band[i] = t.Data[begin : begin+count*width]
				} else if err := t.Fill(band[i][:count*width], int64(begin)); err != nil {
					return err
				}
			}
			scatter(dst[r*width:], band, count, height*width, width)
		}
		done := count * height
		dst, at, n = dst[done*width:], at+done, n-done
	}
	return nil
}

// scatter sets dst[0], dst[stride], … each to elements 0, 1, … of all rows, of which there are count.
// The stride and the width of an element are in bytes.
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

// blocksOf4 transposes four columns of elements of 2 bytes, which begin at byte at of each row, four
// rows at a time: first pairs of elements, then the elements of the pairs.
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

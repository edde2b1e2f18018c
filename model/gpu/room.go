package gpu

// How much memory a model takes on a device, and how much is left: what does not fit is said before
// it is tried.

import (
	"fmt"
	"math"

	"picogpt/internal/engine"
	"picogpt/kernels"
)

// freeMemory returns how many bytes of the device are free. A driver that does not know them has
// all that this model does not use. 0 of Info.Memory means that nothing is known.
func (b *backend) freeMemory() int64 {
	if meter, ok := b.driver.(Meter); ok {
		if n, err := meter.FreeMemory(); err == nil {
			return n
		}
	}
	if b.info.Memory == 0 {
		return math.MaxInt64
	}
	own := b.weightBytes + b.scratch.bytes
	if b.pool.buffer != 0 {
		own += int64(len(b.pool.refs)) * b.pool.page
	}
	return max(0, b.info.Memory-own)
}

// room returns how many bytes the pages may take besides their own: what is free without what the
// rows of the largest pass take, or an eighth of the memory, if that is less.
func (b *backend) room() int64 {
	rows := b.rowBytes(engine.PassRows) - b.scratch.bytes
	return max(0, b.freeMemory()-min(max(0, rows), b.info.Memory/8))
}

// rowBytes returns how much scratch memory that many rows take.
func (b *backend) rowBytes(rows int) int64 {
	s, _ := newScratch(nowhere{}, b.params, b.mostChosen(), rows, 0)
	return s.bytes
}

// nowhere is a Driver whose memory is none.
type nowhere struct{ Driver }

func (nowhere) Alloc(int64) (Buffer, error) { return 1, nil }

// fits returns an error if the weights, the rows of a small pass and a page do not fit into the
// memory that is free.
func (b *backend) fits() error {
	weights := paramBytes(b.params)
	if most := b.info.Memory; most > 0 && weights > most {
		return fmt.Errorf("the weights take %d bytes, want at most the device's memory of %d", weights,
			most)
	}
	rows, free := b.rowBytes(1), b.freeMemory()
	if all := weights + rows + b.pool.page; all > free {
		return fmt.Errorf("the model takes %d bytes: weights %d, rows %d, and %d for each %d "+
			"positions of a text, want at most %d, which the device has free", all, weights, rows,
			b.pool.page, kernels.Block, free)
	}
	return nil
}

package ptx

// Memory: buffers and the shared memory of a group, and which items touched them.

import (
	"encoding/binary"
	"fmt"
)

// An address is a segment and an offset. Segment 1 is the shared memory of a group, and each buffer
// has a segment of its own: no offset leads from one to another.
const (
	segmentBits   = 40
	sharedSegment = 1
	firstSegment  = 2
)

// A buffer is memory that kernels share. touched is nil until a kernel first stores to it: memory
// that is only read has no conflicts.
type buffer struct {
	data    []byte
	touched []touch
}

// A touch records the last store and load of one cell of memory. Phases number the times between
// two barriers of a group; each phase belongs to one group, and later phases have higher numbers.
type touch struct {
	stored, loaded uint32 // phases; 0 means never
	writer, reader int32  // items; several if more than one did so in that phase
	others         uint32 // the launch in which a group other than that of loaded loaded it
}

const several = -1

// An epoch is the time of a load or store.
type epoch struct {
	launch       uint32
	launchStart  uint32 // the first phase of this launch
	groupStart   uint32 // the first phase of this group
	phase        uint32
	item         int32
	sharedMemory bool // of one group: data of another group there are undefined
}

// load records a load, and returns what is wrong with it.
func (t *touch) load(e *epoch) string {
	switch {
	case e.sharedMemory && t.stored < e.groupStart:
		return "reads shared memory that nothing wrote"
	case t.stored >= e.launchStart && t.stored < e.groupStart:
		return "reads what another group of this launch wrote"
	case t.stored == e.phase && t.writer != e.item:
		return fmt.Sprintf("reads what item %d wrote, with no barrier between", t.writer)
	}
	switch {
	case t.loaded != e.phase:
		if t.loaded >= e.launchStart && t.loaded < e.groupStart {
			t.others = e.launch
		}
		t.loaded, t.reader = e.phase, e.item
	case t.reader != e.item:
		t.reader = several
	}
	return ""
}

// store records a store, and returns what is wrong with it.
func (t *touch) store(e *epoch) string {
	switch {
	case t.stored >= e.launchStart && t.stored < e.groupStart && !e.sharedMemory:
		return "writes what another group of this launch wrote"
	case t.stored == e.phase && t.writer != e.item:
		return fmt.Sprintf("writes what item %d wrote, with no barrier between", t.writer)
	case !e.sharedMemory &&
		(t.others == e.launch || t.loaded >= e.launchStart && t.loaded < e.groupStart):
		return "writes what another group of this launch read"
	case t.loaded == e.phase && t.reader == several:
		return "writes what other items read, with no barrier between"
	case t.loaded == e.phase && t.reader != e.item:
		return fmt.Sprintf("writes what item %d read, with no barrier between", t.reader)
	}
	t.stored, t.writer = e.phase, e.item
	return ""
}

// find returns the n bytes at an address of global memory.
func (m *Machine) find(at, n uint64) (b *buffer, offset uint64, wrong string) {
	segment, offset := at>>segmentBits, at&(1<<segmentBits-1)
	if segment >= uint64(len(m.buffers)) || m.buffers[segment].data == nil {
		return nil, 0, fmt.Sprintf("address %#x is in no buffer", at)
	}
	b = &m.buffers[segment]
	if offset+n > uint64(len(b.data)) {
		return nil, 0, fmt.Sprintf("address %d is outside of the buffer's %d bytes", offset,
			len(b.data))
	}
	if offset%n != 0 {
		return nil, 0, fmt.Sprintf("%d bytes at address %d, which is no multiple", n, offset)
	}
	return b, offset, ""
}

// weight executes the most common load quickly: four bytes that no kernel has stored to.
func (m *Machine) weight(in *instruction, r *registers) (v uint64, ok bool) {
	at := r[in.x[4]%4096] + in.offset
	segment, offset := at>>segmentBits, at&(1<<segmentBits-1)
	if in.op != opLoadGlobal || in.size != 4 || in.count != 1 || at%4 != 0 ||
		segment >= uint64(len(m.buffers)) {
		return 0, false
	}
	b := &m.buffers[segment]
	if b.touched != nil || offset+4 > uint64(len(b.data)) {
		return 0, false
	}
	m.Counts.WeightBytes += 4
	return uint64(binary.LittleEndian.Uint32(b.data[offset:])), true
}

// global executes a load or store of global memory.
func (m *Machine) global(in *instruction, r *registers) (wrong string) {
	size := uint64(in.size)
	all := size * uint64(in.count)
	b, offset, wrong := m.find(r[in.x[4]%4096]+in.offset, all)
	if wrong != "" {
		return wrong
	}
	m.epoch.sharedMemory = false
	if in.op == opLoadGlobal {
		if b.touched == nil {
			m.Counts.WeightBytes += int64(all)
		} else {
			m.Counts.LoadBytes += int64(all)
			wrong = m.loaded(b.cells(m.kernel.globalCell), offset, all, m.kernel.globalCell)
		}
		in.fetch(r, b.data[offset:])
		return wrong
	}
	m.Counts.StoreBytes += int64(all)
	in.put(r, b.data[offset:])
	return m.stored(b.cells(m.kernel.globalCell), offset, all, m.kernel.globalCell)
}

// cells returns the touches of a buffer for cells of a size. Touches of earlier launches, perhaps
// with cells of another size, no longer matter.
func (b *buffer) cells(shift uint8) []touch {
	if n := len(b.data)>>shift + 1; len(b.touched) < n {
		b.touched = make([]touch, n)
	}
	return b.touched
}

// local executes a load or store of the group's shared memory.
func (m *Machine) local(in *instruction, r *registers) (wrong string) {
	at, size := r[in.x[4]%4096]+in.offset, uint64(in.size)
	all := size * uint64(in.count)
	offset := at & (1<<segmentBits - 1)
	switch {
	case at>>segmentBits != sharedSegment || offset+all > uint64(m.kernel.shared):
		return fmt.Sprintf("address %#x is outside of the %d bytes of shared memory", at,
			m.kernel.shared)
	case offset%all != 0:
		return fmt.Sprintf("%d bytes at shared address %d, which is no multiple", all, offset)
	}
	m.epoch.sharedMemory = true
	if in.op == opLoadShared {
		m.Counts.SharedLoads++
		in.fetch(r, m.shared[offset:])
		return m.loaded(m.sharedTouched, offset, all, m.kernel.sharedCell)
	}
	in.put(r, m.shared[offset:])
	return m.stored(m.sharedTouched, offset, all, m.kernel.sharedCell)
}

// loaded records a load of n bytes in all its cells. A cell has 1<<shift bytes.
func (m *Machine) loaded(cells []touch, offset, n uint64, shift uint8) string {
	for i := offset >> shift; i < (offset+n)>>shift; i++ {
		if wrong := cells[i].load(&m.epoch); wrong != "" {
			return wrong
		}
	}
	return ""
}

// stored records a store.
func (m *Machine) stored(cells []touch, offset, n uint64, shift uint8) string {
	for i := offset >> shift; i < (offset+n)>>shift; i++ {
		if wrong := cells[i].store(&m.epoch); wrong != "" {
			return wrong
		}
	}
	return ""
}

// fetch loads registers from p.
func (in *instruction) fetch(r *registers, p []byte) {
	for i := range in.count {
		var v uint64
		switch p := p[i*in.size:]; in.size {
		case 1:
			v = uint64(p[0])
		case 2:
			v = uint64(binary.LittleEndian.Uint16(p))
		case 4:
			v = uint64(binary.LittleEndian.Uint32(p))
		case 8:
			v = binary.LittleEndian.Uint64(p)
		}
		r[in.x[i]%4096] = in.value(v)
	}
}

// put stores registers to p.
func (in *instruction) put(r *registers, p []byte) {
	for i := range in.count {
		v := r[in.x[i]%4096]
		switch p := p[i*in.size:]; in.size {
		case 1:
			p[0] = byte(v)
		case 2:
			binary.LittleEndian.PutUint16(p, uint16(v))
		case 4:
			binary.LittleEndian.PutUint32(p, uint32(v))
		case 8:
			binary.LittleEndian.PutUint64(p, v)
		}
	}
}

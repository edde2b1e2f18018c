package ptx

// Launches: groups, items and barriers.

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// A Machine holds buffers and runs kernels on them. One goroutine uses it at a time.
type Machine struct {
	program *Program
	order   *rand.Rand
	buffers []buffer // by segment
	Counts  Counts

	// state of the running launch
	kernel        *kernel
	params        []uint64
	items         []item
	turns         []int   // the order of the items in this phase
	warps         []int64 // instructions in this phase, for each 32 items
	shared        []byte
	sharedTouched []touch
	epoch         epoch
}

// Counts are statistics of a machine.
type Counts struct {
	Launches, Instructions, FMAs int64 // FMAs: fused multiply-adds of float32
	// for each 32 items, those of the item with the most, between barriers
	WarpInstructions      int64
	WeightBytes           int64 // loaded from memory that no kernel has stored to
	LoadBytes, StoreBytes int64 // of other global memory
	SharedLoads           int64 // instructions that load shared memory
}

// Less returns the counts since an earlier one.
func (c Counts) Less(before Counts) Counts {
	return Counts{
		Launches:         c.Launches - before.Launches,
		Instructions:     c.Instructions - before.Instructions,
		FMAs:             c.FMAs - before.FMAs,
		WarpInstructions: c.WarpInstructions - before.WarpInstructions,
		WeightBytes:      c.WeightBytes - before.WeightBytes,
		LoadBytes:        c.LoadBytes - before.LoadBytes,
		StoreBytes:       c.StoreBytes - before.StoreBytes,
		SharedLoads:      c.SharedLoads - before.SharedLoads,
	}
}

// An item is one thread of a group.
type item struct {
	r     registers
	pc    int
	waits bool // for an mma, the instruction before pc
	done  bool
	ran   int64 // instructions in this phase
}

// NewMachine returns a machine whose order depends on a seed.
func NewMachine(p *Program, seed uint64) *Machine {
	return &Machine{
		program: p, order: rand.New(rand.NewPCG(seed, 0)), buffers: make([]buffer, firstSegment),
	}
}

// Alloc returns the address of a new buffer. Its bytes are 0xff until they are written: NaN, and an
// index outside every buffer.
func (m *Machine) Alloc(bytes int) uint64 {
	data := make([]byte, bytes)
	for i := range data {
		data[i] = 0xff
	}
	return m.Adopt(data)
}

// Adopt returns an address for memory of the caller's.
func (m *Machine) Adopt(data []byte) uint64 {
	if data == nil {
		data = []byte{}
	}
	m.buffers = append(m.buffers, buffer{data: data})
	return uint64(len(m.buffers)-1) << segmentBits
}

// Extend makes the buffer at an address n bytes long. What is new is undefined.
func (m *Machine) Extend(at uint64, n int) error {
	if _, err := m.Bytes(at, 0); err != nil || at&(1<<segmentBits-1) != 0 {
		return errors.Join(err, fmt.Errorf("ptx: %d bytes for %#x", n, at))
	}
	data := &m.buffers[at>>segmentBits].data
	for len(*data) < n {
		*data = append(*data, 0xff)
	}
	return nil
}

// Bytes returns n bytes at an address, which must lie in one buffer.
func (m *Machine) Bytes(at uint64, n int) ([]byte, error) {
	segment, offset := at>>segmentBits, at&(1<<segmentBits-1)
	if segment < firstSegment || segment >= uint64(len(m.buffers)) ||
		m.buffers[segment].data == nil {
		return nil, fmt.Errorf("ptx: address %#x is in no buffer", at)
	}
	data := m.buffers[segment].data
	if n < 0 || offset > uint64(len(data)) || uint64(n) > uint64(len(data))-offset {
		return nil, fmt.Errorf("ptx: %d bytes at %d of a buffer of %d", n, offset, len(data))
	}
	return data[offset:][:n], nil
}

// Free frees a buffer. Its address is never used again.
func (m *Machine) Free(at uint64) error {
	if b, err := m.Bytes(at, 0); err != nil || at&(1<<segmentBits-1) != 0 {
		return errors.Join(err, fmt.Errorf("ptx: free of %#x, of %d bytes", at, len(b)))
	}
	m.buffers[at>>segmentBits] = buffer{}
	return nil
}

// Live returns the number of buffers.
func (m *Machine) Live() int {
	n := 0
	for _, b := range m.buffers {
		if b.data != nil {
			n++
		}
	}
	return n
}

// A Fault is an error of an item that need not show on every device.
type Fault struct {
	Kernel, Line string
	Group        [3]int
	Item         int
	Wrong        string
}

func (f *Fault) Error() string {
	return fmt.Sprintf("ptx: kernel %s: %s: group %v, item %d %s", f.Kernel, f.Line, f.Group,
		f.Item, f.Wrong)
}

// Launch runs a kernel on groups of items work items each. params are addresses, integers, and the
// bits of floats.
func (m *Machine) Launch(name string, groups [3]int, items int, params []uint64) error {
	k, found := m.program.kernels[name]
	switch {
	case !found:
		return fmt.Errorf("ptx: no kernel %q", name)
	case len(params) != len(k.params):
		return fmt.Errorf("ptx: kernel %s: %d parameters, want %d", name, len(params),
			len(k.params))
	case items < 1 || items > k.most || min(groups[0], groups[1], groups[2]) < 1 ||
		max(groups[1], groups[2]) > 65535: // limits of CUDA devices
		return fmt.Errorf("ptx: kernel %s: %v groups of %d items", name, groups, items)
	}
	m.Counts.Launches++
	m.kernel, m.params = k, params
	if cap(m.items) < items {
		m.items, m.turns = make([]item, items), make([]int, items)
		m.warps = make([]int64, (items+31)/32)
	}
	m.items, m.turns, m.warps = m.items[:items], m.turns[:items], m.warps[:(items+31)/32]
	for i := range m.items {
		copy(m.items[i].r[:], k.first)
		m.turns[i] = i
	}
	m.shared = make([]byte, k.shared)
	m.sharedTouched = make([]touch, k.shared>>k.sharedCell+1)
	m.epoch.launch++
	m.epoch.launchStart = m.epoch.phase + 1
	for _, n := range m.order.Perm(groups[0] * groups[1] * groups[2]) {
		at := [3]int{n % groups[0], n / groups[0] % groups[1], n / groups[0] / groups[1]}
		if err := m.group(at); err != nil {
			return err
		}
	}
	return nil
}

// group runs one group: in each phase every item up to its next barrier or its end, and a warp's
// items together from mma to mma.
func (m *Machine) group(at [3]int) error {
	m.epoch.groupStart = m.epoch.phase + 1
	for i := range m.items {
		it := &m.items[i]
		it.pc, it.waits, it.done = 0, false, false
		for n, v := range []int{i, len(m.items), at[0], at[1], at[2]} {
			if reg := m.kernel.special[n]; reg != 0 {
				it.r[reg] = uint64(v)
			}
		}
	}
	for {
		m.epoch.phase++
		m.order.Shuffle(len(m.turns), func(i, j int) {
			m.turns[i], m.turns[j] = m.turns[j], m.turns[i]
		})
		for _, i := range m.turns {
			m.items[i].ran = 0
			if err := m.advance(at, i); err != nil {
				return err
			}
		}
		if err := m.together(at); err != nil {
			return err
		}
		for i := range m.items {
			m.warps[i/32] = max(m.warps[i/32], m.items[i].ran)
		}
		for i, n := range m.warps {
			m.Counts.WarpInstructions += n
			m.warps[i] = 0
		}
		first := &m.items[0]
		for i := range m.items {
			it := &m.items[i]
			if it.done != first.done || it.pc != first.pc && !it.done {
				return m.fault(at, i, it.pc-1, "stopped here, and others elsewhere: "+
					"a barrier that not all reach")
			}
		}
		if first.done {
			return nil
		}
	}
}

// advance runs an item until it has to wait.
func (m *Machine) advance(group [3]int, i int) error {
	m.epoch.item = int32(i)
	it, before := &m.items[i], m.Counts.Instructions
	if wrong := m.run(it); wrong != "" {
		return m.fault(group, i, it.pc-1, wrong)
	}
	it.ran += m.Counts.Instructions - before
	return nil
}

func (m *Machine) fault(group [3]int, item, pc int, wrong string) error {
	return &Fault{m.kernel.name, m.kernel.lines[pc], group, item, wrong}
}

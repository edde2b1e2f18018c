//go:build linux && (amd64 || arm64)

package cuda

// The fake's memory that is mapped to reserved addresses.

// mapStep is what sizes are multiples of.
const mapStep = 1 << 16

// A reservation is of addresses, from their first on. What is mapped is without a gap.
type reservation struct {
	size   uint64
	mapped map[uint64]uint64 // sizes of the pieces, by their addresses
}

func (r *reservation) bytes() (n uint64) {
	for _, piece := range r.mapped {
		n += piece
	}
	return n
}

func (f *fake) mapping(name string, a [11]uint64) int32 {
	switch name {
	case "cuMemGetAllocationGranularity":
		if !f.describesMemory(a[1]) || a[2] != 0 {
			return invalidValue
		}
		*at[uint64](a[0]) = mapStep
	case "cuMemAddressReserve":
		if a[1] == 0 || a[1]%mapStep != 0 || a[2] != 0 || a[3] != 0 || a[4] != 0 {
			f.t.Errorf("addresses: %v", a[1:5])
			return invalidValue
		}
		*at[uint64](a[0]) = f.machine.Alloc(0)
		f.reserved[*at[uint64](a[0])] = &reservation{a[1], map[uint64]uint64{}}
	case "cuMemAddressFree":
		r := f.reserved[a[0]]
		if r == nil || r.size != a[1] || len(r.mapped) > 0 {
			f.t.Errorf("addresses %#x are not %d, or have memory", a[0], a[1])
			return invalidValue
		}
		delete(f.reserved, a[0])
		return f.freed(a[0])
	case "cuMemCreate":
		if !f.describesMemory(a[2]) || a[1] == 0 || a[1]%mapStep != 0 || a[3] != 0 {
			f.t.Errorf("memory of %d bytes", a[1])
			return invalidValue
		}
		if f.used+a[1] > f.memory {
			return outOfMemory
		}
		f.used += a[1]
		f.created[f.made("memory", a[0])] = a[1]
	case "cuMemRelease":
		if !f.is("memory", a[0]) {
			return invalidHandle
		}
		delete(f.live, a[0])
		f.used -= f.created[a[0]] // 0 if it is mapped: then it goes with that
		delete(f.created, a[0])
	case "cuMemMap":
		return f.mapMemory(a)
	case "cuMemSetAccess":
		want := [3]int32{1, f.device32(), 3}
		if _, r := f.rangeOf(a[0]); r == nil || *at[[3]int32](a[2]) != want || a[3] != 1 {
			f.t.Errorf("access %v to %#x", *at[[3]int32](a[2]), a[0])
			return invalidValue
		}
	case "cuMemUnmap":
		return f.unmapMemory(a)
	default:
		return -1
	}
	return ok
}

// describesMemory checks a CUmemAllocationProp: 32 bytes.
func (f *fake) describesMemory(prop uint64) bool {
	p := *at[[8]int32](prop)
	if p != [8]int32{1, 0, 1, f.device32()} {
		f.t.Errorf("memory is described as %v", p)
		return false
	}
	return true
}

// device32 is the device of the call's context.
func (f *fake) device32() int32 { return int32(f.current - primary(0)) }

// rangeOf finds the reservation of an address.
func (f *fake) rangeOf(address uint64) (first uint64, r *reservation) {
	for first, r := range f.reserved {
		if address >= first && address < first+r.size {
			return first, r
		}
	}
	return 0, nil
}

func (f *fake) mapMemory(a [11]uint64) int32 {
	first, r := f.rangeOf(a[0])
	if r == nil || !f.is("memory", a[3]) || f.created[a[3]] != a[1] || a[2] != 0 || a[4] != 0 ||
		a[0] != first+r.bytes() || r.bytes()+a[1] > r.size {
		f.t.Errorf("%d bytes to %#x", a[1], a[0])
		return invalidValue
	}
	f.created[a[3]] = 0
	r.mapped[a[0]] = a[1]
	if err := f.machine.Extend(first, int(r.bytes())); err != nil {
		f.t.Error(err)
	}
	return ok
}

// unmapMemory takes memory away, which nothing may use any more.
func (f *fake) unmapMemory(a [11]uint64) int32 {
	for _, queue := range f.queues {
		if len(queue) > 0 {
			f.t.Error("memory is unmapped while launches that may use it are unfinished")
		}
	}
	_, r := f.rangeOf(a[0])
	if r == nil {
		f.t.Errorf("%#x is not mapped", a[0])
		return invalidValue
	}
	if n, found := r.mapped[a[0]]; found && n == a[1] {
		delete(r.mapped, a[0])
		f.used -= n
		return ok
	}
	f.t.Errorf("%d bytes at %#x are not a piece", a[1], a[0])
	return invalidValue
}

func (f *fake) freed(address uint64) int32 {
	if err := f.machine.Free(address); err != nil {
		f.t.Error(err)
		return invalidValue
	}
	return ok
}

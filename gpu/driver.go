package gpu

// What a driver does for this package: memory, and launches of the kernels in gpu/kernels.

import "math"

// A Driver is one open device with the kernels compiled for it. One goroutine at a time calls its
// methods. Writes, copies and launches take effect in the order of the calls, and may still be
// under way when a method returns; Read waits for all before it. An error may come from an earlier
// call. After one the device is not used again, but for Free and Close.
type Driver interface {
	// Alloc takes so many bytes of the device's memory, at least 1. What they hold is not known.
	Alloc(bytes int64) (Buffer, error)

	// Free gives memory back. Launches that use it have been made before, and need not have ended.
	Free(b Buffer)

	// Write copies from to the buffer, from byte at on. The slice may be changed after it.
	Write(to Buffer, at int64, from []byte) error

	// Read fills to from the buffer, from byte at on.
	Read(to []byte, from Buffer, at int64) error

	// Copy copies n bytes from one place of the device's memory to another. They do not overlap.
	Copy(to Buffer, toAt int64, from Buffer, fromAt, n int64) error

	// Launch runs a kernel. It keeps nothing of l.
	Launch(l *Launch) error

	// Close frees all that the device holds for this driver, buffers too.
	Close() error
}

// A Recorder is a Driver that can run a sequence of launches for the price of one.
type Recorder interface {
	Driver

	// Record calls launches, which calls nothing but Launch, of kernels that have been launched
	// before, and keeps these launches without running them. All else fails meanwhile: nothing runs
	// that could be waited for. An error is the driver's or that of launches.
	Record(launches func() error) (Recording, error)

	// Replay runs the launches of a recording. The memory they use must not have been freed.
	Replay(r Recording) error

	// Forget frees a recording.
	Forget(r Recording)
}

// A Buffer is memory of a device: whatever the driver knows it by. 0 is none, and a null pointer to
// a kernel.
type Buffer uint64

// A Recording is what Record kept: whatever the driver knows it by. 0 is none.
type Recording uint64

// A Launch is one kernel on Groups of Items work items each. A kernel's local memory is declared in
// its source, 32 KiB at most, so that a launch does not speak of it.
type Launch struct {
	Kernel string // the function's name in gpu/kernels
	Groups [3]int // each at least 1
	Items  int    // of a group, in one dimension; at most 256
	Args   []Arg  // in the function's order
}

// An Arg is the value of a kernel's parameter: its bits, of which a parameter takes the lowest Size
// bytes.
type Arg struct {
	Bits uint64
	Size int // 8 for a pointer, 4 for an int or a float
}

// The values of a kernel's parameters.
func memory(b Buffer) Arg { return Arg{uint64(b), 8} }
func integer(n int) Arg   { return Arg{uint64(uint32(n)), 4} }
func float(f float32) Arg { return Arg{uint64(math.Float32bits(f)), 4} }

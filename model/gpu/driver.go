package gpu

// Drivers: what they provide, memory and launches of the kernels in gpu/kernels; and the kernels'
// source text.

import (
	"embed"
	"math"
	"strings"
)

// A Driver is one open device with the kernels compiled for it. One goroutine at a time calls its
// methods. Writes, copies and launches take effect in the order of the calls, and may be unfinished
// when a method returns; Read waits for all calls before it. An error may come from an earlier
// call. After an error only Free and Close are called.
type Driver interface {
	// Alloc allocates that many bytes of the device's memory, at least 1. Their contents are
	// undefined.
	Alloc(bytes int64) (Buffer, error)

	// Free frees memory. The launches that use it were made before, and may be unfinished.
	Free(b Buffer)

	// Write copies from to the buffer, from byte at on. The slice may be changed after Write
	// returns.
	Write(to Buffer, at int64, from []byte) error

	// Read fills to with the buffer's bytes from byte at on.
	Read(to []byte, from Buffer, at int64) error

	// Copy copies n bytes of the device's memory. Source and destination do not overlap.
	Copy(to Buffer, toAt int64, from Buffer, fromAt, n int64) error

	// Launch runs a kernel. It does not keep l.
	Launch(l *Launch) error

	// Close frees everything that the device holds for this driver, also buffers.
	Close() error
}

// A Recorder is a Driver that can run a sequence of launches for the cost of one.
type Recorder interface {
	Driver

	// Record calls launches and stores the launches that it makes, without running them. launches
	// calls only Launch, of kernels that were launched before, and what a Pinner allows. Every
	// other call fails meanwhile, because nothing runs that could be waited for. The error is the
	// driver's or that of launches.
	Record(launches func() error) (Recording, error)

	// Replay runs the launches of a recording. The memory they use must not have been freed.
	Replay(r Recording) error

	// Forget frees a recording.
	Forget(r Recording)
}

// A Pinner is a Recorder with memory of the host that the device reads and writes by itself. While
// launches are recorded, a Write of such memory and a Read to it are recorded too: each Replay
// copies what the memory then holds, and nothing waits for it.
type Pinner interface {
	Recorder

	// Pin returns memory of the host, or nil if there is not enough. It starts at a multiple of 8
	// bytes. Unpin frees it; nothing that uses it is unfinished.
	Pin(bytes int) ([]byte, error)
	Unpin(memory []byte)

	// Wait waits for all calls before it.
	Wait() error
}

// A Grower is a Driver with buffers that become larger where they are, so that their contents are
// not copied, and recordings that use them stay valid.
type Grower interface {
	Driver

	// Reserve returns a buffer of no bytes, to which Grow gives at most that many, or 0 if the
	// device has no such buffers.
	Reserve(most int64) (Buffer, error)

	// Grow makes a buffer of Reserve at least that many bytes large. An error changes nothing.
	Grow(b Buffer, bytes int64) error
}

// A Meter is a Driver that knows how much of the device's memory is free.
type Meter interface {
	Driver
	FreeMemory() (int64, error)
}

// A Buffer is memory of a device, as a number that the driver chooses. 0 means none; for a kernel
// it is a null pointer.
type Buffer uint64

// A Recording is the result of Record, as a number that the driver chooses. 0 means none.
type Recording uint64

// A Launch is one kernel on Groups of Items work items each. A kernel's local memory, 32 KiB at
// most, is declared in its source, so that a Launch does not contain it.
type Launch struct {
	Kernel string // the function's name in gpu/kernels
	Groups [3]int // each at least 1
	Items  int    // of a group, in one dimension; at most 256
	Args   []Arg  // in the function's order
}

// An Arg is the value of a kernel's parameter: its bits, of which the lowest Size bytes count.
type Arg struct {
	Bits uint64
	Size int // 8 for a pointer, 4 for an int or a float
}

// The values of a kernel's parameters.
func memory(b Buffer) Arg { return Arg{uint64(b), 8} }
func integer(n int) Arg   { return Arg{uint64(uint32(n)), 4} }
func float(f float32) Arg { return Arg{uint64(math.Float32bits(f)), 4} }

//go:embed kernels
var files embed.FS

// Source returns the kernels as one text: kernels/gpt2.cl with its includes replaced by their
// files.
func Source() string {
	var all strings.Builder
	for line := range strings.Lines(read("gpt2.cl")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), `#include "`); ok {
			line = read(strings.TrimSuffix(name, `"`))
		}
		all.WriteString(line)
	}
	return all.String()
}

// read returns an embedded file.
func read(name string) string {
	text, err := files.ReadFile("kernels/" + name)
	if err != nil {
		panic(err) // the build has other files
	}
	return string(text)
}

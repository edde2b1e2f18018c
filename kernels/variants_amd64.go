//go:build !purego

package kernels

// The variants of amd64 processors. Each is the one before it with some leaves replaced.
//
//	avx2      AVX2, FMA, F16C
//	avx2vnni  VPDPWSSD on 256 bits for products of integers, and 32 registers for them
//	avx512    512-bit registers, 32 of them
//	avx512amx products of 16 rows of integers in tiles

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// What leaves ask for ahead depends on who made the processor. asksAhead: float32 weights that one
// row needs later, which AMD's without AVX-512 read faster by what they see themselves. asksSecond:
// several rows in 512 bits, and several segments, ask the second-level cache and not the first, as is
// faster on AMD's.
var asksAhead, asksSecond bool

// isAMD reports whether AMD made this processor.
func isAMD() bool

// archVariants returns the variants of this processor, the fastest first. Package cpu reads CPUID,
// and XGETBV because the operating system must save the wide registers.
func archVariants() []*variant {
	x := &cpu.X86
	asksAhead, asksSecond = x.HasAVX512F || !isAMD(), isAMD()
	if !x.HasAVX2 || !x.HasFMA || !x.HasF16C {
		return nil
	}
	avx2 := avx2Variant()
	if !x.HasAVX512VNNI || !x.HasAVX512BW || !x.HasAVX512VL {
		return []*variant{avx2}
	}
	avx2vnni := *avx2
	avx2vnni.name = "avx2vnni"
	// nobody has measured them here
	avx2vnni.dotPairs, avx2vnni.f16.dotPairs, avx2vnni.bf16.dotPairs = nil, nil, nil
	avx2vnni.quantTile8, avx2vnni.quantTile4 = quantTile8VNNI, quantTile4VNNI
	avx2vnni.quantOne8, avx2vnni.quantOne4 = quantOne8VNNI, quantOne4VNNI
	avx2vnni.productPeak = productPeakVNNI
	if !x.HasAVX512F || !x.HasAVX512DQ {
		return []*variant{&avx2vnni, avx2}
	}
	avx512 := avx512Variant(avx2vnni)
	if !x.HasAMXTile || !x.HasAMXInt8 || !savesTiles() {
		return []*variant{avx512, &avx2vnni, avx2}
	}
	amx := *avx512
	amx.name = "avx512amx"
	setQuantAMX(&amx)
	amx.permitted = permitTiles
	return []*variant{&amx, avx512, &avx2vnni, avx2}
}

// savesTiles reports whether the operating system saves tiles when another program runs.
func savesTiles() bool { return runtime.GOOS == "linux" && extendedStates()&(3<<17) == 3<<17 }

// extendedStates returns what the operating system saves: XCR0.
func extendedStates() uint64

// permitTiles asks Linux to let this process use tiles, once and for all: a thread that does gets
// memory for them, and signals need more stack. It reports whether it may.
func permitTiles() bool {
	const permit, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
	return archPrctl(permit, tileData) == 0
}

// archPrctl is the system call, which package syscall names only where there is one.
func archPrctl(code, argument uint64) (result int64)

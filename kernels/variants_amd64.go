//go:build !purego

package kernels

// The variants of amd64 processors. Each is the one before it with some leaves replaced.
//
//	avx2      AVX2, FMA, F16C
//	avx2vnni  VPDPWSSD on 256 bits for products of integers, and 32 registers for them
//	avx512    512-bit registers, 32 of them

import "golang.org/x/sys/cpu"

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
	avx2vnni.dotPairs, avx2vnni.dotPairs16 = nil, nil // nobody has measured them here
	avx2vnni.quantTile8, avx2vnni.quantTile4 = quantTile8VNNI, quantTile4VNNI
	avx2vnni.quantOne8, avx2vnni.quantOne4 = quantOne8VNNI, quantOne4VNNI
	avx2vnni.productPeak = productPeakFastVNNI
	if !x.HasAVX512F || !x.HasAVX512DQ {
		return []*variant{&avx2vnni, avx2}
	}
	return []*variant{avx512Variant(avx2vnni), &avx2vnni, avx2}
}

//go:build !purego

#include "textflag.h"

// What the machine can do at most, with 256-bit registers.

#define S0 Y0
#define S1 Y1
#define S2 Y2
#define S3 Y3
#define S4 Y4
#define S5 Y5
#define S6 Y6
#define S7 Y7
#define S8 Y8
#define S9 Y9
#define S10 Y10
#define S11 Y11
#define ONES Y14
#define ONES2 Y15

#include "limits_amd64.h"

// MADD is DOT without VNNI.
#define MADD(sum) \
	VPMADDWD ONES, ONES2, Y13  \
	VPADDD   Y13, sum, sum

// func fmaPeakAVX2(iterations int) float32
TEXT ·fmaPeakAVX2(SB), NOSPLIT, $0-12
	PEAK(0x3f800000, FMA, NOTHING)
	LANES

// func productPeakAVX2(iterations int) float32
TEXT ·productPeakAVX2(SB), NOSPLIT, $0-12
	PEAK(0x00010001, MADD, CONVERT)
	LANES

// func productPeakVNNI(iterations int) float32
TEXT ·productPeakVNNI(SB), NOSPLIT, $0-12
	PEAK(0x00010001, DOT, CONVERT)
	LANES

// func readMemoryAVX2(b []byte) uint64
// Four streams, a quarter of b each, a cache line at a time. One stream reaches two thirds of this on one thread, and telling the
// processor what to fetch only slows it down.
TEXT ·readMemoryAVX2(SB), NOSPLIT, $0-32
	MOVQ b_base+0(FP), R8
	MOVQ b_len+8(FP), CX
	SHRQ $8, CX
	MOVQ CX, AX
	SHLQ $6, AX
	LEAQ (R8)(AX*1), R9
	LEAQ (R9)(AX*1), R10
	LEAQ (R10)(AX*1), R11
	XORL AX, AX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

loop:
	SUBQ $1, CX
	JLT  end
	VPADDQ 0(R8)(AX*1), Y0, Y0
	VPADDQ 32(R8)(AX*1), Y1, Y1
	VPADDQ 0(R9)(AX*1), Y2, Y2
	VPADDQ 32(R9)(AX*1), Y3, Y3
	VPADDQ 0(R10)(AX*1), Y4, Y4
	VPADDQ 32(R10)(AX*1), Y5, Y5
	VPADDQ 0(R11)(AX*1), Y6, Y6
	VPADDQ 32(R11)(AX*1), Y7, Y7
	ADDQ $64, AX
	JMP  loop

end:
	VPADDQ Y1, Y0, Y0
	VPADDQ Y3, Y2, Y2
	VPADDQ Y5, Y4, Y4
	VPADDQ Y7, Y6, Y6
	VPADDQ Y2, Y0, Y0
	VPADDQ Y6, Y4, Y4
	VPADDQ Y4, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDQ X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, ret+24(FP)
	VZEROUPPER
	RET

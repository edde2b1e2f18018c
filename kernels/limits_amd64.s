//go:build !purego

#include "textflag.h"

// What the machine can do at most.

#define TWELVE \
	VFMADD231PS Y14, Y15, Y0   \
	VFMADD231PS Y14, Y15, Y1   \
	VFMADD231PS Y14, Y15, Y2   \
	VFMADD231PS Y14, Y15, Y3   \
	VFMADD231PS Y14, Y15, Y4   \
	VFMADD231PS Y14, Y15, Y5   \
	VFMADD231PS Y14, Y15, Y6   \
	VFMADD231PS Y14, Y15, Y7   \
	VFMADD231PS Y14, Y15, Y8   \
	VFMADD231PS Y14, Y15, Y9   \
	VFMADD231PS Y14, Y15, Y10  \
	VFMADD231PS Y14, Y15, Y11

// func fmaPeakAVX2(iterations int)
TEXT ·fmaPeakAVX2(SB), NOSPLIT, $0-8
	MOVQ iterations+0(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	VXORPS Y14, Y14, Y14
	VXORPS Y15, Y15, Y15

loop:
	SUBQ $1, CX
	JLT  end
	TWELVE
	TWELVE
	TWELVE
	TWELVE
	JMP  loop

end:
	VZEROUPPER
	RET

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

//go:build !purego

#include "textflag.h"

// Keys and values in 16 bits: rounding, and one query's products.

// func round16AVX2(dst []uint16, src []float32)
TEXT ·round16AVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	MOVL $0x7fff, AX // all but the sign
	VMOVD AX, X4
	VPBROADCASTW X4, X4
	MOVL $0x7bff, AX // 65504
	VMOVD AX, X5
	VPBROADCASTW X5, X5
	MOVL $0x0200, AX // what makes a NaN quiet
	VMOVD AX, X6
	VPBROADCASTW X6, X6

loop:
	SUBQ $8, CX
	JLT  end
	VMOVUPS (SI), Y0
	VCVTPS2PH $0, Y0, X0
	VPAND X4, X0, X1
	VPCMPGTW X5, X1, X1
	VPAND X6, X1, X1
	VPOR X1, X0, X0
	VMOVDQU X0, (DI)
	ADDQ $32, SI
	ADDQ $16, DI
	JMP  loop

end:
	VZEROUPPER
	RET

// PANEL takes 16 numbers of a panel, in 16 bits, and multiplies them by the number in Y12.
#define PANEL(panel, lo, hi, y0, y1) \
	VCVTPH2PS 0(panel)(BX*1), lo    \
	VCVTPH2PS 16(panel)(BX*1), hi   \
	VFMADD231PS lo, Y12, y0         \
	VFMADD231PS hi, Y12, y1

// func panelRow16AVX2(y, x []float32, b []uint16, next int)
// Four panels at a time, from R8–R11 on, hide the latency of the sums. SI + 4·R12 is where x is, BX the offset in a panel.
TEXT ·panelRow16AVX2(SB), NOSPLIT, $0-80
	MOVQ y_base+0(FP), DI
	MOVQ y_len+8(FP), DX
	SHRQ $4, DX
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	TESTQ CX, CX
	JEQ  end
	MOVQ b_base+48(FP), R8
	MOVQ next+72(FP), AX
	SHLQ $1, AX

four:
	SUBQ $4, DX
	JLT  rest
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	VMOVUPS 128(DI), Y4
	VMOVUPS 160(DI), Y5
	VMOVUPS 192(DI), Y6
	VMOVUPS 224(DI), Y7
	LEAQ (R8)(AX*1), R9
	LEAQ (R9)(AX*1), R10
	LEAQ (R10)(AX*1), R11
	XORL BX, BX
	XORL R12, R12

fourStep:
	VBROADCASTSS (SI)(R12*4), Y12
	PANEL(R8, Y8, Y9, Y0, Y1)
	PANEL(R9, Y10, Y11, Y2, Y3)
	PANEL(R10, Y8, Y9, Y4, Y5)
	PANEL(R11, Y10, Y11, Y6, Y7)
	ADDQ $32, BX
	INCQ R12
	CMPQ R12, CX
	JLT  fourStep
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VMOVUPS Y6, 192(DI)
	VMOVUPS Y7, 224(DI)
	ADDQ $256, DI
	LEAQ (R11)(AX*1), R8
	JMP  four

rest:
	ADDQ $4, DX

one:
	SUBQ $1, DX
	JLT  end
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	XORL BX, BX
	XORL R12, R12

oneStep:
	VBROADCASTSS (SI)(R12*4), Y12
	PANEL(R8, Y8, Y9, Y0, Y1)
	ADDQ $32, BX
	INCQ R12
	CMPQ R12, CX
	JLT  oneStep
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	ADDQ $64, DI
	ADDQ AX, R8
	JMP  one

end:
	VZEROUPPER
	RET

//go:build !purego

#include "textflag.h"

// One query's products with keys and values in 16 bits, 16 sums in a register.

// PANEL takes 16 numbers of a panel, in 16 bits, and multiplies them by the number in Z12.
#define PANEL(panel, z, y) \
	VCVTPH2PS (panel)(BX*1), z   \
	VFMADD231PS z, Z12, y

// func panelRow16AVX512(y, x []float32, b []uint16, next int)
// Four panels at a time, from R8–R11 on, hide the latency of the sums. SI + 4·R12 is where x is, BX the offset in a panel.
TEXT ·panelRow16AVX512(SB), NOSPLIT, $0-80
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
	VMOVUPS 0(DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3
	LEAQ (R8)(AX*1), R9
	LEAQ (R9)(AX*1), R10
	LEAQ (R10)(AX*1), R11
	XORL BX, BX
	XORL R12, R12

fourStep:
	VBROADCASTSS (SI)(R12*4), Z12
	PANEL(R8, Z8, Z0)
	PANEL(R9, Z9, Z1)
	PANEL(R10, Z10, Z2)
	PANEL(R11, Z11, Z3)
	ADDQ $32, BX
	INCQ R12
	CMPQ R12, CX
	JLT  fourStep
	VMOVUPS Z0, 0(DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	ADDQ $256, DI
	LEAQ (R11)(AX*1), R8
	JMP  four

rest:
	ADDQ $4, DX

one:
	SUBQ $1, DX
	JLT  end
	VMOVUPS (DI), Z0
	XORL BX, BX
	XORL R12, R12

oneStep:
	VBROADCASTSS (SI)(R12*4), Z12
	PANEL(R8, Z8, Z0)
	ADDQ $32, BX
	INCQ R12
	CMPQ R12, CX
	JLT  oneStep
	VMOVUPS Z0, (DI)
	ADDQ $64, DI
	ADDQ AX, R8
	JMP  one

end:
	VZEROUPPER
	RET

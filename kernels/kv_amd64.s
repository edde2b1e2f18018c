//go:build !purego

#include "textflag.h"

// Keys and values in 16 bits: rounding.

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

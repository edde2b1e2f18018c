//go:build !purego

#include "textflag.h"

// Keys and values in 16 and 8 bits: rounding, and scales.

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

// func roundByAVX2(dst []byte, src []float32, inverse float32)
TEXT ·roundByAVX2(SB), NOSPLIT, $0-52
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	VBROADCASTSS inverse+48(FP), Y1

loop:
	SUBQ $8, CX
	JLT  end
	VMULPS (SI), Y1, Y0
	VCVTPS2DQ Y0, Y0
	VEXTRACTI128 $1, Y0, X2
	VPACKSSDW X2, X0, X0
	VPACKSSWB X0, X0, X0
	VMOVQ X0, (DI)
	ADDQ $32, SI
	ADDQ $8, DI
	JMP  loop

end:
	VZEROUPPER
	RET

// func scaleByAVX2(y, by []float32)
TEXT ·scaleByAVX2(SB), NOSPLIT, $0-48
	MOVQ y_base+0(FP), DI
	MOVQ y_len+8(FP), CX
	MOVQ by_base+24(FP), SI

loop:
	SUBQ $8, CX
	JLT  end
	VMOVUPS (DI), Y0
	VMULPS (SI), Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	JMP  loop

end:
	VZEROUPPER
	RET

// func fetchLines(a, b uintptr, apart, lines int)
TEXT ·fetchLines(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ apart+16(FP), AX
	MOVQ lines+24(FP), CX

loop:
	PREFETCHT1 (SI)
	PREFETCHT1 (SI)(AX*1)
	PREFETCHT1 (DI)
	PREFETCHT1 (DI)(AX*1)
	ADDQ $64, SI
	ADDQ $64, DI
	DECQ CX
	JNE  loop
	RET

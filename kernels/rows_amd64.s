//go:build !purego

#include "textflag.h"

// Operations on one row: layer norm, sum, scaling, scores.

// MASK sets m to the n lanes that are left of a row.
#define MASK(n, m) \
	LEAQ ·laneMask+32(SB), R15  \
	SHLQ $2, n                  \
	SUBQ n, R15                 \
	VMOVUPS (R15), m

// REDUCE adds the eight lanes of y (x is its low half) by the package's tree, into lane 0.
#define REDUCE(y, x, t) \
	VHADDPS y, y, y             \
	VHADDPS y, y, y             \
	VEXTRACTF128 $1, y, t       \
	VADDSS t, x, x

// func layerNormAVX2(dst, x, gain, bias []float32, eps float32)
TEXT ·layerNormAVX2(SB), NOSPLIT, $0-100
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), DX
	MOVQ gain_base+48(FP), R8
	MOVQ bias_base+72(FP), R9
	VCVTSI2SSQ DX, X8, X8 // n
	MOVQ DX, CX
	MOVQ DX, BX
	ANDQ $7, BX
	MASK(BX, Y9)
	ANDQ $~7, CX
	SHLQ $2, CX // bytes in whole vectors

	// Y0: the lanes of the mean
	VXORPS Y0, Y0, Y0
	XORQ AX, AX

sum:
	CMPQ AX, CX
	JEQ  sumRest
	VADDPS (SI)(AX*1), Y0, Y0
	ADDQ $32, AX
	JMP  sum

sumRest:
	TESTQ $7, DX
	JEQ  mean
	VMASKMOVPS (SI)(AX*1), Y9, Y1
	VADDPS Y1, Y0, Y1
	VBLENDVPS Y9, Y1, Y0, Y0

mean:
	REDUCE(Y0, X0, X1)
	VDIVSS X8, X0, X0
	VBROADCASTSS X0, Y10

	// Y0: the lanes of the squared deviations
	VXORPS Y0, Y0, Y0
	XORQ AX, AX

square:
	CMPQ AX, CX
	JEQ  squareRest
	VMOVUPS (SI)(AX*1), Y1
	VSUBPS Y10, Y1, Y1
	VFMADD231PS Y1, Y1, Y0
	ADDQ $32, AX
	JMP  square

squareRest:
	TESTQ $7, DX
	JEQ  deviation
	VMASKMOVPS (SI)(AX*1), Y9, Y1
	VSUBPS Y10, Y1, Y1
	VFMADD213PS Y0, Y1, Y1
	VBLENDVPS Y9, Y1, Y0, Y0

deviation:
	REDUCE(Y0, X0, X1)
	VDIVSS X8, X0, X0
	VADDSS eps+96(FP), X0, X0
	VSUBSS X0, X0, X2 // 0, or NaN
	VSQRTSS X0, X0, X0
	MOVL $0x3f800000, BX
	VMOVD BX, X1
	VDIVSS X0, X1, X0
	VADDSS X2, X0, X0
	VBROADCASTSS X0, Y11
	XORQ AX, AX

norm:
	CMPQ AX, CX
	JEQ  normRest
	VMOVUPS (SI)(AX*1), Y1
	VSUBPS Y10, Y1, Y1
	VMULPS Y11, Y1, Y1
	VMOVUPS (R8)(AX*1), Y2
	VFMADD213PS (R9)(AX*1), Y2, Y1
	VMOVUPS Y1, (DI)(AX*1)
	ADDQ $32, AX
	JMP  norm

normRest:
	TESTQ $7, DX
	JEQ  end
	VMASKMOVPS (SI)(AX*1), Y9, Y1
	VSUBPS Y10, Y1, Y1
	VMULPS Y11, Y1, Y1
	VMASKMOVPS (R8)(AX*1), Y9, Y2
	VMASKMOVPS (R9)(AX*1), Y9, Y3
	VFMADD213PS Y3, Y2, Y1
	VMASKMOVPS Y1, Y9, (DI)(AX*1)

end:
	VZEROUPPER
	RET

// func addAVX2(dst, x []float32)
TEXT ·addAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX

loop:
	SUBQ $8, CX
	JLT  rest
	VMOVUPS (DI), Y0
	VADDPS (SI), Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, SI
	JMP  loop

rest:
	ADDQ $8, CX
	JEQ  end
	MASK(CX, Y9)
	VMASKMOVPS (DI), Y9, Y0
	VMASKMOVPS (SI), Y9, Y1
	VADDPS Y1, Y0, Y0
	VMASKMOVPS Y0, Y9, (DI)

end:
	VZEROUPPER
	RET

// func scaleAVX2(x []float32, by float32)
TEXT ·scaleAVX2(SB), NOSPLIT, $0-28
	MOVQ x_base+0(FP), DI
	MOVQ x_len+8(FP), CX
	VBROADCASTSS by+24(FP), Y2

loop:
	SUBQ $8, CX
	JLT  rest
	VMULPS (DI), Y2, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	JMP  loop

rest:
	ADDQ $8, CX
	JEQ  end
	MASK(CX, Y9)
	VMASKMOVPS (DI), Y9, Y0
	VMULPS Y0, Y2, Y0
	VMASKMOVPS Y0, Y9, (DI)

end:
	VZEROUPPER
	RET

// func scoresMaxAVX2(s, mask []float32, scale, max float32) float32
// VMAXPS gives its second operand, the running maximum, where the first is NaN.
TEXT ·scoresMaxAVX2(SB), NOSPLIT, $0-60
	MOVQ s_base+0(FP), DI
	MOVQ s_len+8(FP), CX
	MOVQ mask_base+24(FP), SI
	VBROADCASTSS scale+48(FP), Y2
	VBROADCASTSS max+52(FP), Y3
	TESTQ SI, SI
	JEQ  plain

masked:
	SUBQ $8, CX
	JLT  maskedRest
	VMOVUPS (DI), Y0
	VFMADD213PS (SI), Y2, Y0
	VMOVUPS Y0, (DI)
	VMAXPS Y3, Y0, Y3
	ADDQ $32, DI
	ADDQ $32, SI
	JMP  masked

maskedRest:
	ADDQ $8, CX
	JEQ  greatest
	MASK(CX, Y9)
	VMASKMOVPS (DI), Y9, Y0
	VMASKMOVPS (SI), Y9, Y1
	VFMADD213PS Y1, Y2, Y0
	JMP  last

plain:
	SUBQ $8, CX
	JLT  plainRest
	VMULPS (DI), Y2, Y0
	VMOVUPS Y0, (DI)
	VMAXPS Y3, Y0, Y3
	ADDQ $32, DI
	JMP  plain

plainRest:
	ADDQ $8, CX
	JEQ  greatest
	MASK(CX, Y9)
	VMASKMOVPS (DI), Y9, Y0
	VMULPS Y0, Y2, Y0

last:
	VMASKMOVPS Y0, Y9, (DI)
	VMAXPS Y3, Y0, Y0
	VBLENDVPS Y9, Y0, Y3, Y3

greatest:
	VEXTRACTF128 $1, Y3, X0
	VMAXPS X3, X0, X0
	VMOVHLPS X0, X0, X1
	VMAXPS X0, X1, X0
	VMOVSHDUP X0, X1
	VMAXSS X0, X1, X0
	VMOVSS X0, ret+56(FP)
	VZEROUPPER
	RET

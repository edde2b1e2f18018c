//go:build !purego

#include "textflag.h"
#include "widen_amd64.h"

// Dot products of one row of x: one register holds the eight lanes of one product.

// DOTROW: SI x, AX the element; R9–R12 four rows of w, the last repeated where fewer exist; R8 the bytes of a row, R13 of four; CX rows left.
#define DOTROW(WIDEN, REST, size) \
	MOVQ dst_base+0(FP), DI     \
	MOVQ x_base+24(FP), SI      \
	MOVQ w_base+48(FP), R9      \
	MOVQ ldw+72(FP), R8         \
	IMULQ $size, R8             \
	LEAQ (R8*4), R13            \
	MOVQ outs+80(FP), CX        \
four:                           \
	CMPQ CX, $0                 \
	JLE  end                    \
	LEAQ (R9)(R8*1), R10        \
	CMPQ CX, $2                 \
	CMOVQLT R9, R10             \
	LEAQ (R10)(R8*1), R11       \
	CMPQ CX, $3                 \
	CMOVQLT R10, R11            \
	LEAQ (R11)(R8*1), R12       \
	CMPQ CX, $4                 \
	CMOVQLT R11, R12            \
	VXORPS Y0, Y0, Y0           \
	VXORPS Y1, Y1, Y1           \
	VXORPS Y2, Y2, Y2           \
	VXORPS Y3, Y3, Y3           \
	MOVQ k+88(FP), BX           \
	XORQ AX, AX                 \
loop:                           \
	SUBQ $8, BX                 \
	JLT  rest                   \
	VMOVUPS (SI)(AX*4), Y4      \
	WIDEN((R9)(AX*size), Y5)    \
	VFMADD231PS Y5, Y4, Y0      \
	WIDEN((R10)(AX*size), Y6)   \
	VFMADD231PS Y6, Y4, Y1      \
	WIDEN((R11)(AX*size), Y7)   \
	VFMADD231PS Y7, Y4, Y2      \
	WIDEN((R12)(AX*size), Y8)   \
	VFMADD231PS Y8, Y4, Y3      \
	LEAQ (R13)(AX*size), DX     \
	PREFETCHT0 (R9)(DX*1)       \
	PREFETCHT0 (R10)(DX*1)      \
	PREFETCHT0 (R11)(DX*1)      \
	PREFETCHT0 (R12)(DX*1)      \
	ADDQ $8, AX                 \
	JMP  loop                   \
rest:                           \
	ADDQ $8, BX                 \
	JEQ  reduce                 \
	MASK                        \
	VMASKMOVPS (SI)(AX*4), Y15, Y4 \
	REST(R9, Y5)                \
	LANES(Y4, Y5, Y6, Y0)       \
	REST(R10, Y5)               \
	LANES(Y4, Y5, Y6, Y1)       \
	REST(R11, Y5)               \
	LANES(Y4, Y5, Y6, Y2)       \
	REST(R12, Y5)               \
	LANES(Y4, Y5, Y6, Y3)       \
reduce:                         \
	VHADDPS Y1, Y0, Y0          \
	VHADDPS Y3, Y2, Y2          \
	VHADDPS Y2, Y0, Y0          \
	VEXTRACTF128 $1, Y0, X1     \
	VADDPS X1, X0, X0           \
	ADDQ R13, R9                \
	SUBQ $4, CX                 \
	JLT  part                   \
	VMOVUPS X0, (DI)            \
	ADDQ $16, DI                \
	JMP  four                   \
part:                           \
	LEAQ ·laneMask+16(SB), R15  \
	SHLQ $2, CX                 \
	SUBQ CX, R15                \
	VMOVUPS (R15), X1           \
	VMASKMOVPS X0, X1, (DI)     \
end:                            \
	VZEROUPPER                  \
	RET

// func dotRowAVX2(dst, x, w []float32, ldw, outs, k int)
TEXT ·dotRowAVX2(SB), NOSPLIT, $0-96
	DOTROW(F32, F32REST, 4)

// func dotRowF16AVX2(dst, x []float32, w []uint16, ldw, outs, k int)
TEXT ·dotRowF16AVX2(SB), NOSPLIT, $0-96
	DOTROW(F16, F16REST, 2)

// func dotRowBF16AVX2(dst, x []float32, w []uint16, ldw, outs, k int)
TEXT ·dotRowBF16AVX2(SB), NOSPLIT, $0-96
	DOTROW(BF16, BF16REST, 2)

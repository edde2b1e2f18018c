//go:build !purego

#include "textflag.h"
#include "widen_amd64.h"

// Dot products of one row of x: one register holds the eight lanes of one product.

// EIGHT continues the four products by eight elements.
#define EIGHT(WIDEN, size, at) \
	VMOVUPS (4*at)(SI)(AX*4), Y4          \
	WIDEN((size*at)(R9)(AX*size), Y5)     \
	VFMADD231PS Y5, Y4, Y0                \
	WIDEN((size*at)(R10)(AX*size), Y6)    \
	VFMADD231PS Y6, Y4, Y1                \
	WIDEN((size*at)(R11)(AX*size), Y7)    \
	VFMADD231PS Y7, Y4, Y2                \
	WIDEN((size*at)(R12)(AX*size), Y8)    \
	VFMADD231PS Y8, Y4, Y3

// FETCH16 and FETCH32 ask for the 32 elements that lie further on in the four streams.
#define FETCH16 \
	PREFETCHT0 2048(R9)(AX*2)   \
	PREFETCHT0 2048(R10)(AX*2)  \
	PREFETCHT0 2048(R11)(AX*2)  \
	PREFETCHT0 2048(R12)(AX*2)

#define FETCH32 \
	CMPB ·asksAhead(SB), $0     \
	JEQ  there                  \
	PREFETCHT0 2048(R9)(AX*4)   \
	PREFETCHT0 2112(R9)(AX*4)   \
	PREFETCHT0 2048(R10)(AX*4)  \
	PREFETCHT0 2112(R10)(AX*4)  \
	PREFETCHT0 2048(R11)(AX*4)  \
	PREFETCHT0 2112(R11)(AX*4)  \
	PREFETCHT0 2048(R12)(AX*4)  \
	PREFETCHT0 2112(R12)(AX*4)  \
there:

// DOTROW takes four rows of w that lie a quarter of all rows apart: four long streams keep more of memory busy than one.
// R9–R12 are the rows, R8 the bytes between them; SI x, AX the element, BX elements left; CX rows left, R13 a quarter of dst in bytes.
#define DOTROW(WIDEN, REST, FETCH, size) \
	MOVQ dst_base+0(FP), DI     \
	MOVQ x_base+24(FP), SI      \
	MOVQ w_base+48(FP), R9      \
	MOVQ ldw+72(FP), R8         \
	IMULQ $size, R8             \
	MOVQ outs+80(FP), CX        \
	SHRQ $2, CX                 \
	LEAQ (CX*4), R13            \
	MOVQ R8, DX                 \
	IMULQ CX, DX                \
	LEAQ (R9)(DX*1), R10        \
	LEAQ (R10)(DX*1), R11       \
	LEAQ (R11)(DX*1), R12       \
	LEAQ (R13)(R13*2), DX       \
four:                           \
	SUBQ $1, CX                 \
	JLT  end                    \
	VXORPS Y0, Y0, Y0           \
	VXORPS Y1, Y1, Y1           \
	VXORPS Y2, Y2, Y2           \
	VXORPS Y3, Y3, Y3           \
	MOVQ k+88(FP), BX           \
	XORQ AX, AX                 \
	SUBQ $32, BX                \
	JLT  eights                 \
lines:                          \
	FETCH                       \
	EIGHT(WIDEN, size, 0)       \
	EIGHT(WIDEN, size, 8)       \
	EIGHT(WIDEN, size, 16)      \
	EIGHT(WIDEN, size, 24)      \
	ADDQ $32, AX                \
	SUBQ $32, BX                \
	JGE  lines                  \
eights:                         \
	ADDQ $32, BX                \
loop:                           \
	SUBQ $8, BX                 \
	JLT  rest                   \
	EIGHT(WIDEN, size, 0)       \
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
	VMOVSS X0, (DI)             \
	VEXTRACTPS $1, X0, (DI)(R13*1) \
	VEXTRACTPS $2, X0, (DI)(R13*2) \
	VEXTRACTPS $3, X0, (DI)(DX*1)  \
	ADDQ $4, DI                 \
	ADDQ R8, R9                 \
	ADDQ R8, R10                \
	ADDQ R8, R11                \
	ADDQ R8, R12                \
	JMP  four                   \
end:                            \
	VZEROUPPER                  \
	RET

// func dotRowAVX2(dst, x, w []float32, ldw, outs, k int)
TEXT ·dotRowAVX2(SB), NOSPLIT, $0-96
	DOTROW(F32, F32REST, FETCH32, 4)

// func dotRowF16AVX2(dst, x []float32, w []uint16, ldw, outs, k int)
TEXT ·dotRowF16AVX2(SB), NOSPLIT, $0-96
	DOTROW(F16, F16REST, FETCH16, 2)

// func dotRowBF16AVX2(dst, x []float32, w []uint16, ldw, outs, k int)
TEXT ·dotRowBF16AVX2(SB), NOSPLIT, $0-96
	DOTROW(BF16, BF16REST, FETCH16, 2)

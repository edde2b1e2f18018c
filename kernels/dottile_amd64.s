//go:build !purego

#include "textflag.h"
#include "widen_amd64.h"

// Dot products of several rows of x: twelve products at a time, their lanes in Y0–Y11.

#define X4(row, a, b, c) \
	VMOVUPS (row)(AX*4), Y15    \
	VFMADD231PS Y12, Y15, a     \
	VFMADD231PS Y13, Y15, b     \
	VFMADD231PS Y14, Y15, c

// RESTS does what is left of one row of w with all four of x. All registers are in use: Y14 (in turn the mask and a product) and
// Y13 (the elements of x) are free here because the loop is over.
#define RESTS(REST, w, a, b, c, d) \
	REST(w, Y12)                \
	RESTX(R8, a)                \
	RESTX(R9, b)                \
	RESTX(R10, c)               \
	RESTX(R11, d)

#define RESTX(row, acc) \
	VMASKMOVPS (row)(AX*4), Y15, Y13  \
	VFMADD213PS acc, Y12, Y13         \
	VBLENDVPS Y15, Y13, acc, acc

// SUM3 reduces three products of one row of x and stores those of X14's lanes at BX, then moves BX down unless this was the last row.
#define SUM3(a, b, c, xa, row) \
	VHADDPS b, a, a             \
	VHADDPS c, c, c             \
	VHADDPS c, a, a             \
	VEXTRACTF128 $1, a, X12     \
	VADDPS X12, xa, xa          \
	VMASKMOVPS xa, X14, (BX)    \
	LEAQ (BX)(AX*1), R15        \
	CMPQ DX, $row               \
	CMOVQGT R15, BX

// DOTTILE: R8–R11 four rows of x and R12–R14 three of w, the last repeated where fewer exist; AX the element, BX
// elements left; DX rows of x left, CX of w; SI the first row of x, DI dst.
#define DOTTILE(WIDEN, REST, size) \
	MOVQ dst_base+0(FP), AX     \
	MOVQ AX, line-8(SP)         \
	MOVQ x_base+32(FP), SI      \
	MOVQ rows+96(FP), DX        \
quad:                           \
	CMPQ DX, $0                 \
	JLE  end                    \
	MOVQ ldx+56(FP), AX         \
	SHLQ $2, AX                 \
	MOVQ SI, R8                 \
	LEAQ (R8)(AX*1), R9         \
	CMPQ DX, $2                 \
	CMOVQLT R8, R9              \
	LEAQ (R9)(AX*1), R10        \
	CMPQ DX, $3                 \
	CMOVQLT R9, R10             \
	LEAQ (R10)(AX*1), R11       \
	CMPQ DX, $4                 \
	CMOVQLT R10, R11            \
	MOVQ w_base+64(FP), R12     \
	MOVQ outs+104(FP), CX       \
	MOVQ line-8(SP), DI         \
triple:                         \
	CMPQ CX, $0                 \
	JLE  nextQuad               \
	MOVQ ldw+88(FP), AX         \
	IMULQ $size, AX             \
	LEAQ (R12)(AX*1), R13       \
	CMPQ CX, $2                 \
	CMOVQLT R12, R13            \
	LEAQ (R13)(AX*1), R14       \
	CMPQ CX, $3                 \
	CMOVQLT R13, R14            \
	VXORPS Y0, Y0, Y0           \
	VXORPS Y1, Y1, Y1           \
	VXORPS Y2, Y2, Y2           \
	VXORPS Y3, Y3, Y3           \
	VXORPS Y4, Y4, Y4           \
	VXORPS Y5, Y5, Y5           \
	VXORPS Y6, Y6, Y6           \
	VXORPS Y7, Y7, Y7           \
	VXORPS Y8, Y8, Y8           \
	VXORPS Y9, Y9, Y9           \
	VXORPS Y10, Y10, Y10        \
	VXORPS Y11, Y11, Y11        \
	MOVQ k+112(FP), BX          \
	XORQ AX, AX                 \
loop:                           \
	SUBQ $8, BX                 \
	JLT  rest                   \
	WIDEN((R12)(AX*size), Y12)  \
	WIDEN((R13)(AX*size), Y13)  \
	WIDEN((R14)(AX*size), Y14)  \
	X4(R8, Y0, Y1, Y2)          \
	X4(R9, Y3, Y4, Y5)          \
	X4(R10, Y6, Y7, Y8)         \
	X4(R11, Y9, Y10, Y11)       \
	ADDQ $8, AX                 \
	JMP  loop                   \
rest:                           \
	ADDQ $8, BX                 \
	JEQ  reduce                 \
	MASK                        \
	RESTS(REST, R12, Y0, Y3, Y6, Y9)   \
	RESTS(REST, R13, Y1, Y4, Y7, Y10)  \
	RESTS(REST, R14, Y2, Y5, Y8, Y11)  \
reduce:                         \
	MOVL $3, AX                 \
	CMPQ CX, AX                 \
	CMOVQLT CX, AX              \
	SHLQ $2, AX                 \
	LEAQ ·laneMask+32(SB), R15  \
	SUBQ AX, R15                \
	VMOVUPS (R15), X14          \
	MOVQ ldd+24(FP), AX         \
	SHLQ $2, AX                 \
	MOVQ DI, BX                 \
	SUM3(Y0, Y1, Y2, X0, 1)     \
	SUM3(Y3, Y4, Y5, X3, 2)     \
	SUM3(Y6, Y7, Y8, X6, 3)     \
	SUM3(Y9, Y10, Y11, X9, 4)   \
	MOVQ ldw+88(FP), AX         \
	IMULQ $(3*size), AX         \
	ADDQ AX, R12                \
	ADDQ $12, DI                \
	SUBQ $3, CX                 \
	JMP  triple                 \
nextQuad:                       \
	MOVQ ldd+24(FP), AX         \
	SHLQ $4, AX                 \
	ADDQ AX, line-8(SP)         \
	MOVQ ldx+56(FP), AX         \
	SHLQ $4, AX                 \
	ADDQ AX, SI                 \
	SUBQ $4, DX                 \
	JMP  quad                   \
end:                            \
	VZEROUPPER                  \
	RET

// func dotTileAVX2(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, outs, k int)
TEXT ·dotTileAVX2(SB), NOSPLIT, $8-120
	DOTTILE(F32, F32REST, 4)

// func dotTileF16AVX2(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, outs, k int)
TEXT ·dotTileF16AVX2(SB), NOSPLIT, $8-120
	DOTTILE(F16, F16REST, 2)

// func dotTileBF16AVX2(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, outs, k int)
TEXT ·dotTileBF16AVX2(SB), NOSPLIT, $8-120
	DOTTILE(BF16, BF16REST, 2)

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

// SUM3 reduces three products of one row of x and stores them at BX, R8 bytes apart, then moves BX down unless this was the last row.
#define SUM3(a, b, c, xa, row) \
	VHADDPS b, a, a             \
	VHADDPS c, c, c             \
	VHADDPS c, a, a             \
	VEXTRACTF128 $1, a, X12     \
	VADDPS X12, xa, xa          \
	VMOVSS xa, (BX)             \
	VEXTRACTPS $1, xa, (BX)(R8*1) \
	VEXTRACTPS $2, xa, (BX)(R8*2) \
	LEAQ (BX)(AX*1), R15        \
	CMPQ DX, $row               \
	CMOVQGT R15, BX

#define STEP(WIDEN, size) \
	WIDEN((R12)(AX*size), Y12)  \
	WIDEN((R13)(AX*size), Y13)  \
	WIDEN((R14)(AX*size), Y14)  \
	X4(R8, Y0, Y1, Y2)          \
	X4(R9, Y3, Y4, Y5)          \
	X4(R10, Y6, Y7, Y8)         \
	X4(R11, Y9, Y10, Y11)       \
	ADDQ $8, AX

// DOTTILE: three rows of w, far apart and each followed by the next of its stream, meet all rows of x, four at a time.
// R12–R14 are the rows of w, CX counts them; R8–R11 four rows of x, the last repeated where fewer exist, DX rows left, SI the first;
// AX the element, BX elements left. It fetches the next rows of w.
#define DOTTILE(WIDEN, REST, size) \
	MOVQ w_base+64(FP), R12     \
	MOVQ ldw+88(FP), AX         \
	IMULQ far+112(FP), AX       \
	IMULQ $size, AX             \
	LEAQ (R12)(AX*1), R13       \
	LEAQ (R13)(AX*1), R14       \
	MOVQ dst_base+0(FP), AX     \
	MOVQ AX, column-8(SP)       \
	MOVQ count+104(FP), CX      \
triple:                         \
	SUBQ $1, CX                 \
	JLT  end                    \
	MOVQ column-8(SP), AX       \
	MOVQ AX, line-16(SP)        \
	ADDQ $4, column-8(SP)       \
	MOVQ x_base+32(FP), SI      \
	MOVQ rows+96(FP), DX        \
quad:                           \
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
	MOVQ k+120(FP), BX          \
	XORL AX, AX                 \
	SUBQ $16, BX                \
	JLT  eight                  \
	MOVQ ldw+88(FP), R15        \
sixteen:                        \
	LEAQ (R15)(AX*1), DI        \
	PREFETCHT1 (R12)(DI*size)   \
	PREFETCHT1 (R13)(DI*size)   \
	PREFETCHT1 (R14)(DI*size)   \
	STEP(WIDEN, size)           \
	STEP(WIDEN, size)           \
	SUBQ $16, BX                \
	JGE  sixteen                \
eight:                          \
	ADDQ $8, BX                 \
	JLT  rest                   \
	STEP(WIDEN, size)           \
	SUBQ $8, BX                 \
rest:                           \
	ADDQ $8, BX                 \
	JEQ  reduce                 \
	MASK                        \
	RESTS(REST, R12, Y0, Y3, Y6, Y9)   \
	RESTS(REST, R13, Y1, Y4, Y7, Y10)  \
	RESTS(REST, R14, Y2, Y5, Y8, Y11)  \
reduce:                         \
	MOVQ ldd+24(FP), AX         \
	SHLQ $2, AX                 \
	MOVQ far+112(FP), R8        \
	SHLQ $2, R8                 \
	MOVQ line-16(SP), BX        \
	SUM3(Y0, Y1, Y2, X0, 1)     \
	SUM3(Y3, Y4, Y5, X3, 2)     \
	SUM3(Y6, Y7, Y8, X6, 3)     \
	SUM3(Y9, Y10, Y11, X9, 4)   \
	LEAQ (AX*4), AX             \
	ADDQ AX, line-16(SP)        \
	MOVQ ldx+56(FP), AX         \
	SHLQ $4, AX                 \
	ADDQ AX, SI                 \
	SUBQ $4, DX                 \
	JGT  quad                   \
	MOVQ ldw+88(FP), AX         \
	IMULQ $size, AX             \
	ADDQ AX, R12                \
	ADDQ AX, R13                \
	ADDQ AX, R14                \
	JMP  triple                 \
end:                            \
	VZEROUPPER                  \
	RET

// func dotTileAVX2(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, count, far, k int)
TEXT ·dotTileAVX2(SB), NOSPLIT, $16-128
	DOTTILE(F32, F32REST, 4)

// func dotTileF16AVX2(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count, far, k int)
TEXT ·dotTileF16AVX2(SB), NOSPLIT, $16-128
	DOTTILE(F16, F16REST, 2)

// func dotTileBF16AVX2(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count, far, k int)
TEXT ·dotTileBF16AVX2(SB), NOSPLIT, $16-128
	DOTTILE(BF16, BF16REST, 2)

// STEPPAIR continues the twelve products of DOTPAIR by eight elements.
#define STEPPAIR(WIDEN, size) \
	VMOVUPS (SI)(AX*4), Y13     \
	VMOVUPS (DI)(AX*4), Y14     \
	WIDEN((R12)(AX*size), Y12)  \
	WIDEN((R9)(AX*size), Y15)   \
	VFMADD231PS Y12, Y13, Y0    \
	VFMADD231PS Y12, Y14, Y1    \
	VFMADD231PS Y15, Y13, Y2    \
	VFMADD231PS Y15, Y14, Y3    \
	WIDEN((R13)(AX*size), Y12)  \
	WIDEN((R10)(AX*size), Y15)  \
	VFMADD231PS Y12, Y13, Y4    \
	VFMADD231PS Y12, Y14, Y5    \
	VFMADD231PS Y15, Y13, Y6    \
	VFMADD231PS Y15, Y14, Y7    \
	WIDEN((R14)(AX*size), Y12)  \
	WIDEN((R11)(AX*size), Y15)  \
	VFMADD231PS Y12, Y13, Y8    \
	VFMADD231PS Y12, Y14, Y9    \
	VFMADD231PS Y15, Y13, Y10   \
	VFMADD231PS Y15, Y14, Y11   \
	ADDQ $8, AX

// DOTPAIR: two rows of w of each of three streams meet all rows of x, two at a time: fewer sums to
// store than of DOTTILE, and none that nobody wants of two. Y0, Y2, … are the products with the
// first row of x, which is at SI, Y1, Y3, … with the second, at DI, the same where there is no
// second. R12–R14 are the first rows of w, R9–R11 the second, R15 their bytes; CX counts pairs, DX
// the rows of x left; AX is the element, BX elements left, a multiple of 8. It fetches the next
// pairs of w.
#define DOTPAIR(WIDEN, size) \
	MOVQ w_base+64(FP), R12     \
	MOVQ ldw+88(FP), R15        \
	IMULQ $size, R15            \
	MOVQ R15, AX                \
	IMULQ far+112(FP), AX       \
	LEAQ (R12)(AX*1), R13       \
	LEAQ (R13)(AX*1), R14       \
	MOVQ dst_base+0(FP), AX     \
	MOVQ AX, column-8(SP)       \
	MOVQ count+104(FP), CX      \
pair:                           \
	SUBQ $1, CX                 \
	JLT  end                    \
	MOVQ column-8(SP), AX       \
	MOVQ AX, line-16(SP)        \
	ADDQ $8, column-8(SP)       \
	LEAQ (R12)(R15*1), R9       \
	LEAQ (R13)(R15*1), R10      \
	LEAQ (R14)(R15*1), R11      \
	MOVQ x_base+32(FP), SI      \
	MOVQ rows+96(FP), DX        \
two:                            \
	MOVQ ldx+56(FP), AX         \
	LEAQ (SI)(AX*4), DI         \
	CMPQ DX, $2                 \
	CMOVQLT SI, DI              \
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
	MOVQ k+120(FP), BX          \
	XORL AX, AX                 \
	SUBQ $16, BX                \
	JLT  eight                  \
sixteen:                        \
	MOVQ ldw+88(FP), R8         \
	LEAQ (AX)(R8*2), R8         \
	PREFETCHT1 (R12)(R8*size)   \
	PREFETCHT1 (R13)(R8*size)   \
	PREFETCHT1 (R14)(R8*size)   \
	PREFETCHT1 (R9)(R8*size)    \
	PREFETCHT1 (R10)(R8*size)   \
	PREFETCHT1 (R11)(R8*size)   \
	STEPPAIR(WIDEN, size)       \
	STEPPAIR(WIDEN, size)       \
	SUBQ $16, BX                \
	JGE  sixteen                \
eight:                          \
	CMPQ BX, $-16               \
	JEQ  reduce                 \
	STEPPAIR(WIDEN, size)       \
reduce:                         \
	VHADDPS Y2, Y0, Y0          \
	VHADDPS Y6, Y4, Y4          \
	VHADDPS Y3, Y1, Y1          \
	VHADDPS Y7, Y5, Y5          \
	VHADDPS Y10, Y8, Y8         \
	VHADDPS Y11, Y9, Y9         \
	VHADDPS Y4, Y0, Y0          \
	VHADDPS Y5, Y1, Y1          \
	VHADDPS Y9, Y8, Y8          \
	VEXTRACTF128 $1, Y0, X2     \
	VEXTRACTF128 $1, Y1, X3     \
	VEXTRACTF128 $1, Y8, X9     \
	VADDPS X2, X0, X0           \
	VADDPS X3, X1, X1           \
	VADDPS X9, X8, X8           \
	MOVQ line-16(SP), BX        \
	MOVQ ldd+24(FP), AX         \
	MOVQ far+112(FP), R8        \
	SHLQ $2, R8                 \
	LEAQ (BX)(AX*4), DI         \
	CMPQ DX, $2                 \
	CMOVQLT BX, DI              \
	VMOVLPS X0, (BX)            \
	VMOVHPS X0, (BX)(R8*1)      \
	VMOVLPS X8, (BX)(R8*2)      \
	VMOVLPS X1, (DI)            \
	VMOVHPS X1, (DI)(R8*1)      \
	VMOVHPS X8, (DI)(R8*2)      \
	LEAQ (BX)(AX*8), BX         \
	MOVQ BX, line-16(SP)        \
	MOVQ ldx+56(FP), AX         \
	LEAQ (SI)(AX*8), SI         \
	SUBQ $2, DX                 \
	JGT  two                    \
	LEAQ (R12)(R15*2), R12      \
	LEAQ (R13)(R15*2), R13      \
	LEAQ (R14)(R15*2), R14      \
	JMP  pair                   \
end:                            \
	VZEROUPPER                  \
	RET

// func dotPairAVX2(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, count, far, k int)
TEXT ·dotPairAVX2(SB), NOSPLIT, $16-128
	DOTPAIR(F32, 4)

// func dotPairF16AVX2(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count, far, k int)
TEXT ·dotPairF16AVX2(SB), NOSPLIT, $16-128
	DOTPAIR(F16, 2)

// func dotPairBF16AVX2(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count, far, k int)
TEXT ·dotPairBF16AVX2(SB), NOSPLIT, $16-128
	DOTPAIR(BF16, 2)

//go:build !purego

#include "textflag.h"
#include "widen_amd64.h"

// Weights [out, in] in the order of the tile: eight rows by eight numbers are transposed at a time.

// PAIRS interleaves the numbers of two rows, FOURS the pairs of two pairs of rows: then each half of a register holds one number of
// four rows.
#define PAIRS(a, b, low, high) \
	VUNPCKLPS b, a, low         \
	VUNPCKHPS b, a, high

#define FOURS(a, b, low, high) \
	VUNPCKLPD b, a, low         \
	VUNPCKHPD b, a, high

// STORE4 stores number n of the rows, of which the low half of y holds four at x, and number n + 4.
#define STORE4(x, y, at, later) \
	VMOVUPS x, at               \
	VEXTRACTF128 $1, y, later

// PACKLANES: R8, R10, R11 are rows 0, 3 and 6 of eight rows of w, R9 bytes apart; DI, R13, R14 lanes 0, 3 and 6 of dst, R12 bytes
// apart. CX counts groups of eight numbers, BX eights of rows. DX is what leads to the next eight: to the other half of the panel, or
// from there to the next panel.
#define PACKLANES(WIDEN, size) \
	MOVQ dst_base+0(FP), DI     \
	MOVQ w_base+24(FP), R8      \
	MOVQ ldw+48(FP), R9         \
	MOVQ lane+56(FP), R12       \
	MOVQ panels+72(FP), BX      \
	IMULQ $size, R9             \
	SHLQ $6, R12                \
	ADDQ BX, BX                 \
	MOVQ $32, DX                \
eights:                         \
	SUBQ $1, BX                 \
	JLT  end                    \
	MOVQ DI, SI                 \
	MOVQ R8, AX                 \
	LEAQ (R8)(R9*2), R10        \
	ADDQ R9, R10                \
	LEAQ (R10)(R9*2), R11       \
	ADDQ R9, R11                \
	LEAQ (DI)(R12*2), R13       \
	ADDQ R12, R13               \
	LEAQ (R13)(R12*2), R14      \
	ADDQ R12, R14               \
	MOVQ groups+64(FP), CX      \
group:                          \
	SUBQ $1, CX                 \
	JLT  next                   \
	WIDEN((R8), Y0)             \
	WIDEN((R8)(R9*1), Y1)       \
	WIDEN((R8)(R9*2), Y2)       \
	WIDEN((R10), Y3)            \
	WIDEN((R10)(R9*1), Y4)      \
	WIDEN((R10)(R9*2), Y5)      \
	WIDEN((R11), Y6)            \
	WIDEN((R11)(R9*1), Y7)      \
	PAIRS(Y0, Y1, Y8, Y9)       \
	PAIRS(Y2, Y3, Y10, Y11)     \
	PAIRS(Y4, Y5, Y12, Y13)     \
	PAIRS(Y6, Y7, Y14, Y15)     \
	FOURS(Y8, Y10, Y0, Y1)      \
	FOURS(Y9, Y11, Y2, Y3)      \
	FOURS(Y12, Y14, Y4, Y5)     \
	FOURS(Y13, Y15, Y6, Y7)     \
	STORE4(X0, Y0, (DI), (R13)(R12*1))        \
	STORE4(X4, Y4, 16(DI), 16(R13)(R12*1))    \
	STORE4(X1, Y1, (DI)(R12*1), (R13)(R12*2)) \
	STORE4(X5, Y5, 16(DI)(R12*1), 16(R13)(R12*2)) \
	STORE4(X2, Y2, (DI)(R12*2), (R14))        \
	STORE4(X6, Y6, 16(DI)(R12*2), 16(R14))    \
	STORE4(X3, Y3, (R13), (R14)(R12*1))       \
	STORE4(X7, Y7, 16(R13), 16(R14)(R12*1))   \
	ADDQ $(8*size), R8          \
	ADDQ $(8*size), R10         \
	ADDQ $(8*size), R11         \
	ADDQ $64, DI                \
	ADDQ $64, R13               \
	ADDQ $64, R14               \
	JMP  group                  \
next:                           \
	LEAQ (AX)(R9*8), R8         \
	LEAQ (SI)(DX*1), DI         \
	NEGQ DX                     \
	LEAQ (DX)(R12*8), DX        \
	JMP  eights                 \
end:                            \
	VZEROUPPER                  \
	RET

// func packLanesAVX2(dst, w []float32, ldw, lane, groups, panels int)
TEXT ·packLanesAVX2(SB), NOSPLIT, $0-80
	PACKLANES(F32, 4)

// func packLanesF16AVX2(dst []float32, w []uint16, ldw, lane, groups, panels int)
TEXT ·packLanesF16AVX2(SB), NOSPLIT, $0-80
	PACKLANES(F16, 2)

// func packLanesBF16AVX2(dst []float32, w []uint16, ldw, lane, groups, panels int)
TEXT ·packLanesBF16AVX2(SB), NOSPLIT, $0-80
	PACKLANES(BF16, 2)

//go:build !purego

#include "textflag.h"
#include "widen_amd64.h"

// One row of x, several segments of inputs side by side, a row of w of each at a time. Where rows of
// w are short, this is what keeps memory busy: each segment is one stream, far from the others.
//
// Registers: DI the sums of segment 0, R12 within them; R11, R13, R14 = 1, 3, 5 rows of sums in
// bytes. BX the row of w of segment 0, AX within it; R8, R9, R10 = 1, 3, 5 segments of w in bytes.
// SI x, CX inputs left; DX columns left. Y10–Y15 hold an element of x of each segment, 1024 bytes
// apart.

#define STREAM(WIDEN, size, at, y, x, lo, hi) \
	VMOVUPS y, lo              \
	VMOVUPS 32 y, hi           \
	WIDEN(at, Y8)              \
	VFMADD231PS Y8, x, lo      \
	WIDEN((8*size)at, Y9)      \
	VFMADD231PS Y9, x, hi      \
	VMOVUPS lo, y              \
	VMOVUPS hi, 32 y

#define SPREAD2 \
	VBROADCASTSS 0(SI), Y10    \
	VBROADCASTSS 1024(SI), Y11

#define SPREAD3 \
	SPREAD2                    \
	VBROADCASTSS 2048(SI), Y12

#define SPREAD6 \
	SPREAD3                    \
	VBROADCASTSS 3072(SI), Y13 \
	VBROADCASTSS 4096(SI), Y14 \
	VBROADCASTSS 5120(SI), Y15

#define STREAMS2(WIDEN, size) \
	STREAM(WIDEN, size, (AX), (R12), Y10, Y0, Y1)                \
	STREAM(WIDEN, size, (AX)(R8*1), (R12)(R11*1), Y11, Y2, Y3)

#define STREAMS3(WIDEN, size) \
	STREAMS2(WIDEN, size)                                        \
	STREAM(WIDEN, size, (AX)(R8*2), (R12)(R11*2), Y12, Y4, Y5)

#define STREAMS6(WIDEN, size) \
	STREAMS3(WIDEN, size)                                        \
	STREAM(WIDEN, size, (AX)(R9*1), (R12)(R13*1), Y13, Y6, Y7)   \
	STREAM(WIDEN, size, (AX)(R8*4), (R12)(R11*4), Y14, Y0, Y1)   \
	STREAM(WIDEN, size, (AX)(R10*1), (R12)(R14*1), Y15, Y2, Y3)

#define CHAINS(SPREAD, STREAMS, WIDEN, size) \
	MOVQ y_base+0(FP), DI       \
	MOVQ ldy+24(FP), R11        \
	SHLQ $2, R11                \
	LEAQ (R11)(R11*2), R13      \
	LEAQ (R11)(R11*4), R14      \
	MOVQ x_base+32(FP), SI      \
	MOVQ w_base+56(FP), BX      \
	MOVQ ldw+80(FP), R15        \
	IMULQ $size, R15            \
	MOVQ R15, R8                \
	SHLQ $8, R8                 \
	LEAQ (R8)(R8*2), R9         \
	LEAQ (R8)(R8*4), R10        \
	MOVQ n+88(FP), CX           \
row:                            \
	SPREAD                      \
	MOVQ DI, R12                \
	MOVQ BX, AX                 \
	MOVQ cols+96(FP), DX        \
cols:                           \
	STREAMS(WIDEN, size)        \
	ADDQ $64, R12               \
	ADDQ $(16*size), AX         \
	SUBQ $16, DX                \
	JGT  cols                   \
	ADDQ R15, BX                \
	ADDQ $4, SI                 \
	DECQ CX                     \
	JNE  row                    \
	VZEROUPPER                  \
	RET

// func chains2AVX2(y []float32, ldy int, x, w []float32, ldw, n, cols int)
TEXT ·chains2AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD2, STREAMS2, F32, 4)

// func chains3AVX2(y []float32, ldy int, x, w []float32, ldw, n, cols int)
TEXT ·chains3AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD3, STREAMS3, F32, 4)

// func chains6AVX2(y []float32, ldy int, x, w []float32, ldw, n, cols int)
TEXT ·chains6AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD6, STREAMS6, F32, 4)

// func chains2F16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains2F16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD2, STREAMS2, F16, 2)

// func chains3F16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains3F16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD3, STREAMS3, F16, 2)

// func chains6F16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains6F16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD6, STREAMS6, F16, 2)

// func chains2BF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains2BF16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD2, STREAMS2, BF16, 2)

// func chains3BF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains3BF16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD3, STREAMS3, BF16, 2)

// func chains6BF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains6BF16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD6, STREAMS6, BF16, 2)

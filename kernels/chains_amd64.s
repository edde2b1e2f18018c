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

// STREAM continues 16 columns of one segment, STREAM32 continues 32: a whole line of the cache in 16
// bits. It fetches what lies 2 KiB further on in its stream.
#define STREAM(WIDEN, size, at, y, x) \
	VMOVUPS y, Y0              \
	VMOVUPS 32 y, Y1           \
	WIDEN(at, Y4)              \
	WIDEN((8*size)at, Y5)      \
	VFMADD231PS Y4, x, Y0      \
	VFMADD231PS Y5, x, Y1      \
	VMOVUPS Y0, y              \
	VMOVUPS Y1, 32 y

#define STREAM32(WIDEN, size, at, y, x) \
	PREFETCHT0 2048 at         \
	PREFETCHT0 (1984+32*size)at \
	VMOVUPS y, Y0              \
	VMOVUPS 32 y, Y1           \
	VMOVUPS 64 y, Y2           \
	VMOVUPS 96 y, Y3           \
	WIDEN(at, Y4)              \
	WIDEN((8*size)at, Y5)      \
	WIDEN((16*size)at, Y6)     \
	WIDEN((24*size)at, Y7)     \
	VFMADD231PS Y4, x, Y0      \
	VFMADD231PS Y5, x, Y1      \
	VFMADD231PS Y6, x, Y2      \
	VFMADD231PS Y7, x, Y3      \
	VMOVUPS Y0, y              \
	VMOVUPS Y1, 32 y           \
	VMOVUPS Y2, 64 y           \
	VMOVUPS Y3, 96 y

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

// STREAMS2, STREAMS3 and STREAMS6 are a step of so many segments.
#define STREAMS2(STEP, WIDEN, size) \
	STEP(WIDEN, size, (AX), (R12), Y10)                \
	STEP(WIDEN, size, (AX)(R8*1), (R12)(R11*1), Y11)

#define STREAMS3(STEP, WIDEN, size) \
	STREAMS2(STEP, WIDEN, size)                        \
	STEP(WIDEN, size, (AX)(R8*2), (R12)(R11*2), Y12)

#define STREAMS6(STEP, WIDEN, size) \
	STREAMS3(STEP, WIDEN, size)                        \
	STEP(WIDEN, size, (AX)(R9*1), (R12)(R13*1), Y13)   \
	STEP(WIDEN, size, (AX)(R8*4), (R12)(R11*4), Y14)   \
	STEP(WIDEN, size, (AX)(R10*1), (R12)(R14*1), Y15)

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
	SUBQ $32, DX                \
	JLT  rest                   \
	STREAMS(STREAM32, WIDEN, size) \
	ADDQ $128, R12              \
	ADDQ $(32*size), AX         \
	JMP  cols                   \
rest:                           \
	CMPQ DX, $-32               \
	JEQ  next                   \
	STREAMS(STREAM, WIDEN, size) \
next:                           \
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

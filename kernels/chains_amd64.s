//go:build !purego

#include "textflag.h"
#include "widen_amd64.h"

// Several segments of inputs side by side in 256 bits.

#define XA Y10
#define XB Y11
#define XC Y12
#define XD Y13
#define XE Y14
#define XF Y15

#define STREAM(WIDEN, FETCH, size, at, y, x) \
	VMOVUPS y, Y0              \
	VMOVUPS 32 y, Y1           \
	WIDEN(at, Y4)              \
	WIDEN((8*size)at, Y5)      \
	VFMADD231PS Y4, x, Y0      \
	VFMADD231PS Y5, x, Y1      \
	VMOVUPS Y0, y              \
	VMOVUPS Y1, 32 y

#define STREAM32(WIDEN, FETCH, size, at, y, x) \
	FETCH(at)                  \
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

#include "chains_amd64.h"

// func chains2AVX2(y []float32, ldy int, x, w []float32, ldw, n, cols int)
TEXT ·chains2AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD2, STREAMS2, F32, FETCH32, 4)

// func chains3AVX2(y []float32, ldy int, x, w []float32, ldw, n, cols int)
TEXT ·chains3AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD3, STREAMS3, F32, SECOND32, 4)

// func chains6AVX2(y []float32, ldy int, x, w []float32, ldw, n, cols int)
TEXT ·chains6AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD6, STREAMS6, F32, FETCH32, 4)

// func chains2F16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains2F16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD2, STREAMS2, F16, FETCH16, 2)

// func chains3F16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains3F16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD3, STREAMS3, F16, SECOND16, 2)

// func chains6F16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains6F16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD6, STREAMS6, F16, FETCH16, 2)

// func chains2BF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains2BF16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD2, STREAMS2, BF16, FETCH16, 2)

// func chains3BF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains3BF16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD3, STREAMS3, BF16, SECOND16, 2)

// func chains6BF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains6BF16AVX2(SB), NOSPLIT, $0-104
	CHAINS(SPREAD6, STREAMS6, BF16, FETCH16, 2)

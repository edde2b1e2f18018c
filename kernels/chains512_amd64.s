//go:build !purego

#include "textflag.h"
#include "widen_amd64.h"

// Several segments of inputs side by side in 512 bits.

#define XA Z10
#define XB Z11
#define XC Z12
#define XD Z13
#define XE Z14
#define XF Z15

#define STREAM(WIDEN, FETCH, size, at, y, x) \
	VMOVUPS y, Z0              \
	WIDEN(at, Z4)              \
	VFMADD231PS Z4, x, Z0      \
	VMOVUPS Z0, y

#define STREAM32(WIDEN, FETCH, size, at, y, x) \
	FETCH(at)                  \
	VMOVUPS y, Z0              \
	VMOVUPS 64 y, Z1           \
	WIDEN(at, Z4)              \
	WIDEN((16*size)at, Z5)     \
	VFMADD231PS Z4, x, Z0      \
	VFMADD231PS Z5, x, Z1      \
	VMOVUPS Z0, y              \
	VMOVUPS Z1, 64 y

#include "chains_amd64.h"

// func chains2AVX512(y []float32, ldy int, x, w []float32, ldw, n, cols int)
TEXT ·chains2AVX512(SB), NOSPLIT, $0-104
	CHAINS(SPREAD2, STREAMS2, F32, FETCH32, 4)

// func chains3AVX512(y []float32, ldy int, x, w []float32, ldw, n, cols int)
TEXT ·chains3AVX512(SB), NOSPLIT, $0-104
	CHAINS(SPREAD3, STREAMS3, F32, SECOND32, 4)

// func chains6AVX512(y []float32, ldy int, x, w []float32, ldw, n, cols int)
TEXT ·chains6AVX512(SB), NOSPLIT, $0-104
	CHAINS(SPREAD6, STREAMS6, F32, FETCH32, 4)

// func chains2F16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains2F16AVX512(SB), NOSPLIT, $0-104
	CHAINS(SPREAD2, STREAMS2, F16, FETCH16, 2)

// func chains3F16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains3F16AVX512(SB), NOSPLIT, $0-104
	CHAINS(SPREAD3, STREAMS3, F16, SECOND16, 2)

// func chains6F16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains6F16AVX512(SB), NOSPLIT, $0-104
	CHAINS(SPREAD6, STREAMS6, F16, FETCH16, 2)

// func chains2BF16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains2BF16AVX512(SB), NOSPLIT, $0-104
	CHAINS(SPREAD2, STREAMS2, BF16, FETCH16, 2)

// func chains3BF16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains3BF16AVX512(SB), NOSPLIT, $0-104
	CHAINS(SPREAD3, STREAMS3, BF16, SECOND16, 2)

// func chains6BF16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
TEXT ·chains6BF16AVX512(SB), NOSPLIT, $0-104
	CHAINS(SPREAD6, STREAMS6, BF16, FETCH16, 2)

//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// The register tile of matrix products: 24 accumulators V0–V23, four for each row; half a row of b in V24 and V25; four (at
// the end, one) elements of each row of a in V26–V31, of which the multiply-add takes one.

// ROWS points R8–R13 at six rows that lie ld bytes apart, of which R4 exist: past the last they repeat it, so that a short
// tile computes its last row several times and stores the same bits.
#define ROWS(base, ld) \
	MOVD base, R8            \
	ADD  ld, R8, R9          \
	CMP  $2, R4              \
	CSEL LT, R8, R9, R9      \
	ADD  ld, R9, R10         \
	CMP  $3, R4              \
	CSEL LT, R9, R10, R10    \
	ADD  ld, R10, R11        \
	CMP  $4, R4              \
	CSEL LT, R10, R11, R11   \
	ADD  ld, R11, R12        \
	CMP  $5, R4              \
	CSEL LT, R11, R12, R12   \
	ADD  ld, R12, R13        \
	CMP  $6, R4              \
	CSEL LT, R12, R13, R13

// GET and PUT move a row of c.
#define GET(row, c0, c1, c2, c3) \
	FLDPQ (row), (c0, c1)     \
	FLDPQ 32(row), (c2, c3)

#define PUT(row, c0, c1, c2, c3) \
	FSTPQ (c0, c1), (row)     \
	FSTPQ (c2, c3), 32(row)

#define GET2 \
	GET(R8, F0, F1, F2, F3)      \
	GET(R9, F4, F5, F6, F7)

#define GET4 \
	GET2                         \
	GET(R10, F8, F9, F10, F11)   \
	GET(R11, F12, F13, F14, F15)

#define GET6 \
	GET4                         \
	GET(R12, F16, F17, F18, F19) \
	GET(R13, F20, F21, F22, F23)

#define PUT2 \
	PUT(R8, F0, F1, F2, F3)      \
	PUT(R9, F4, F5, F6, F7)

#define PUT4 \
	PUT2                         \
	PUT(R10, F8, F9, F10, F11)   \
	PUT(R11, F12, F13, F14, F15)

#define PUT6 \
	PUT4                         \
	PUT(R12, F16, F17, F18, F19) \
	PUT(R13, F20, F21, F22, F23)

// FRESH2, FRESH4 and FRESH6 are GET where the sums start from +0; PLUS2, PLUS4 and PLUS6 then add them to c.
#define FRESH(c0, c1, c2, c3) \
	ZERO(c0)                     \
	ZERO(c1)                     \
	ZERO(c2)                     \
	ZERO(c3)

#define FRESH2 \
	FRESH(0, 1, 2, 3)         \
	FRESH(4, 5, 6, 7)

#define FRESH4 \
	FRESH2                       \
	FRESH(8, 9, 10, 11)       \
	FRESH(12, 13, 14, 15)

#define FRESH6 \
	FRESH4                       \
	FRESH(16, 17, 18, 19)     \
	FRESH(20, 21, 22, 23)

#define PLUS(row, c0, c1, c2, c3) \
	GET(row, F24, F25, F26, F27) \
	FADD(24, c0, c0)             \
	FADD(25, c1, c1)             \
	FADD(26, c2, c2)             \
	FADD(27, c3, c3)

#define PLUS2 \
	PLUS(R8, 0, 1, 2, 3)         \
	PLUS(R9, 4, 5, 6, 7)

#define PLUS4 \
	PLUS2                        \
	PLUS(R10, 8, 9, 10, 11)      \
	PLUS(R11, 12, 13, 14, 15)

#define PLUS6 \
	PLUS4                        \
	PLUS(R12, 16, 17, 18, 19)    \
	PLUS(R13, 20, 21, 22, 23)

// A2, A4 and A6 take the next elements of that many rows of a.
#define A2(LOAD, bytes) \
	LOAD bytes(R8), F26   \
	LOAD bytes(R9), F27

#define A4(LOAD, bytes) \
	A2(LOAD, bytes)       \
	LOAD bytes(R10), F28  \
	LOAD bytes(R11), F29

#define A6(LOAD, bytes) \
	A4(LOAD, bytes)       \
	LOAD bytes(R12), F30  \
	LOAD bytes(R13), F31

// HALF continues the sums of eight columns of a row: e is the element of a.
#define HALF(e, a, lo, hi) \
	FMLAE(e, a, 24, lo)   \
	FMLAE(e, a, 25, hi)

// The steps for one k. B1 takes the first half of a row of b, B2 the second.
#define B1 FLDPQ (R2), (F24, F25)

#define B2 \
	FLDPQ 32(R2), (F24, F25)  \
	ADD R3, R2

#define STEP2(e) \
	B1                        \
	HALF(e, 26, 0, 1)         \
	HALF(e, 27, 4, 5)         \
	B2                        \
	HALF(e, 26, 2, 3)         \
	HALF(e, 27, 6, 7)

#define STEP4(e) \
	B1                        \
	HALF(e, 26, 0, 1)         \
	HALF(e, 27, 4, 5)         \
	HALF(e, 28, 8, 9)         \
	HALF(e, 29, 12, 13)       \
	B2                        \
	HALF(e, 26, 2, 3)         \
	HALF(e, 27, 6, 7)         \
	HALF(e, 28, 10, 11)       \
	HALF(e, 29, 14, 15)

#define STEP6(e) \
	B1                        \
	HALF(e, 26, 0, 1)         \
	HALF(e, 27, 4, 5)         \
	HALF(e, 28, 8, 9)         \
	HALF(e, 29, 12, 13)       \
	HALF(e, 30, 16, 17)       \
	HALF(e, 31, 20, 21)       \
	B2                        \
	HALF(e, 26, 2, 3)         \
	HALF(e, 27, 6, 7)         \
	HALF(e, 28, 10, 11)       \
	HALF(e, 29, 14, 15)       \
	HALF(e, 30, 18, 19)       \
	HALF(e, 31, 22, 23)

// TILE does n rows and passes on to the tile below them. R6 counts the elements that are left.
#define TILE(n, GET, FRESHN, A, STEP, PLUS, PUT, clear, start, by4, rest, by1, done, put) \
	MOVBU add+112(FP), R7     \
	CBNZ R7, clear            \
	GET                       \
	B    start                \
clear:                        \
	FRESHN                    \
start:                        \
	MOVD lda+56(FP), R7       \
	LSL  $2, R7               \
	ROWS(R1, R7)              \
	MOVD b_base+64(FP), R2    \
	MOVD k+104(FP), R6        \
by4:                          \
	SUBS $4, R6               \
	BLT  rest                 \
	A(FMOVQ.P, 16)            \
	STEP(0)                   \
	STEP(1)                   \
	STEP(2)                   \
	STEP(3)                   \
	B    by4                  \
rest:                         \
	ADDS $4, R6               \
	BEQ  done                 \
by1:                          \
	A(FMOVS.P, 4)             \
	STEP(0)                   \
	SUBS $1, R6               \
	BNE  by1                  \
done:                         \
	MOVD ldc+24(FP), R7       \
	LSL  $2, R7               \
	ROWS(R0, R7)              \
	MOVBU add+112(FP), R2     \
	CBZ  R2, put              \
	PLUS                      \
put:                          \
	PUT                       \
	SUB  $n, R4               \
	MOVD $n, R8               \
	MADD R7, R0, R8, R0       \
	MOVD lda+56(FP), R7       \
	LSL  $2, R7               \
	MADD R7, R1, R8, R1       \
	B    tiles

// func tileNEON(c []float32, ldc int, a []float32, lda int, b []float32, ldb, rows, k int, add bool)
TEXT ·tileNEON(SB), NOSPLIT, $0-113
	MOVD c_base+0(FP), R0
	MOVD a_base+32(FP), R1
	MOVD ldb+88(FP), R3
	LSL  $2, R3
	MOVD rows+96(FP), R4

tiles:
	CMP  $0, R4
	BLE  end
	MOVD ldc+24(FP), R7
	LSL  $2, R7
	ROWS(R0, R7)
	CMP  $2, R4
	BLE  two
	CMP  $4, R4
	BLE  four
	CMP  $7, R4 // 7 and 8 are better split in two than as 6 and a rest
	BEQ  four
	CMP  $8, R4
	BEQ  four
	TILE(6, GET6, FRESH6, A6, STEP6, PLUS6, PUT6, sixClear, sixStart, six4, sixRest, six1, sixDone, sixPut)

four:
	TILE(4, GET4, FRESH4, A4, STEP4, PLUS4, PUT4, fourClear, fourStart, four4, fourRest, four1, fourDone, fourPut)

two:
	TILE(2, GET2, FRESH2, A2, STEP2, PLUS2, PUT2, twoClear, twoStart, two4, twoRest, two1, twoDone, twoPut)

end:
	RET

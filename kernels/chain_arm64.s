//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "widen_arm64.h"

// One row of x: y is read and written in place. Memory is the limit, so what counts is that w is read in long runs.

// FETCH fetches into cache what lies R16 bytes behind a row.
#define FETCH(row) \
	ADD R16, row, R17           \
	PRFM (R17), PLDL1KEEP

// COLS16 continues the sums of sixteen columns, in V0–V3, by element e of x (V30 or V31).
#define COLS16(W, row, e, x) \
	W(row, F4, F5, F6, F7, 4, 5, 6, 7) \
	FMLAE(e, x, 4, 0)           \
	FMLAE(e, x, 5, 1)           \
	FMLAE(e, x, 6, 2)           \
	FMLAE(e, x, 7, 3)

// WIDE16 continues the sums of len(y)/16·16 columns over len(x)/8·8 rows of w, eight rows in one pass over y.
//
// R0 y, R1 its length; R2 x, R3 elements left; R4 w, R5 bytes of a row, R16 of eight; R6–R13 the eight rows; R14 y and R15
// columns left within the pass.
#define WIDE16(W, shift) \
	MOVD y_base+0(FP), R0       \
	MOVD y_len+8(FP), R1        \
	MOVD x_base+24(FP), R2      \
	MOVD x_len+32(FP), R3       \
	MOVD w_base+48(FP), R4      \
	MOVD ldw+72(FP), R5         \
	LSL  $shift, R5             \
	LSL  $3, R5, R16            \
rows8:                          \
	SUBS $8, R3                 \
	BLT  end                    \
	FLDPQ.P 32(R2), (F30, F31)  \
	MOVD R4, R6                 \
	ADD  R5, R6, R7             \
	ADD  R5, R7, R8             \
	ADD  R5, R8, R9             \
	ADD  R5, R9, R10            \
	ADD  R5, R10, R11           \
	ADD  R5, R11, R12           \
	ADD  R5, R12, R13           \
	ADD  R16, R4                \
	MOVD R0, R14                \
	MOVD R1, R15                \
cols16:                         \
	SUBS $16, R15               \
	BLT  rows8                  \
	FETCH(R6)                   \
	FETCH(R7)                   \
	FETCH(R8)                   \
	FETCH(R9)                   \
	FETCH(R10)                  \
	FETCH(R11)                  \
	FETCH(R12)                  \
	FETCH(R13)                  \
	FLDPQ (R14), (F0, F1)       \
	FLDPQ 32(R14), (F2, F3)     \
	COLS16(W, R6, 0, 30)        \
	COLS16(W, R7, 1, 30)        \
	COLS16(W, R8, 2, 30)        \
	COLS16(W, R9, 3, 30)        \
	COLS16(W, R10, 0, 31)       \
	COLS16(W, R11, 1, 31)       \
	COLS16(W, R12, 2, 31)       \
	COLS16(W, R13, 3, 31)       \
	FSTPQ.P (F0, F1), 32(R14)   \
	FSTPQ.P (F2, F3), 32(R14)   \
	B    cols16                 \
end:                            \
	RET

// func chainWideNEON(y, x, w []float32, ldw int)
TEXT ·chainWideNEON(SB), NOSPLIT, $0-80
	WIDE16(F32x16, 2)

// func chainWideF16NEON(y, x []float32, w []uint16, ldw int)
TEXT ·chainWideF16NEON(SB), NOSPLIT, $0-80
	WIDE16(F16x16, 1)

// func chainWideBF16NEON(y, x []float32, w []uint16, ldw int)
TEXT ·chainWideBF16NEON(SB), NOSPLIT, $0-80
	WIDE16(BF16x16, 1)

// Few columns: 64, 16, 4, 2 or 1 at a time stay in registers while all of x passes. R8 is the row of w, R7 the element of x.

#define FOUR(W, va, vb, vc, vd) \
	W(R8, F4, F5, F6, F7, 4, 5, 6, 7) \
	FMLAE(0, 31, 4, va)         \
	FMLAE(0, 31, 5, vb)         \
	FMLAE(0, 31, 6, vc)         \
	FMLAE(0, 31, 7, vd)

#define STEP64(W16, W4, W2, W1) \
	PRFM 1024(R8), PLDL1KEEP    \
	PRFM 1152(R8), PLDL1KEEP    \
	FOUR(W16, 8, 9, 10, 11) \
	FOUR(W16, 12, 13, 14, 15) \
	FOUR(W16, 16, 17, 18, 19) \
	FOUR(W16, 20, 21, 22, 23)

#define STEP16(W16, W4, W2, W1) FOUR(W16, 8, 9, 10, 11)

#define STEP4(W16, W4, W2, W1) \
	W4(R8, F4, 4)               \
	FMLAE(0, 31, 4, 8)

#define STEP2(W16, W4, W2, W1) \
	W2(R8, F4, 4)               \
	FMLAE(0, 31, 4, 8)

#define STEP1(W16, W4, W2, W1) \
	W1(R8, F4, 4)               \
	FMLAE(0, 31, 4, 8)

#define GET64 \
	FLDPQ 0(R0), (F8, F9)       \
	FLDPQ 32(R0), (F10, F11)    \
	FLDPQ 64(R0), (F12, F13)    \
	FLDPQ 96(R0), (F14, F15)    \
	FLDPQ 128(R0), (F16, F17)   \
	FLDPQ 160(R0), (F18, F19)   \
	FLDPQ 192(R0), (F20, F21)   \
	FLDPQ 224(R0), (F22, F23)

#define PUT64 \
	FSTPQ.P (F8, F9), 32(R0)    \
	FSTPQ.P (F10, F11), 32(R0)  \
	FSTPQ.P (F12, F13), 32(R0)  \
	FSTPQ.P (F14, F15), 32(R0)  \
	FSTPQ.P (F16, F17), 32(R0)  \
	FSTPQ.P (F18, F19), 32(R0)  \
	FSTPQ.P (F20, F21), 32(R0)  \
	FSTPQ.P (F22, F23), 32(R0)

#define GET16 \
	FLDPQ (R0), (F8, F9)        \
	FLDPQ 32(R0), (F10, F11)

#define PUT16 \
	FSTPQ.P (F8, F9), 32(R0)    \
	FSTPQ.P (F10, F11), 32(R0)

#define GET4 FMOVQ (R0), F8
#define PUT4 FMOVQ.P F8, 16(R0)
#define GET2 FMOVD (R0), F8
#define PUT2 FMOVD.P F8, 8(R0)
#define GET1 FMOVS (R0), F8
#define PUT1 FMOVS.P F8, 4(R0)

// BLOCK does n columns, if that many are left; size is the bytes of a weight.
#define BLOCK(n, size, GET, STEP, PUT, W16, W4, W2, W1, block, loop, next) \
block:                          \
	SUBS $n, R1                 \
	BLT  next                   \
	GET                         \
	MOVD R2, R7                 \
	MOVD R4, R6                 \
	MOVD R3, R9                 \
loop:                           \
	FMOVS.P 4(R7), F31          \
	MOVD R6, R8                 \
	ADD  R5, R6                 \
	STEP(W16, W4, W2, W1)       \
	SUBS $1, R9                 \
	BNE  loop                   \
	PUT                         \
	ADD  $(n*size), R4          \
	B    block                  \
next:                           \
	ADD  $n, R1

// NARROW: R0 y, R1 columns left; R2 x, R3 its length; R4 w, R5 bytes of a row.
#define NARROW(W16, W4, W2, W1, size, shift) \
	MOVD y_base+0(FP), R0       \
	MOVD y_len+8(FP), R1        \
	MOVD x_base+24(FP), R2      \
	MOVD x_len+32(FP), R3       \
	MOVD w_base+48(FP), R4      \
	MOVD ldw+72(FP), R5         \
	LSL  $shift, R5             \
	CBZ  R3, end                \
	BLOCK(64, size, GET64, STEP64, PUT64, W16, W4, W2, W1, cols64, loop64, less64) \
	BLOCK(16, size, GET16, STEP16, PUT16, W16, W4, W2, W1, cols16, loop16, less16) \
	BLOCK(4, size, GET4, STEP4, PUT4, W16, W4, W2, W1, cols4, loop4, less4)        \
	BLOCK(2, size, GET2, STEP2, PUT2, W16, W4, W2, W1, cols2, loop2, less2)        \
	BLOCK(1, size, GET1, STEP1, PUT1, W16, W4, W2, W1, cols1, loop1, less1)        \
end:                            \
	RET

// func chainNarrowNEON(y, x, w []float32, ldw int)
TEXT ·chainNarrowNEON(SB), NOSPLIT, $0-80
	NARROW(F32x16, F32x4, F32x2, F32x1, 4, 2)

// func chainNarrowF16NEON(y, x []float32, w []uint16, ldw int)
TEXT ·chainNarrowF16NEON(SB), NOSPLIT, $0-80
	NARROW(F16x16, F16x4, F16x2, F16x1, 2, 1)

// func chainNarrowBF16NEON(y, x []float32, w []uint16, ldw int)
TEXT ·chainNarrowBF16NEON(SB), NOSPLIT, $0-80
	NARROW(BF16x16, BF16x4, BF16x2, BF16x1, 2, 1)

//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "widen_arm64.h"

// Dot products of one row of x: the eight lanes of a product are two registers, lo and hi. V0–V7 hold four products, V8–V11
// elements of x, V12–V15 of w.
//
// The tree of the eight lanes is the same whichever way round its halves, and their halves, stand: the last elements, four,
// two and one, always go to the lowest lanes, and the halves change places in between. A lane past the end keeps what it holds.

#define FOUR(OP, W) \
	OP(W, R6, 0, 1)             \
	OP(W, R7, 2, 3)             \
	OP(W, R8, 4, 5)             \
	OP(W, R9, 6, 7)

#define ROW16(W, row, lo, hi) \
	ADD R16, row, R17           \
	PRFM (R17), PLDL1KEEP       \
	W(row, F12, F13, F14, F15, 12, 13, 14, 15) \
	FMLA(12, 8, lo)             \
	FMLA(13, 9, hi)             \
	FMLA(14, 10, lo)            \
	FMLA(15, 11, hi)

#define ROW8(W, row, lo, hi) \
	W(row, F12, F13, 12, 13)    \
	FMLA(12, 8, lo)             \
	FMLA(13, 9, hi)

#define ROW4(W, row, lo, hi) \
	W(row, F12, 12)             \
	MOV(lo, 13)                 \
	FMLA(12, 8, 13)             \
	MOV(hi, lo)                 \
	MOV(13, hi)

#define ROW2(W, row, lo, hi) \
	W(row, F12, 12)             \
	MOV(lo, 13)                 \
	FMLA(12, 8, 13)             \
	LOW2(13, lo)                \
	SWAP(lo, lo)

#define ROW1(W, row, lo, hi) \
	W(row, F12, 12)             \
	MOV(lo, 13)                 \
	FMLA(12, 8, 13)             \
	LOW1(13, lo)

// DOTROW: R0 dst, R4 rows of w left; R1 x, R10 within it; R5 elements left; R6–R9 four rows of w, the last repeated where
// fewer exist; R2 the first of them, R3 the bytes of one, R16 of four.
#define DOTROW(W16, W8, W4, W2, W1, shift) \
	MOVD dst_base+0(FP), R0     \
	MOVD x_base+24(FP), R1      \
	MOVD w_base+48(FP), R2      \
	MOVD ldw+72(FP), R3         \
	LSL  $shift, R3             \
	LSL  $2, R3, R16            \
	MOVD outs+80(FP), R4        \
four:                           \
	CMP  $0, R4                 \
	BLE  end                    \
	MOVD R2, R6                 \
	ADD  R3, R6, R7             \
	CMP  $2, R4                 \
	CSEL LT, R6, R7, R7         \
	ADD  R3, R7, R8             \
	CMP  $3, R4                 \
	CSEL LT, R7, R8, R8         \
	ADD  R3, R8, R9             \
	CMP  $4, R4                 \
	CSEL LT, R8, R9, R9         \
	ADD  R16, R2                \
	ZERO(0)                     \
	ZERO(1)                     \
	ZERO(2)                     \
	ZERO(3)                     \
	ZERO(4)                     \
	ZERO(5)                     \
	ZERO(6)                     \
	ZERO(7)                     \
	MOVD R1, R10                \
	MOVD k+88(FP), R5           \
loop:                           \
	SUBS $16, R5                \
	BLT  rest8                  \
	FLDPQ.P 32(R10), (F8, F9)   \
	FLDPQ.P 32(R10), (F10, F11) \
	FOUR(ROW16, W16)            \
	B    loop                   \
rest8:                          \
	TBZ  $3, R5, rest4          \
	FLDPQ.P 32(R10), (F8, F9)   \
	FOUR(ROW8, W8)              \
rest4:                          \
	TBZ  $2, R5, rest2          \
	FMOVQ.P 16(R10), F8         \
	FOUR(ROW4, W4)              \
rest2:                          \
	TBZ  $1, R5, rest1          \
	FMOVD.P 8(R10), F8          \
	FOUR(ROW2, W2)              \
rest1:                          \
	TBZ  $0, R5, reduce         \
	FMOVS.P 4(R10), F8          \
	FOUR(ROW1, W1)              \
reduce:                         \
	FADDP(1, 0, 0)              \
	FADDP(3, 2, 2)              \
	FADDP(5, 4, 4)              \
	FADDP(7, 6, 6)              \
	FADDP(2, 0, 0)              \
	FADDP(6, 4, 4)              \
	FADDP(4, 0, 0)              \
	SUBS $4, R4                 \
	BLT  part                   \
	FMOVQ.P F0, 16(R0)          \
	B    four                   \
part:                           \
	TBZ  $1, R4, last           \
	FMOVD.P F0, 8(R0)           \
	SWAP(0, 0)                  \
last:                           \
	TBZ  $0, R4, end            \
	FMOVS F0, (R0)              \
end:                            \
	RET

// func dotRowNEON(dst, x, w []float32, ldw, outs, k int)
TEXT ·dotRowNEON(SB), NOSPLIT, $0-96
	DOTROW(F32x16, F32x8, F32x4, F32x2, F32x1, 2)

// func dotRowF16NEON(dst, x []float32, w []uint16, ldw, outs, k int)
TEXT ·dotRowF16NEON(SB), NOSPLIT, $0-96
	DOTROW(F16x16, F16x8, F16x4, F16x2, F16x1, 1)

// func dotRowBF16NEON(dst, x []float32, w []uint16, ldw, outs, k int)
TEXT ·dotRowBF16NEON(SB), NOSPLIT, $0-96
	DOTROW(BF16x16, BF16x8, BF16x4, BF16x2, BF16x1, 1)

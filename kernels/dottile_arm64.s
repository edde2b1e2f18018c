//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "widen_arm64.h"

// Dot products of several rows of x: twelve products at a time, four rows of x by three of w. The lanes of product p are V(2p)
// and V(2p+1); V24–V27 hold elements of x, V28–V30 of w. See dot_arm64.s for the last elements of a row.

// TAKE takes the next elements of each row.
#define TAKE(X, bytes, W) \
	X bytes(R7), F24            \
	X bytes(R8), F25            \
	X bytes(R9), F26            \
	X bytes(R10), F27           \
	W(R11, F28, 28)             \
	W(R12, F29, 29)             \
	W(R13, F30, 30)

#define TWELVE(OP) \
	OP(24, 28, 0)               \
	OP(24, 29, 2)               \
	OP(24, 30, 4)               \
	OP(25, 28, 6)               \
	OP(25, 29, 8)               \
	OP(25, 30, 10)              \
	OP(26, 28, 12)              \
	OP(26, 29, 14)              \
	OP(26, 30, 16)              \
	OP(27, 28, 18)              \
	OP(27, 29, 20)              \
	OP(27, 30, 22)

#define LO(x, w, acc) FMLA(w, x, acc)
#define HI(x, w, acc) FMLA(w, x, (acc)+1)

#define REST4(x, w, acc) \
	MOV(acc, 31)                \
	FMLA(w, x, 31)              \
	MOV((acc)+1, acc)           \
	MOV(31, (acc)+1)

#define REST2(x, w, acc) \
	MOV(acc, 31)                \
	FMLA(w, x, 31)              \
	LOW2(31, acc)               \
	SWAP(acc, acc)

#define REST1(x, w, acc) \
	MOV(acc, 31)                \
	FMLA(w, x, 31)              \
	LOW1(31, acc)

#define ZEROS \
	ZERO(0)                     \
	ZERO(1)                     \
	ZERO(2)                     \
	ZERO(3)                     \
	ZERO(4)                     \
	ZERO(5)                     \
	ZERO(6)                     \
	ZERO(7)                     \
	ZERO(8)                     \
	ZERO(9)                     \
	ZERO(10)                    \
	ZERO(11)                    \
	ZERO(12)                    \
	ZERO(13)                    \
	ZERO(14)                    \
	ZERO(15)                    \
	ZERO(16)                    \
	ZERO(17)                    \
	ZERO(18)                    \
	ZERO(19)                    \
	ZERO(20)                    \
	ZERO(21)                    \
	ZERO(22)                    \
	ZERO(23)

// SUM3 reduces the three products of a row of x, the first of which is in a (f, v), and stores them at R14, R14 + R20 and R14 + R21; then R14
// moves to the next row if there is one.
#define SUM3(a, f, v, row) \
	FADDP((a)+1, a, a)          \
	FADDP((a)+3, (a)+2, (a)+2)  \
	FADDP((a)+5, (a)+4, (a)+4)  \
	FADDP((a)+2, a, a)          \
	FADDP((a)+4, (a)+4, (a)+4)  \
	FADDP((a)+4, a, a)          \
	ADD  R20, R14, R23          \
	ADD  R21, R14, R24          \
	FMOVS f, (R14)              \
	VST1 v.S[1], (R23)          \
	VST1 v.S[2], (R24)          \
	ADD  R19, R14, R23          \
	CMP  $row, R2               \
	CSEL GT, R23, R14, R14

// DOTTILE: R0 dst, R22 within its row; R1 x, R2 rows of it left, R7–R10 four of them; R3 w, R4 rows of it left, R11–R13 three
// of them, the last repeated where fewer exist; R5 elements left; R16, R17, R19 the bytes of a row of x, w, dst; R20, R21 how
// far the second and third product lie from the first.
#define DOTTILE(W4, W2, W1, shift) \
	MOVD dst_base+0(FP), R0     \
	MOVD ldd+24(FP), R19        \
	LSL  $2, R19                \
	MOVD x_base+32(FP), R1      \
	MOVD ldx+56(FP), R16        \
	LSL  $2, R16                \
	MOVD ldw+88(FP), R17        \
	LSL  $shift, R17            \
	MOVD rows+96(FP), R2        \
quad:                           \
	CMP  $0, R2                 \
	BLE  end                    \
	MOVD w_base+64(FP), R3      \
	MOVD outs+104(FP), R4       \
	MOVD R0, R22                \
triple:                         \
	CMP  $0, R4                 \
	BLE  nextQuad               \
	MOVD R1, R7                 \
	ADD  R16, R7, R8            \
	CMP  $2, R2                 \
	CSEL LT, R7, R8, R8         \
	ADD  R16, R8, R9            \
	CMP  $3, R2                 \
	CSEL LT, R8, R9, R9         \
	ADD  R16, R9, R10           \
	CMP  $4, R2                 \
	CSEL LT, R9, R10, R10       \
	MOVD $4, R20                \
	MOVD $8, R21                \
	MOVD R3, R11                \
	ADD  R17, R11, R12          \
	CMP  $2, R4                 \
	CSEL LT, R11, R12, R12      \
	CSEL LT, ZR, R20, R20       \
	ADD  R17, R12, R13          \
	CMP  $3, R4                 \
	CSEL LT, R12, R13, R13      \
	CSEL LT, R20, R21, R21      \
	ZEROS                       \
	MOVD k+112(FP), R5          \
loop:                           \
	SUBS $8, R5                 \
	BLT  rest4                  \
	TAKE(FMOVQ.P, 16, W4)       \
	TWELVE(LO)                  \
	TAKE(FMOVQ.P, 16, W4)       \
	TWELVE(HI)                  \
	B    loop                   \
rest4:                          \
	TBZ  $2, R5, rest2          \
	TAKE(FMOVQ.P, 16, W4)       \
	TWELVE(REST4)               \
rest2:                          \
	TBZ  $1, R5, rest1          \
	TAKE(FMOVD.P, 8, W2)        \
	TWELVE(REST2)               \
rest1:                          \
	TBZ  $0, R5, reduce         \
	TAKE(FMOVS.P, 4, W1)        \
	TWELVE(REST1)               \
reduce:                         \
	MOVD R22, R14               \
	SUM3(0, F0, V0, 1)          \
	SUM3(6, F6, V6, 2)          \
	SUM3(12, F12, V12, 3)       \
	SUM3(18, F18, V18, 4)       \
	ADD  R17<<1, R17, R5        \
	ADD  R5, R3                 \
	ADD  $12, R22               \
	SUB  $3, R4                 \
	B    triple                 \
nextQuad:                       \
	ADD  R19<<2, R0             \
	ADD  R16<<2, R1             \
	SUB  $4, R2                 \
	B    quad                   \
end:                            \
	RET

// func dotTileNEON(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, outs, k int)
TEXT ·dotTileNEON(SB), NOSPLIT, $0-120
	DOTTILE(F32x4, F32x2, F32x1, 2)

// func dotTileF16NEON(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, outs, k int)
TEXT ·dotTileF16NEON(SB), NOSPLIT, $0-120
	DOTTILE(F16x4, F16x2, F16x1, 1)

// func dotTileBF16NEON(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, outs, k int)
TEXT ·dotTileBF16NEON(SB), NOSPLIT, $0-120
	DOTTILE(BF16x4, BF16x2, BF16x1, 1)

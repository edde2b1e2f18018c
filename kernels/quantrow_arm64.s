//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Rows of float32 to integers and back; the errors of the search for Q4's scales.

// ROUND takes eight numbers, stores the integers nearest to them times V16, and adds these to V17 and V18.
#define ROUND \
	FLDPQ.P 32(R2), (F0, F1)    \
	FMUL(16, 0, 0)              \
	FMUL(16, 1, 1)              \
	FCVTNS(0, 0)                \
	FCVTNS(1, 1)                \
	IADD(0, 17, 17)             \
	IADD(1, 18, 18)             \
	SQXTN(0, 2)                 \
	SQXTN2(1, 2)                \
	FMOVQ.P F2, 16(R0)

// ERROR adds the squared errors of four weights: V16 is −8, V17 is 7.
#define ERROR(w, inverse, acc) \
	FMUL(inverse, w, w)         \
	FRINTN(w, 18)               \
	FMAX(16, 18, 18)            \
	FMIN(17, 18, 18)            \
	FSUB(18, w, w)              \
	FMUL(w, w, w)               \
	FADD(w, acc, acc)

// WITH and WITHOUT take the bias.
#define WITH(LOAD, size) LOAD size(R6), F1
#define WITHOUT(LOAD, size) ZERO(1)

// SCALED does every row: R5 goes through y, R6 through the bias, R10 through dst, R7 counts columns.
#define SCALED(BIAS, row, four, rest, one) \
row:                            \
	SUBS $1, R4                 \
	BLT  end                    \
	VLD1R.P 4(R3), [V2.S4]      \
	MOVD R0, R5                 \
	ADD  R1, R0                 \
	MOVD R8, R10                \
	ADD  R9, R8                 \
	MOVD R2, R6                 \
	MOVD cols+112(FP), R7       \
four:                           \
	SUBS $4, R7                 \
	BLT  rest                   \
	FMOVQ.P 16(R5), F0          \
	BIAS(FMOVQ.P, 16)           \
	FMLA(2, 0, 1)               \
	FMOVQ.P F1, 16(R10)         \
	B    four                   \
rest:                           \
	ADDS $4, R7                 \
	BEQ  row                    \
one:                            \
	FMOVS.P 4(R5), F0           \
	BIAS(FMOVS.P, 4)            \
	FMLA(2, 0, 1)               \
	FMOVS.P F1, 4(R10)          \
	SUBS $1, R7                 \
	BNE  one                    \
	B    row

// func peakBitsNEON(x []float32) uint32
TEXT ·peakBitsNEON(SB), NOSPLIT, $0-28
	MOVD x_base+0(FP), R5
	MOVD x_len+8(FP), R6
	ZERO(0)
	ZERO(1)
	ZERO(2)
	ZERO(3)

block:
	SUBS $16, R6
	BLT  rest
	FLDPQ.P 32(R5), (F4, F5)
	FLDPQ.P 32(R5), (F6, F7)
	FABS(4, 4)
	FABS(5, 5)
	FABS(6, 6)
	FABS(7, 7)
	UMAX(4, 0, 0)
	UMAX(5, 1, 1)
	UMAX(6, 2, 2)
	UMAX(7, 3, 3)
	B    block

rest:
	ADDS $16, R6
	BEQ  end

one:
	FMOVS.P 4(R5), F4
	FABS(4, 4)
	UMAX(4, 0, 0)
	SUBS $1, R6
	BNE  one

end:
	UMAX(1, 0, 0)
	UMAX(3, 2, 2)
	UMAX(2, 0, 0)
	UMAXV(0, 0)
	FMOVS F0, ret+24(FP)
	RET

// func roundRowNEON(q []int16, starts []int32, x []float32, inverse float32)
TEXT ·roundRowNEON(SB), NOSPLIT, $0-76
	MOVD q_base+0(FP), R0
	MOVD starts_base+24(FP), R1
	MOVD x_base+48(FP), R2
	MOVD x_len+56(FP), R3
	FMOVS inverse+72(FP), F16
	FCMPS $(0.0), F16
	BNE  spread

zero:
	SUBS $32, R3
	BLT  end
	STP.P (ZR, ZR), 16(R0)
	STP.P (ZR, ZR), 16(R0)
	STP.P (ZR, ZR), 16(R0)
	STP.P (ZR, ZR), 16(R0)
	MOVW.P ZR, 4(R1)
	B    zero

spread:
	VDUP V16.S[0], V16.S4

block:
	SUBS $32, R3
	BLT  end
	ZERO(17)
	ZERO(18)
	ROUND
	ROUND
	ROUND
	ROUND
	IADD(18, 17, 17)
	ADDV(17, 17)
	FMOVS F17, R4
	LSL  $3, R4
	NEG  R4, R4
	MOVW.P R4, 4(R1)
	B    block

end:
	RET

// func scaleAddNEON(dst []float32, ldd int, y []float32, ldy int, bias, scales []float32, cols int)
TEXT ·scaleAddNEON(SB), NOSPLIT, $0-120
	MOVD dst_base+0(FP), R8
	MOVD ldd+24(FP), R9
	LSL  $2, R9
	MOVD y_base+32(FP), R0
	MOVD ldy+56(FP), R1
	LSL  $2, R1
	MOVD bias_base+64(FP), R2
	MOVD scales_base+88(FP), R3
	MOVD scales_len+96(FP), R4
	CBNZ R2, with
	SCALED(WITHOUT, without, without4, withoutRest, without1)
	SCALED(WITH, with, with4, withRest, with1)

end:
	RET

// func errors4NEON(errors *[quantCols]float32, values *tileValues, inverses *[quantCols]float32)
TEXT ·errors4NEON(SB), NOSPLIT, $0-24
	MOVD errors+0(FP), R0
	MOVD values+8(FP), R1
	MOVD inverses+16(FP), R2
	FLDPQ (R2), (F8, F9)
	FLDPQ 32(R2), (F10, F11)
	FMOVS $-8.0, F16
	VDUP V16.S[0], V16.S4
	FMOVS $7.0, F17
	VDUP V17.S[0], V17.S4
	ZERO(0)
	ZERO(1)
	ZERO(2)
	ZERO(3)
	MOVD $32, R3

input:
	FLDPQ.P 32(R1), (F4, F5)
	FLDPQ.P 32(R1), (F6, F7)
	ERROR(4, 8, 0)
	ERROR(5, 9, 1)
	ERROR(6, 10, 2)
	ERROR(7, 11, 3)
	SUBS $1, R3
	BNE  input
	FSTPQ (F0, F1), (R0)
	FSTPQ (F2, F3), 32(R0)
	RET

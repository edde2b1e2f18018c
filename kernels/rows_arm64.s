//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Operations on one row: layer norm, sum, scaling, scores. R5 goes through the row, R6 counts.

// LANES does OP on eight elements at a time, OP(v, acc) adding element vector v to lanes V0 (0–3) and V1 (4–7). The last
// elements, four, two and one, go to the lowest lanes, and the halves change places in between (see dot_arm64.s).
#define LANES(OP, loop, rest4, rest2, rest1, done) \
	ZERO(0)                     \
	ZERO(1)                     \
	MOVD R1, R5                 \
	MOVD R2, R6                 \
loop:                           \
	SUBS $8, R6                 \
	BLT  rest4                  \
	FLDPQ.P 32(R5), (F2, F3)    \
	OP(2, 0)                    \
	OP(3, 1)                    \
	B    loop                   \
rest4:                          \
	TBZ  $2, R6, rest2          \
	FMOVQ.P 16(R5), F2          \
	OP(2, 0)                    \
	MOV(0, 3)                   \
	MOV(1, 0)                   \
	MOV(3, 1)                   \
rest2:                          \
	TBZ  $1, R6, rest1          \
	FMOVD.P 8(R5), F2           \
	MOV(0, 3)                   \
	OP(2, 3)                    \
	LOW2(3, 0)                  \
	SWAP(0, 0)                  \
rest1:                          \
	TBZ  $0, R6, done           \
	FMOVS.P 4(R5), F2           \
	MOV(0, 3)                   \
	OP(2, 3)                    \
	LOW1(3, 0)                  \
done:                           \
	FADDP(1, 0, 0)              \
	FADDP(0, 0, 0)              \
	FADDP(0, 0, 0)

#define MEAN 16
#define INVERSE 17

#define SUM(v, acc) FADD(v, acc, acc)

#define SQUARE(v, acc) \
	FSUB(MEAN, v, v)            \
	FMLA(v, v, acc)

#define NORM(LOAD, size, STORE) \
	LOAD size(R5), F2           \
	LOAD size(R3), F3           \
	LOAD size(R4), F4           \
	FSUB(MEAN, 2, 2)            \
	FMUL(INVERSE, 2, 2)         \
	FMLA(3, 2, 4)               \
	STORE F4, size(R0)

// func layerNormNEON(dst, x, gain, bias []float32, eps float32)
TEXT ·layerNormNEON(SB), NOSPLIT, $0-100
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	MOVD gain_base+48(FP), R3
	MOVD bias_base+72(FP), R4
	SCVTFS R2, F18 // n
	LANES(SUM, sum, sum4, sum2, sum1, mean)
	FDIVS F18, F0, F0
	VDUP V0.S[0], V16.S4
	LANES(SQUARE, square, square4, square2, square1, deviation)
	FDIVS F18, F0, F0
	FMOVS eps+96(FP), F1
	FADDS F1, F0, F0
	FSUBS F0, F0, F2 // 0, or NaN
	FSQRTS F0, F0
	FMOVS $1.0, F1
	FDIVS F0, F1, F0
	FADDS F2, F0, F0
	VDUP V0.S[0], V17.S4
	MOVD R1, R5

norm:
	SUBS $4, R2
	BLT  rest
	NORM(FMOVQ.P, 16, FMOVQ.P)
	B    norm

rest:
	ADDS $4, R2
	BEQ  end

one:
	NORM(FMOVS.P, 4, FMOVS.P)
	SUBS $1, R2
	BNE  one

end:
	RET

// func addNEON(dst, x []float32)
TEXT ·addNEON(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R5
	MOVD x_len+32(FP), R6

loop:
	SUBS $8, R6
	BLT  rest
	FLDPQ (R0), (F0, F1)
	FLDPQ.P 32(R5), (F2, F3)
	FADD(2, 0, 0)
	FADD(3, 1, 1)
	FSTPQ.P (F0, F1), 32(R0)
	B    loop

rest:
	ADDS $8, R6
	BEQ  end

one:
	FMOVS (R0), F0
	FMOVS.P 4(R5), F2
	FADDS F2, F0, F0
	FMOVS.P F0, 4(R0)
	SUBS $1, R6
	BNE  one

end:
	RET

// func scaleNEON(x []float32, by float32)
TEXT ·scaleNEON(SB), NOSPLIT, $0-28
	MOVD x_base+0(FP), R5
	MOVD x_len+8(FP), R6
	FMOVS by+24(FP), F2
	VDUP V2.S[0], V2.S4

loop:
	SUBS $8, R6
	BLT  rest
	FLDPQ (R5), (F0, F1)
	FMUL(2, 0, 0)
	FMUL(2, 1, 1)
	FSTPQ.P (F0, F1), 32(R5)
	B    loop

rest:
	ADDS $8, R6
	BEQ  end

one:
	FMOVS (R5), F0
	FMULS F2, F0, F0
	FMOVS.P F0, 4(R5)
	SUBS $1, R6
	BNE  one

end:
	RET

// PLAIN and MASKED make scores of the dot products in V0; V2 is the scale.
#define PLAIN(LOAD, size) \
	FMUL(2, 0, 0)

#define MASKED(LOAD, size) \
	LOAD size(R0), F1           \
	FMLA(2, 0, 1)               \
	MOV(1, 0)

// SCORES keeps the maximum of each lane in V3, and that of the last elements, one at a time, in F4. A NaN is passed over.
#define SCORES(OP, loop, rest, one) \
loop:                           \
	SUBS $4, R6                 \
	BLT  rest                   \
	FMOVQ (R5), F0              \
	OP(FMOVQ.P, 16)             \
	FMOVQ.P F0, 16(R5)          \
	FMAXNM(0, 3, 3)             \
	B    loop                   \
rest:                           \
	ADDS $4, R6                 \
	BEQ  greatest               \
one:                            \
	FMOVS (R5), F0              \
	OP(FMOVS.P, 4)              \
	FMOVS.P F0, 4(R5)           \
	FMAXNMS F0, F4, F4          \
	SUBS $1, R6                 \
	BNE  one                    \
	B    greatest

// func scoresMaxNEON(s, mask []float32, scale, max float32) float32
TEXT ·scoresMaxNEON(SB), NOSPLIT, $0-60
	MOVD s_base+0(FP), R5
	MOVD s_len+8(FP), R6
	MOVD mask_base+24(FP), R0
	FMOVS scale+48(FP), F2
	VDUP V2.S[0], V2.S4
	FMOVS max+52(FP), F4
	VDUP V4.S[0], V3.S4
	CBNZ R0, masked
	SCORES(PLAIN, plain, plainRest, plainOne)
	SCORES(MASKED, masked, maskedRest, maskedOne)

greatest:
	FMAXNMV(3, 3)
	FMAXNMS F3, F4, F4
	FMOVS F4, ret+56(FP)
	RET

//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "exp64_arm64.h"

// The sum of a softmax in float64.

#define MAX 8

// DIFFERENCE sets V3 to Exp64 of x − max, which is ≤ 0 and not NaN. It uses V2 and V4–V6.
#define DIFFERENCE(x) \
	DSUB(MAX, x, 2)             \
	EXP

// FOUR adds the exponentials of the four elements in V0 to two registers of lanes.
#define FOUR(lo, hi) \
	WIDE2(0, 1)                 \
	WIDE(0, 0)                  \
	DIFFERENCE(0)                      \
	DADD(3, lo, lo)             \
	DIFFERENCE(1)                      \
	DADD(3, hi, hi)

// func sumExpNEON(x []float32, max float64) float64
//
// V9–V12 are the eight lanes of the sum, two in each. The tree is the same whichever way round its halves, and their halves, stand: the
// last elements, four, two and one, always go to the lowest lanes, and the halves change places in between.
TEXT ·sumExpNEON(SB), NOSPLIT, $0-40
	MOVD x_base+0(FP), R5
	MOVD x_len+8(FP), R6
	FMOVD max+24(FP), F8
	VDUP V8.D[0], V8.D2
	LOADALL
	ZERO(9)
	ZERO(10)
	ZERO(11)
	ZERO(12)

loop:
	SUBS $8, R6
	BLT  rest4
	FMOVQ.P 16(R5), F0
	FOUR(9, 10)
	FMOVQ.P 16(R5), F0
	FOUR(11, 12)
	B    loop

rest4:
	TBZ  $2, R6, rest2
	FMOVQ.P 16(R5), F0
	FOUR(9, 10)
	MOV(9, 0)
	MOV(10, 1)
	MOV(11, 9)
	MOV(12, 10)
	MOV(0, 11)
	MOV(1, 12)

rest2:
	TBZ  $1, R6, rest1
	FMOVD.P 8(R5), F0
	WIDE(0, 0)
	DIFFERENCE(0)
	DADD(3, 9, 3)
	MOV(10, 9)
	MOV(3, 10)

rest1:
	TBZ  $0, R6, reduce
	FMOVS.P 4(R5), F0
	WIDE(0, 0)
	DIFFERENCE(0)
	DADD(3, 9, 3)
	LOW2(3, 9)

reduce: // ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7))
	DADDP(10, 9, 9)
	DADDP(12, 11, 11)
	DADDP(11, 9, 9)
	DADDP(9, 9, 9)
	FMOVD F9, ret+32(FP)
	RET

// func maxNEON(x []float32) float32
TEXT ·maxNEON(SB), NOSPLIT, $0-28
	MOVD x_base+0(FP), R5
	MOVD x_len+8(FP), R6
	MOVD $0xff800000, R1
	VDUP R1, V2.S4
	MOV(2, 3)

loop:
	SUBS $8, R6
	BLT  rest
	FLDPQ.P 32(R5), (F0, F1)
	FMAX(0, 2, 2)
	FMAX(1, 3, 3)
	B    loop

rest:
	ADDS $8, R6
	BEQ  end

one:
	VLD1R.P 4(R5), [V0.S4]
	FMAX(0, 2, 2)
	SUBS $1, R6
	BNE  one

end:
	FMAX(3, 2, 2)
	FMAXV(2, 2)
	FMOVS F2, ret+24(FP)
	RET

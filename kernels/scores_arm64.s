//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "exp64_arm64.h"

// Exponentials of a row of scores in float64.

DATA endNumbers64<>+0(SB)/8, $709.782712893384       // exp64Max
DATA endNumbers64<>+8(SB)/8, $0x7ff0000000000000     // infinity
GLOBL endNumbers64<>(SB), RODATA|NOPTR, $16

#define MAX 8
#define BY 9
#define EXP64MAX 11
#define INFINITY 12

// QUOTIENT sets V3 to Exp64 of (V2 − max)/by, whatever its sign, and of NaN. It uses V2 and V4–V7.
#define QUOTIENT \
	DSUB(MAX, 2, 2)             \
	DDIV(BY, 2, 2)              \
	EXP                         \
	DCMGT(EXP64MAX, 2, 7)       \ // x > max
	BIT(7, INFINITY, 3)         \
	DCMEQ(2, 2, 7)              \
	BIF(7, 2, 3)

// func exp64sNEON(y, x []float64, max, by float64)
TEXT ·exp64sNEON(SB), NOSPLIT, $0-64
	MOVD y_base+0(FP), R0
	MOVD x_base+24(FP), R5
	MOVD x_len+32(FP), R6
	FMOVD max+48(FP), F8
	FMOVD by+56(FP), F9
	VDUP V8.D[0], V8.D2
	VDUP V9.D[0], V9.D2
	MOVD $endNumbers64<>(SB), R1
	LOAD(V11)
	LOAD(V12)
	LOADALL

loop:
	SUBS $2, R6
	BLT  rest
	FMOVQ.P 16(R5), F2
	QUOTIENT
	FMOVQ.P F3, 16(R0)
	B    loop

rest:
	TBZ  $0, R6, end
	FMOVD (R5), F2
	QUOTIENT
	FMOVD F3, (R0)

end:
	RET

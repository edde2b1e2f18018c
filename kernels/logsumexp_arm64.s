//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// The sum of a softmax in float64: Exp64's operations one for one, on two elements; the numbers are those of logsumexp.go, in the
// order of their registers.

#define NUMBER(at, value) DATA expNumbers64<>+at(SB)/8, value

NUMBER(0, $-708.3964185322641)        // exp64Min
NUMBER(8, $1.4426950408889634)        // log2e
NUMBER(16, $0.6931471803691238)       // ln2Hi64
NUMBER(24, $1.9082149292705877e-10)   // ln2Lo64
NUMBER(32, $6755399441055744.0)       // round64
NUMBER(40, $1.6059043836821613e-10)   // e13
NUMBER(48, $2.08767569878681e-09)
NUMBER(56, $2.505210838544172e-08)
NUMBER(64, $2.7557319223985888e-07)
NUMBER(72, $2.7557319223985893e-06)
NUMBER(80, $2.4801587301587302e-05)
NUMBER(88, $0.00019841269841269841)
NUMBER(96, $0.0013888888888888889)
NUMBER(104, $0.0083333333333333332)
NUMBER(112, $0.041666666666666664)
NUMBER(120, $0.16666666666666666)
NUMBER(128, $0.5)                     // e2
NUMBER(136, $1.0)
GLOBL expNumbers64<>(SB), RODATA|NOPTR, $144

#define LOAD(v) VLD1R.P 8(R1), [v.D2]

#define EXP64MIN 14
#define LOG2E 15
#define LN2HI64 16
#define LN2LO64 17
#define ROUND64 18
#define E13 19
#define E12 20
#define E11 21
#define E10 22
#define E9 23
#define E8 24
#define E7 25
#define E6 26
#define E5 27
#define E4 28
#define E3 29
#define E2 30
#define ONE 31

#define HORNER(q, z, number, d) \
	MOV(number, d)              \
	DMLA(q, z, d)

#define MAX 8

// EXP sets V3 to Exp64 of x − max, which is ≤ 0 and not NaN. It uses V2 and V4–V6.
#define EXP(x) \
	DSUB(MAX, x, 2)             \
	HORNER(2, LOG2E, ROUND64, 4) \ // t
	DSUB(ROUND64, 4, 5)         \ // n
	MOV(2, 6)                   \
	DMLS(LN2HI64, 5, 6)         \
	DMLS(LN2LO64, 5, 6)         \ // r
	HORNER(E13, 6, E12, 3)      \
	HORNER(3, 6, E11, 5)        \
	HORNER(5, 6, E10, 3)        \
	HORNER(3, 6, E9, 5)         \
	HORNER(5, 6, E8, 3)         \
	HORNER(3, 6, E7, 5)         \
	HORNER(5, 6, E6, 3)         \
	HORNER(3, 6, E5, 5)         \
	HORNER(5, 6, E4, 3)         \
	HORNER(3, 6, E3, 5)         \
	HORNER(5, 6, E2, 3)         \ // q
	DMUL(6, 6, 5)               \
	DMLA(3, 5, 6)               \
	DADD(ONE, 6, 3)             \ // p
	DSHL52(4, 4)                \
	DIADD(4, 3, 3)              \
	DCMGT(2, EXP64MIN, 5)       \
	CLEAR(5, 3, 3)

// FOUR adds the exponentials of the four elements in V0 to two registers of lanes.
#define FOUR(lo, hi) \
	WIDE2(0, 1)                 \
	WIDE(0, 0)                  \
	EXP(0)                      \
	DADD(3, lo, lo)             \
	EXP(1)                      \
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
	MOVD $expNumbers64<>(SB), R1
	LOAD(V14)
	LOAD(V15)
	LOAD(V16)
	LOAD(V17)
	LOAD(V18)
	LOAD(V19)
	LOAD(V20)
	LOAD(V21)
	LOAD(V22)
	LOAD(V23)
	LOAD(V24)
	LOAD(V25)
	LOAD(V26)
	LOAD(V27)
	LOAD(V28)
	LOAD(V29)
	LOAD(V30)
	LOAD(V31)
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
	EXP(0)
	DADD(3, 9, 3)
	MOV(10, 9)
	MOV(3, 10)

rest1:
	TBZ  $0, R6, reduce
	FMOVS.P 4(R5), F0
	WIDE(0, 0)
	EXP(0)
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

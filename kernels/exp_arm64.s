//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// The exponential and what is built on it: exp.go's operations one for one, on four elements. The numbers are exp.go's, in the
// order in which they are loaded.

#define NUMBER(table, at, value) DATA table<>+at(SB)/4, value

NUMBER(expNumbers, 0, $88.72283)               // expMax
NUMBER(expNumbers, 4, $-87.33654)              // expMin
NUMBER(expNumbers, 8, $1.4426950408889634)     // log2e
NUMBER(expNumbers, 12, $0.693145751953125)     // ln2Hi
NUMBER(expNumbers, 16, $1.4286068203094172e-06) // ln2Lo
NUMBER(expNumbers, 20, $12582912.0)            // round
NUMBER(expNumbers, 24, $0.0001991823321705067) // exp5
NUMBER(expNumbers, 28, $0.0013946381452955253)
NUMBER(expNumbers, 32, $0.008333264699626348)
NUMBER(expNumbers, 36, $0.04166626559626765)
NUMBER(expNumbers, 40, $0.16666666858829668)
NUMBER(expNumbers, 44, $0.5000000079222027)    // exp0
NUMBER(expNumbers, 48, $1.0)
NUMBER(expNumbers, 52, $0x7f800000)            // infinity
GLOBL expNumbers<>(SB), RODATA|NOPTR, $56

NUMBER(geluTanhNumbers, 0, $0.7978845608028654) // geluC
NUMBER(geluTanhNumbers, 4, $0.044715)           // geluA
GLOBL geluTanhNumbers<>(SB), RODATA|NOPTR, $8

NUMBER(quickGELUNumbers, 0, $1.702) // quickC
GLOBL quickGELUNumbers<>(SB), RODATA|NOPTR, $4

NUMBER(tanhNumbers, 0, $-0.005543112518668546) // tanh4
NUMBER(tanhNumbers, 4, $0.02049663547597885)
NUMBER(tanhNumbers, 8, $-0.05369713480710372)
NUMBER(tanhNumbers, 12, $0.13330950244124412)
NUMBER(tanhNumbers, 16, $-0.33333264739676693) // tanh0
NUMBER(tanhNumbers, 20, $0.625)                // tanhSmall
NUMBER(tanhNumbers, 24, $2.0)
NUMBER(tanhNumbers, 28, $0x80000000)           // the sign
GLOBL tanhNumbers<>(SB), RODATA|NOPTR, $32

NUMBER(geluErfNumbers, 0, $0.5)
NUMBER(geluErfNumbers, 4, $0.7071067811865476)    // sqrtHalf
NUMBER(geluErfNumbers, 8, $4.0)                   // erfMax
NUMBER(geluErfNumbers, 12, $0x80000000)           // the sign
NUMBER(geluErfNumbers, 16, $7.889119432622343e-05) // erf6: from here on loaded for every vector
NUMBER(geluErfNumbers, 20, $-0.0008020841252645647)
NUMBER(geluErfNumbers, 24, $0.005189535336587975)
NUMBER(geluErfNumbers, 28, $-0.02685444459063731)
NUMBER(geluErfNumbers, 32, $0.1128360017623133)
NUMBER(geluErfNumbers, 36, $-0.3761262713596391)
NUMBER(geluErfNumbers, 40, $1.1283791659137459)    // erf0
NUMBER(geluErfNumbers, 44, $-0.00018882361226516307) // erfc6
NUMBER(geluErfNumbers, 48, $0.0029724420146445742)
NUMBER(geluErfNumbers, 52, $-0.02194043062434497)
NUMBER(geluErfNumbers, 56, $0.10332734916973557)
NUMBER(geluErfNumbers, 60, $0.6378830848565932)
NUMBER(geluErfNumbers, 64, $1.1272514564343061)
NUMBER(geluErfNumbers, 68, $0.00030042836545832174) // erfc0
GLOBL geluErfNumbers<>(SB), RODATA|NOPTR, $72

// LOAD spreads the next number of the table at R1 over a register.
#define LOAD(v) VLD1R.P 4(R1), [v.S4]

// Where the numbers of exp are.
#define EXPMAX 16
#define EXPMIN 17
#define LOG2E 18
#define LN2HI 19
#define LN2LO 20
#define ROUND 21
#define EXP5 22
#define EXP4 23
#define EXP3 24
#define EXP2 25
#define EXP1 26
#define EXP0 27
#define ONE 28
#define INF 29

#define LOADEXP \
	MOVD $expNumbers<>(SB), R1  \
	LOAD(V16)                   \
	LOAD(V17)                   \
	LOAD(V18)                   \
	LOAD(V19)                   \
	LOAD(V20)                   \
	LOAD(V21)                   \
	LOAD(V22)                   \
	LOAD(V23)                   \
	LOAD(V24)                   \
	LOAD(V25)                   \
	LOAD(V26)                   \
	LOAD(V27)                   \
	LOAD(V28)                   \
	LOAD(V29)

// HORNER sets d to fma(q, z, number).
#define HORNER(q, z, number, d) \
	MOV(number, d)              \
	FMLA(q, z, d)

// EXP sets V2 to exp of V1. It uses V3–V6.
#define EXP \
	HORNER(1, LOG2E, ROUND, 3)  \ // t
	FSUB(ROUND, 3, 2)           \ // n
	MOV(1, 4)                   \
	FMLS(LN2HI, 2, 4)           \
	FMLS(LN2LO, 2, 4)           \ // r
	HORNER(EXP5, 4, EXP4, 5)    \
	HORNER(5, 4, EXP3, 6)       \
	HORNER(6, 4, EXP2, 5)       \
	HORNER(5, 4, EXP1, 6)       \
	HORNER(6, 4, EXP0, 5)       \ // q
	FMUL(4, 4, 6)               \
	HORNER(5, 6, 4, 2)          \
	FADD(ONE, 2, 2)             \ // p
	SHL23(3, 3)                 \
	IADD(3, 2, 2)               \
	FCMGT(1, EXPMIN, 5)         \
	CLEAR(5, 2, 2)              \
	FCMGE(1, EXPMAX, 5)         \
	FADD(INF, 1, 6)             \ // infinity, or the NaN
	BIF(5, 6, 2)

// SIGMOID sets V0 to V0·σ(t), V1 being −t.
#define SIGMOID \
	EXP                         \
	FADD(ONE, 2, 2)             \
	FDIV(2, 0, 0)

#define GELUC 30
#define GELUA 31

#define GELUTANH \
	FMUL(0, 0, 1)               \
	HORNER(1, GELUA, ONE, 2)    \
	FMUL(GELUC, 0, 1)           \
	FMUL(2, 1, 1)               \ // u
	FADD(1, 1, 1)               \
	FNEG(1, 1)                  \
	SIGMOID

#define QUICKC 30

#define QUICKGELU \
	FMUL(QUICKC, 0, 1)          \
	FNEG(1, 1)                  \
	SIGMOID

#define SILU \
	FNEG(0, 1)                  \
	SIGMOID

#define RELU \
	FCMLT0(0, 1)                \
	CLEAR(1, 0, 0)

#define TANH4 8
#define TANH3 9
#define TANH2 10
#define TANH1 11
#define TANH0 12
#define TANHSMALL 13
#define TWO 14
#define SIGN 15

// TANH keeps x in V0, |x| in V7 and the small result in V30.
#define TANH \
	FABS(0, 7)                  \
	FMUL(0, 0, 1)               \ // z
	HORNER(TANH4, 1, TANH3, 3)  \
	HORNER(3, 1, TANH2, 4)      \
	HORNER(4, 1, TANH1, 3)      \
	HORNER(3, 1, TANH0, 4)      \
	FMUL(1, 4, 3)               \
	HORNER(3, 0, 0, 30)         \
	FADD(7, 7, 1)               \
	EXP                         \
	FADD(ONE, 2, 2)             \
	FDIV(2, TWO, 2)             \
	FSUB(2, ONE, 2)             \
	BIT(SIGN, 0, 2)             \
	FCMGT(7, TANHSMALL, 3)      \
	BIT(3, 30, 2)               \
	MOV(2, 0)

#define HALF 8
#define SQRTHALF 9
#define ERFMAX 10

// NEXT sets d (v) to fma(q, z, the next number).
#define NEXT(q, z, d, v) \
	LOAD(v)                     \
	FMLA(q, z, d)

// GELUERF keeps x/2 in V11, x/√2 in V0, its absolute value in V7 and the small result of erf in V30.
#define GELUERF \
	MOVD R2, R1                 \
	FMUL(HALF, 0, 11)           \
	FMUL(SQRTHALF, 0, 0)        \
	FABS(0, 7)                  \
	FMUL(0, 0, 1)               \ // z
	LOAD(V3)                    \
	NEXT(3, 1, 4, V4)           \
	NEXT(4, 1, 3, V3)           \
	NEXT(3, 1, 4, V4)           \
	NEXT(4, 1, 3, V3)           \
	NEXT(3, 1, 4, V4)           \
	NEXT(4, 1, 3, V3)           \
	FMUL(0, 3, 30)              \
	FMIN(ERFMAX, 7, 2)          \ // NaN stays NaN
	LOAD(V3)                    \
	NEXT(3, 2, 4, V4)           \
	NEXT(4, 2, 3, V3)           \
	NEXT(3, 2, 4, V4)           \
	NEXT(4, 2, 3, V3)           \
	NEXT(3, 2, 4, V4)           \
	NEXT(4, 2, 3, V3)           \
	FNEG(3, 1)                  \
	EXP                         \
	FSUB(2, ONE, 2)             \
	BIT(SIGN, 0, 2)             \
	FCMGT(7, ONE, 3)            \
	BIT(3, 30, 2)               \ // erf
	MOV(11, 0)                  \
	FMLA(2, 11, 0)

// EACH applies F to the elements of x in place, V0 to V0: four at a time, the last ones one by one.
#define EACH(F) \
	MOVD x_base+0(FP), R5       \
	MOVD x_len+8(FP), R6        \
loop:                           \
	SUBS $4, R6                 \
	BLT  rest                   \
	FMOVQ (R5), F0              \
	F                           \
	FMOVQ.P F0, 16(R5)          \
	B    loop                   \
rest:                           \
	ADDS $4, R6                 \
	BEQ  end                    \
one:                            \
	FMOVS (R5), F0              \
	F                           \
	FMOVS.P F0, 4(R5)           \
	SUBS $1, R6                 \
	BNE  one                    \
end:                            \
	RET

// func geluTanhNEON(x []float32)
TEXT ·geluTanhNEON(SB), NOSPLIT, $0-24
	LOADEXP
	MOVD $geluTanhNumbers<>(SB), R1
	LOAD(V30)
	LOAD(V31)
	EACH(GELUTANH)

// func geluErfNEON(x []float32)
TEXT ·geluErfNEON(SB), NOSPLIT, $0-24
	LOADEXP
	MOVD $geluErfNumbers<>(SB), R1
	LOAD(V8)
	LOAD(V9)
	LOAD(V10)
	LOAD(V15)
	MOVD R1, R2
	EACH(GELUERF)

// func quickGELUNEON(x []float32)
TEXT ·quickGELUNEON(SB), NOSPLIT, $0-24
	LOADEXP
	MOVD $quickGELUNumbers<>(SB), R1
	LOAD(V30)
	EACH(QUICKGELU)

// func siluNEON(x []float32)
TEXT ·siluNEON(SB), NOSPLIT, $0-24
	LOADEXP
	EACH(SILU)

// func reluNEON(x []float32)
TEXT ·reluNEON(SB), NOSPLIT, $0-24
	EACH(RELU)

// func tanhNEON(x []float32)
TEXT ·tanhNEON(SB), NOSPLIT, $0-24
	LOADEXP
	MOVD $tanhNumbers<>(SB), R1
	LOAD(V8)
	LOAD(V9)
	LOAD(V10)
	LOAD(V11)
	LOAD(V12)
	LOAD(V13)
	LOAD(V14)
	LOAD(V15)
	EACH(TANH)

// SHIFT replaces the elements at R5 by their exponentials, V2.
#define SHIFT(MOVE, size) \
	MOVE (R5), F1               \
	FSUB(10, 1, 1)              \
	EXP                         \
	MOVE.P F2, size(R5)

// func expShiftNEON(s []float32, max float32) float32
// V10 is max; V11 and V12 are the lanes of the sum: see dot_arm64.s for the last elements.
TEXT ·expShiftNEON(SB), NOSPLIT, $0-36
	MOVD s_base+0(FP), R5
	MOVD s_len+8(FP), R6
	FMOVS max+24(FP), F10
	VDUP V10.S[0], V10.S4
	LOADEXP
	ZERO(11)
	ZERO(12)

loop:
	SUBS $8, R6
	BLT  rest4
	SHIFT(FMOVQ, 16)
	FADD(2, 11, 11)
	SHIFT(FMOVQ, 16)
	FADD(2, 12, 12)
	B    loop

rest4:
	TBZ  $2, R6, rest2
	SHIFT(FMOVQ, 16)
	FADD(2, 11, 13)
	MOV(12, 11)
	MOV(13, 12)

rest2:
	TBZ  $1, R6, rest1
	SHIFT(FMOVD, 8)
	FADD(2, 11, 13)
	LOW2(13, 11)
	SWAP(11, 11)

rest1:
	TBZ  $0, R6, reduce
	SHIFT(FMOVS, 4)
	FADD(2, 11, 13)
	LOW1(13, 11)

reduce:
	FADDP(12, 11, 11)
	FADDP(11, 11, 11)
	FADDP(11, 11, 11)
	FMOVS F11, ret+32(FP)
	RET

// Exp64's operations one for one, on two elements; the numbers are those of logsumexp.go, in the order
// of their registers.

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

// LOADALL sets V14–V31. It uses R1.
#define LOADALL \
	MOVD $expNumbers64<>(SB), R1 \
	LOAD(V14) \
	LOAD(V15) \
	LOAD(V16) \
	LOAD(V17) \
	LOAD(V18) \
	LOAD(V19) \
	LOAD(V20) \
	LOAD(V21) \
	LOAD(V22) \
	LOAD(V23) \
	LOAD(V24) \
	LOAD(V25) \
	LOAD(V26) \
	LOAD(V27) \
	LOAD(V28) \
	LOAD(V29) \
	LOAD(V30) \
	LOAD(V31)

// EXP sets V3 to Exp64 of V2, which is ≤ 0 and not NaN. It uses V4–V6.
#define EXP \
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

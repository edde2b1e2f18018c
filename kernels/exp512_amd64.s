//go:build !purego

#include "textflag.h"

// The exponential and what is built on it in 512 bits: exp.go's operations one for one, on sixteen
// elements. The numbers are exp.go's.

#define CONST(name, value) \
	DATA name<>+0(SB)/4, value   \
	GLOBL name<>(SB), RODATA|NOPTR, $4

CONST(expMax, $88.72283)
CONST(expMin, $-87.33654)
CONST(log2e, $1.4426950408889634)
CONST(ln2Hi, $0.693145751953125)
CONST(ln2Lo, $1.4286068203094172e-06)
CONST(round, $12582912.0)
CONST(exp0, $0.5000000079222027)
CONST(exp1, $0.16666666858829668)
CONST(exp2, $0.04166626559626765)
CONST(exp3, $0.008333264699626348)
CONST(exp4, $0.0013946381452955253)
CONST(exp5, $0.0001991823321705067)

CONST(tanhSmall, $0.625)
CONST(tanh0, $-0.33333264739676693)
CONST(tanh1, $0.13330950244124412)
CONST(tanh2, $-0.05369713480710372)
CONST(tanh3, $0.02049663547597885)
CONST(tanh4, $-0.005543112518668546)

CONST(erf0, $1.1283791659137459)
CONST(erf1, $-0.3761262713596391)
CONST(erf2, $0.1128360017623133)
CONST(erf3, $-0.02685444459063731)
CONST(erf4, $0.005189535336587975)
CONST(erf5, $-0.0008020841252645647)
CONST(erf6, $7.889119432622343e-05)
CONST(erfMax, $4.0)
CONST(erfc0, $0.00030042836545832174)
CONST(erfc1, $1.1272514564343061)
CONST(erfc2, $0.6378830848565932)
CONST(erfc3, $0.10332734916973557)
CONST(erfc4, $-0.02194043062434497)
CONST(erfc5, $0.0029724420146445742)
CONST(erfc6, $-0.00018882361226516307)

CONST(geluC, $0.7978845608028654)
CONST(geluA, $0.044715)
CONST(quickC, $1.702)
CONST(sqrtHalf, $0.7071067811865476)

CONST(half, $0.5)
CONST(one, $1.0)
CONST(two, $2.0)
CONST(inf, $0x7f800000)
CONST(sign, $0x80000000)

#define LESS $1
#define NOT_LESS $5       // also where one is NaN
#define NOT_LESS_EQUAL $6 // also where one is NaN

// EXP sets Z2 to exp of Z1. It uses Z3–Z5 and K3.
#define EXP \
	VBROADCASTSS log2e<>(SB), Z3           \
	VFMADD213PS.BCST round<>(SB), Z1, Z3   \ // t
	VSUBPS.BCST round<>(SB), Z3, Z2        \ // n
	VMOVAPS Z1, Z4                         \
	VFNMADD231PS.BCST ln2Hi<>(SB), Z2, Z4  \
	VFNMADD231PS.BCST ln2Lo<>(SB), Z2, Z4  \ // r
	VBROADCASTSS exp5<>(SB), Z2            \
	VFMADD213PS.BCST exp4<>(SB), Z4, Z2    \
	VFMADD213PS.BCST exp3<>(SB), Z4, Z2    \
	VFMADD213PS.BCST exp2<>(SB), Z4, Z2    \
	VFMADD213PS.BCST exp1<>(SB), Z4, Z2    \
	VFMADD213PS.BCST exp0<>(SB), Z4, Z2    \ // q
	VMULPS Z4, Z4, Z5                      \
	VFMADD213PS Z4, Z5, Z2                 \
	VADDPS.BCST one<>(SB), Z2, Z2          \ // p
	VPSLLD $23, Z3, Z3                     \
	VPADDD Z3, Z2, Z2                      \
	VCMPPS.BCST NOT_LESS, expMin<>(SB), Z1, K3 \
	VMOVAPS.Z Z2, K3, Z2                   \
	VCMPPS.BCST NOT_LESS_EQUAL, expMax<>(SB), Z1, K3 \
	VADDPS.BCST inf<>(SB), Z1, K3, Z2 // infinity, or the NaN

// SIGMOID sets Z0 to Z0·σ(t), Z1 being −t.
#define SIGMOID \
	EXP                                    \
	VADDPS.BCST one<>(SB), Z2, Z2          \
	VDIVPS Z2, Z0, Z0

// A product with −c is the negated product with c: the sign of t can be had for nothing.
#define GELUTANH \
	VMULPS Z0, Z0, Z1                      \
	VBROADCASTSS one<>(SB), Z2             \
	VFMADD132PS.BCST geluA<>(SB), Z2, Z1   \
	VMULPS.BCST geluC<>(SB), Z0, Z2        \
	VMULPS Z1, Z2, Z1                      \ // u
	VADDPS Z1, Z1, Z1                      \
	VXORPS.BCST sign<>(SB), Z1, Z1         \
	SIGMOID

#define QUICKGELU \
	VMULPS.BCST quickC<>(SB), Z0, Z1       \
	VXORPS.BCST sign<>(SB), Z1, Z1         \
	SIGMOID

#define SILU \
	VXORPS.BCST sign<>(SB), Z0, Z1         \
	SIGMOID

#define RELU \
	VXORPS Z2, Z2, Z2                      \
	VCMPPS NOT_LESS, Z2, Z0, K3            \
	VMOVAPS.Z Z0, K3, Z0

// TANH keeps x in Z0, |x| in Z6 and the small result in Z7.
#define TANH \
	VBROADCASTSS sign<>(SB), Z8            \
	VANDNPS Z0, Z8, Z6                     \
	VMULPS Z0, Z0, Z1                      \ // z
	VBROADCASTSS tanh4<>(SB), Z7           \
	VFMADD213PS.BCST tanh3<>(SB), Z1, Z7   \
	VFMADD213PS.BCST tanh2<>(SB), Z1, Z7   \
	VFMADD213PS.BCST tanh1<>(SB), Z1, Z7   \
	VFMADD213PS.BCST tanh0<>(SB), Z1, Z7   \
	VMULPS Z1, Z7, Z7                      \
	VFMADD213PS Z0, Z0, Z7                 \
	VADDPS Z6, Z6, Z1                      \
	EXP                                    \
	VADDPS.BCST one<>(SB), Z2, Z2          \
	VBROADCASTSS two<>(SB), Z3             \
	VDIVPS Z2, Z3, Z3                      \
	VBROADCASTSS one<>(SB), Z4             \
	VSUBPS Z3, Z4, Z4                      \
	COPYSIGN(Z0, Z4)                       \
	VCMPPS.BCST LESS, tanhSmall<>(SB), Z6, K3 \
	VMOVAPS Z4, Z0                         \
	VMOVAPS Z7, K3, Z0

// COPYSIGN gives y the sign of x. Z8 is the sign bit; it uses Z3.
#define COPYSIGN(x, y) \
	VANDPS x, Z8, Z3                       \
	VANDNPS y, Z8, y                       \
	VORPS Z3, y, y

// ERF sets Z0 to the erf of Z0: |x| in Z6, the small result in Z7.
#define ERF \
	VBROADCASTSS sign<>(SB), Z8            \
	VANDNPS Z0, Z8, Z6                     \
	VMULPS Z0, Z0, Z1                      \ // z
	VBROADCASTSS erf6<>(SB), Z7            \
	VFMADD213PS.BCST erf5<>(SB), Z1, Z7    \
	VFMADD213PS.BCST erf4<>(SB), Z1, Z7    \
	VFMADD213PS.BCST erf3<>(SB), Z1, Z7    \
	VFMADD213PS.BCST erf2<>(SB), Z1, Z7    \
	VFMADD213PS.BCST erf1<>(SB), Z1, Z7    \
	VFMADD213PS.BCST erf0<>(SB), Z1, Z7    \
	VMULPS Z0, Z7, Z7                      \
	VBROADCASTSS erfMax<>(SB), Z2          \
	VMINPS Z6, Z2, Z2                      \ // |x| where that is NaN
	VBROADCASTSS erfc6<>(SB), Z1           \
	VFMADD213PS.BCST erfc5<>(SB), Z2, Z1   \
	VFMADD213PS.BCST erfc4<>(SB), Z2, Z1   \
	VFMADD213PS.BCST erfc3<>(SB), Z2, Z1   \
	VFMADD213PS.BCST erfc2<>(SB), Z2, Z1   \
	VFMADD213PS.BCST erfc1<>(SB), Z2, Z1   \
	VFMADD213PS.BCST erfc0<>(SB), Z2, Z1   \
	VXORPS Z8, Z1, Z1                      \
	EXP                                    \
	VBROADCASTSS one<>(SB), Z4             \
	VSUBPS Z2, Z4, Z4                      \
	COPYSIGN(Z0, Z4)                       \
	VCMPPS.BCST LESS, one<>(SB), Z6, K3    \
	VMOVAPS Z4, Z0                         \
	VMOVAPS Z7, K3, Z0

#define GELUERF \
	VMULPS.BCST half<>(SB), Z0, Z9         \
	VMULPS.BCST sqrtHalf<>(SB), Z0, Z0     \
	ERF                                    \
	VFMADD213PS Z9, Z9, Z0

// MASK sets K1 to the first CX < 16 lanes.
#define MASK \
	MOVL $1, AX                            \
	SHLL CX, AX                            \
	DECL AX                                \
	KMOVW AX, K1

// EACH applies F to the elements of x in place, Z0 to Z0; the last ones under the mask in K1.
#define EACH(F) \
	MOVQ x_base+0(FP), DI     \
	MOVQ x_len+8(FP), CX      \
loop:                         \
	SUBQ $16, CX              \
	JLT  rest                 \
	VMOVUPS (DI), Z0          \
	F                         \
	VMOVUPS Z0, (DI)          \
	ADDQ $64, DI              \
	JMP  loop                 \
rest:                         \
	ADDQ $16, CX              \
	JEQ  end                  \
	MASK                      \
	VMOVUPS.Z (DI), K1, Z0    \
	F                         \
	VMOVUPS Z0, K1, (DI)      \
end:                          \
	VZEROUPPER                \
	RET

// func geluTanhAVX512(x []float32)
TEXT ·geluTanhAVX512(SB), NOSPLIT, $0-24
	EACH(GELUTANH)

// func geluErfAVX512(x []float32)
TEXT ·geluErfAVX512(SB), NOSPLIT, $0-24
	EACH(GELUERF)

// func quickGELUAVX512(x []float32)
TEXT ·quickGELUAVX512(SB), NOSPLIT, $0-24
	EACH(QUICKGELU)

// func siluAVX512(x []float32)
TEXT ·siluAVX512(SB), NOSPLIT, $0-24
	EACH(SILU)

// func reluAVX512(x []float32)
TEXT ·reluAVX512(SB), NOSPLIT, $0-24
	EACH(RELU)

// func tanhAVX512(x []float32)
TEXT ·tanhAVX512(SB), NOSPLIT, $0-24
	EACH(TANH)

// func expShiftAVX512(s []float32, max float32) float32
// Z10 is max, Y11 the eight lanes of the sum: the first half of a register comes before the second.
TEXT ·expShiftAVX512(SB), NOSPLIT, $0-36
	MOVQ s_base+0(FP), DI
	MOVQ s_len+8(FP), CX
	VBROADCASTSS max+24(FP), Z10
	VXORPS Y11, Y11, Y11

loop:
	SUBQ $16, CX
	JLT  rest
	VMOVUPS (DI), Z1
	VSUBPS Z10, Z1, Z1
	EXP
	VMOVUPS Z2, (DI)
	VEXTRACTF32X8 $1, Z2, Y3
	VADDPS Y2, Y11, Y11
	VADDPS Y3, Y11, Y11
	ADDQ $64, DI
	JMP  loop

rest:
	ADDQ $16, CX
	JEQ  end
	MASK
	KSHIFTRW $8, K1, K2
	VMOVUPS.Z (DI), K1, Z1
	VSUBPS Z10, Z1, Z1
	EXP
	VMOVUPS Z2, K1, (DI)
	VEXTRACTF32X8 $1, Z2, Y3
	VADDPS Y2, Y11, K1, Y11
	VADDPS Y3, Y11, K2, Y11

end:
	VHADDPS Y11, Y11, Y11
	VHADDPS Y11, Y11, Y11
	VEXTRACTF128 $1, Y11, X0
	VADDSS X0, X11, X0
	VMOVSS X0, ret+32(FP)
	VZEROUPPER
	RET

// func scoresMaxAVX512(s, mask []float32, scale, max float32) float32
// VMAXPS gives its second operand, the running maximum, where the first is NaN. K1 is the lanes
// that exist.
TEXT ·scoresMaxAVX512(SB), NOSPLIT, $0-60
	MOVQ s_base+0(FP), DI
	MOVQ s_len+8(FP), CX
	MOVQ mask_base+24(FP), SI
	VBROADCASTSS scale+48(FP), Z2
	VBROADCASTSS max+52(FP), Z3
	KXNORW K1, K1, K1

loop:
	CMPQ CX, $16
	JGE  whole
	TESTQ CX, CX
	JEQ  greatest
	MASK

whole:
	VMOVUPS.Z (DI), K1, Z0
	TESTQ SI, SI
	JEQ  plain
	VMOVUPS.Z (SI), K1, Z1
	VFMADD213PS Z1, Z2, Z0
	ADDQ $64, SI
	JMP  store

plain:
	VMULPS Z0, Z2, Z0

store:
	VMOVUPS Z0, K1, (DI)
	VMAXPS Z3, Z0, K1, Z3
	ADDQ $64, DI
	SUBQ $16, CX
	JGT  loop

greatest:
	VEXTRACTF32X8 $1, Z3, Y0
	VMAXPS Y3, Y0, Y3
	VEXTRACTF128 $1, Y3, X0
	VMAXPS X3, X0, X0
	VMOVHLPS X0, X0, X1
	VMAXPS X0, X1, X0
	VMOVSHDUP X0, X1
	VMAXSS X0, X1, X0
	VMOVSS X0, ret+56(FP)
	VZEROUPPER
	RET

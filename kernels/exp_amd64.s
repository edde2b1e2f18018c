//go:build !purego

#include "textflag.h"

// The exponential and what is built on it: exp.go's operations one for one, on eight elements. The numbers are exp.go's.

// CONST makes a vector of eight times one number.
#define CONST(name, value) \
	DATA name<>+0(SB)/4, value   \
	DATA name<>+4(SB)/4, value   \
	DATA name<>+8(SB)/4, value   \
	DATA name<>+12(SB)/4, value  \
	DATA name<>+16(SB)/4, value  \
	DATA name<>+20(SB)/4, value  \
	DATA name<>+24(SB)/4, value  \
	DATA name<>+28(SB)/4, value  \
	GLOBL name<>(SB), RODATA|NOPTR, $32

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

#define MASK(n, m) \
	LEAQ ·laneMask+32(SB), R15  \
	SHLQ $2, n                  \
	SUBQ n, R15                 \
	VMOVUPS (R15), m

#define LESS $1
#define NOT_LESS_EQUAL $6 // also where one is NaN

// EXP sets Y2 to exp of Y1. It uses Y3–Y5.
#define EXP \
	VMOVUPS log2e<>(SB), Y3              \
	VFMADD213PS round<>(SB), Y1, Y3      \ // t
	VSUBPS round<>(SB), Y3, Y2           \ // n
	VMOVAPS Y1, Y4                       \
	VFNMADD231PS ln2Hi<>(SB), Y2, Y4     \
	VFNMADD231PS ln2Lo<>(SB), Y2, Y4     \ // r
	VMOVUPS exp5<>(SB), Y2               \
	VFMADD213PS exp4<>(SB), Y4, Y2       \
	VFMADD213PS exp3<>(SB), Y4, Y2       \
	VFMADD213PS exp2<>(SB), Y4, Y2       \
	VFMADD213PS exp1<>(SB), Y4, Y2       \
	VFMADD213PS exp0<>(SB), Y4, Y2       \ // q
	VMULPS Y4, Y4, Y5                    \
	VFMADD213PS Y4, Y5, Y2               \
	VADDPS one<>(SB), Y2, Y2             \ // p
	VPSLLD $23, Y3, Y3                   \
	VPADDD Y3, Y2, Y2                    \
	VCMPPS LESS, expMin<>(SB), Y1, Y5    \
	VANDNPS Y2, Y5, Y2                   \
	VCMPPS NOT_LESS_EQUAL, expMax<>(SB), Y1, Y5 \
	VADDPS inf<>(SB), Y1, Y3             \ // infinity, or the NaN
	VBLENDVPS Y5, Y3, Y2, Y2

// SIGMOID sets Y0 to Y0·σ(t), Y1 being −t.
#define SIGMOID \
	EXP                                  \
	VADDPS one<>(SB), Y2, Y2             \
	VDIVPS Y2, Y0, Y0

// A product with −c is the negated product with c: the sign of t can be had for nothing.
#define GELUTANH \
	VMULPS Y0, Y0, Y1                    \
	VMOVUPS one<>(SB), Y2                \
	VFMADD132PS geluA<>(SB), Y2, Y1      \
	VMULPS geluC<>(SB), Y0, Y2           \
	VMULPS Y1, Y2, Y1                    \ // u
	VADDPS Y1, Y1, Y1                    \
	VXORPS sign<>(SB), Y1, Y1            \
	SIGMOID

#define QUICKGELU \
	VMULPS quickC<>(SB), Y0, Y1          \
	VXORPS sign<>(SB), Y1, Y1            \
	SIGMOID

#define SILU \
	VXORPS sign<>(SB), Y0, Y1            \
	SIGMOID

#define RELU \
	VXORPS Y2, Y2, Y2                    \
	VCMPPS LESS, Y2, Y0, Y1              \
	VANDNPS Y0, Y1, Y0

// TANH keeps x in Y0, |x| in Y6 and the small result in Y7.
#define TANH \
	VMOVUPS sign<>(SB), Y8               \
	VANDNPS Y0, Y8, Y6                   \
	VMULPS Y0, Y0, Y1                    \ // z
	VMOVUPS tanh4<>(SB), Y7              \
	VFMADD213PS tanh3<>(SB), Y1, Y7      \
	VFMADD213PS tanh2<>(SB), Y1, Y7      \
	VFMADD213PS tanh1<>(SB), Y1, Y7      \
	VFMADD213PS tanh0<>(SB), Y1, Y7      \
	VMULPS Y1, Y7, Y7                    \
	VFMADD213PS Y0, Y0, Y7               \
	VADDPS Y6, Y6, Y1                    \
	EXP                                  \
	VADDPS one<>(SB), Y2, Y2             \
	VMOVUPS two<>(SB), Y3                \
	VDIVPS Y2, Y3, Y3                    \
	VMOVUPS one<>(SB), Y4                \
	VSUBPS Y3, Y4, Y4                    \
	COPYSIGN(Y0, Y4)                     \
	VCMPPS LESS, tanhSmall<>(SB), Y6, Y6 \
	VBLENDVPS Y6, Y7, Y4, Y0

// COPYSIGN gives y the sign of x. Y8 is the sign bit; it uses Y3.
#define COPYSIGN(x, y) \
	VANDPS x, Y8, Y3                     \
	VANDNPS y, Y8, y                     \
	VORPS Y3, y, y

// ERF sets Y0 to the erf of Y0: |x| in Y6, the small result in Y7.
#define ERF \
	VMOVUPS sign<>(SB), Y8               \
	VANDNPS Y0, Y8, Y6                   \
	VMULPS Y0, Y0, Y1                    \ // z
	VMOVUPS erf6<>(SB), Y7               \
	VFMADD213PS erf5<>(SB), Y1, Y7       \
	VFMADD213PS erf4<>(SB), Y1, Y7       \
	VFMADD213PS erf3<>(SB), Y1, Y7       \
	VFMADD213PS erf2<>(SB), Y1, Y7       \
	VFMADD213PS erf1<>(SB), Y1, Y7       \
	VFMADD213PS erf0<>(SB), Y1, Y7       \
	VMULPS Y0, Y7, Y7                    \
	VMOVUPS erfMax<>(SB), Y2             \
	VMINPS Y6, Y2, Y2                    \ // |x| where that is NaN
	VMOVUPS erfc6<>(SB), Y1              \
	VFMADD213PS erfc5<>(SB), Y2, Y1      \
	VFMADD213PS erfc4<>(SB), Y2, Y1      \
	VFMADD213PS erfc3<>(SB), Y2, Y1      \
	VFMADD213PS erfc2<>(SB), Y2, Y1      \
	VFMADD213PS erfc1<>(SB), Y2, Y1      \
	VFMADD213PS erfc0<>(SB), Y2, Y1      \
	VXORPS Y8, Y1, Y1                    \
	EXP                                  \
	VMOVUPS one<>(SB), Y4                \
	VSUBPS Y2, Y4, Y4                    \
	COPYSIGN(Y0, Y4)                     \
	VCMPPS LESS, one<>(SB), Y6, Y6       \
	VBLENDVPS Y6, Y7, Y4, Y0

#define GELUERF \
	VMULPS half<>(SB), Y0, Y9            \
	VMULPS sqrtHalf<>(SB), Y0, Y0        \
	ERF                                  \
	VFMADD213PS Y9, Y9, Y0

// EACH applies F to the elements of x in place, Y0 to Y0; the last ones under the mask in Y15.
#define EACH(F) \
	MOVQ x_base+0(FP), DI     \
	MOVQ x_len+8(FP), CX      \
loop:                         \
	SUBQ $8, CX               \
	JLT  rest                 \
	VMOVUPS (DI), Y0          \
	F                         \
	VMOVUPS Y0, (DI)          \
	ADDQ $32, DI              \
	JMP  loop                 \
rest:                         \
	ADDQ $8, CX               \
	JEQ  end                  \
	MASK(CX, Y15)             \
	VMASKMOVPS (DI), Y15, Y0  \
	F                         \
	VMASKMOVPS Y0, Y15, (DI)  \
end:                          \
	VZEROUPPER                \
	RET

// func geluTanhAVX2(x []float32)
TEXT ·geluTanhAVX2(SB), NOSPLIT, $0-24
	EACH(GELUTANH)

// func geluErfAVX2(x []float32)
TEXT ·geluErfAVX2(SB), NOSPLIT, $0-24
	EACH(GELUERF)

// func quickGELUAVX2(x []float32)
TEXT ·quickGELUAVX2(SB), NOSPLIT, $0-24
	EACH(QUICKGELU)

// func siluAVX2(x []float32)
TEXT ·siluAVX2(SB), NOSPLIT, $0-24
	EACH(SILU)

// func reluAVX2(x []float32)
TEXT ·reluAVX2(SB), NOSPLIT, $0-24
	EACH(RELU)

// func tanhAVX2(x []float32)
TEXT ·tanhAVX2(SB), NOSPLIT, $0-24
	EACH(TANH)

// func expShiftAVX2(s []float32, max float32) float32
// Y10 is max, Y11 the lanes of the sum.
TEXT ·expShiftAVX2(SB), NOSPLIT, $0-36
	MOVQ s_base+0(FP), DI
	MOVQ s_len+8(FP), CX
	VBROADCASTSS max+24(FP), Y10
	VXORPS Y11, Y11, Y11

loop:
	SUBQ $8, CX
	JLT  rest
	VMOVUPS (DI), Y1
	VSUBPS Y10, Y1, Y1
	EXP
	VMOVUPS Y2, (DI)
	VADDPS Y2, Y11, Y11
	ADDQ $32, DI
	JMP  loop

rest:
	ADDQ $8, CX
	JEQ  end
	MASK(CX, Y15)
	VMASKMOVPS (DI), Y15, Y1
	VSUBPS Y10, Y1, Y1
	EXP
	VMASKMOVPS Y2, Y15, (DI)
	VADDPS Y2, Y11, Y2
	VBLENDVPS Y15, Y2, Y11, Y11

end:
	VHADDPS Y11, Y11, Y11
	VHADDPS Y11, Y11, Y11
	VEXTRACTF128 $1, Y11, X0
	VADDSS X0, X11, X0
	VMOVSS X0, ret+32(FP)
	VZEROUPPER
	RET

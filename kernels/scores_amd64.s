//go:build !purego

#include "textflag.h"
#include "exp64_amd64.h"

// A row of scores in float64: exponentials, maxima, and the places of large ones.

CONST(max64, $709.782712893384)
CONST(infinity64, $0x7ff0000000000000)

DATA exponent32<>+0(SB)/4, $0x7f800000
GLOBL exponent32<>(SB), RODATA|NOPTR, $4

// ENDS makes y, Exp64 of an x of any sign, right for x above exp64Max and for NaN. It uses u.
#define ENDS(x, y, u) \
	VCMPPD $0x1e, max64<>(SB), x, u      \ // x > max64
	VBLENDVPD u, infinity64<>(SB), y, y  \
	VCMPPD $3, x, x, u                   \
	VBLENDVPD u, x, y, y

// func exp64sAVX2(y, x []float64, max, by float64)
// Few numbers are above exp64Max or NaN: Y14 is set where one is.
TEXT ·exp64sAVX2(SB), NOSPLIT, $0-64
	MOVQ y_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	VBROADCASTSD max+48(FP), Y12
	VBROADCASTSD by+56(FP), Y13

loop:
	SUBQ $8, CX
	JLT  rest
	VMOVUPD (SI), Y0
	VMOVUPD 32(SI), Y5
	VSUBPD Y12, Y0, Y0
	VSUBPD Y12, Y5, Y5
	VDIVPD Y13, Y0, Y0
	VDIVPD Y13, Y5, Y5
	EXP(Y0, Y1, Y2, Y3, Y4)
	EXP(Y5, Y6, Y7, Y8, Y9)
	VCMPPD $6, max64<>(SB), Y0, Y10 // not x ≤ max64
	VCMPPD $6, max64<>(SB), Y5, Y11
	VORPD Y10, Y11, Y14
	VPTEST Y14, Y14
	JNE  ends

store:
	VMOVUPD Y1, (DI)
	VMOVUPD Y6, 32(DI)
	ADDQ $64, SI
	ADDQ $64, DI
	JMP  loop

ends:
	ENDS(Y0, Y1, Y4)
	ENDS(Y5, Y6, Y9)
	JMP  store

rest:
	ADDQ $8, CX

four: // at most four at a time
	TESTQ CX, CX
	JLE  end
	MOVQ $4, AX
	CMPQ CX, AX
	CMOVQLT CX, AX
	LEAQ ·laneMask+32(SB), R15
	SHLQ $2, AX
	SUBQ AX, R15
	VPMOVSXDQ (R15), Y15
	VMASKMOVPD (SI), Y15, Y0
	VSUBPD Y12, Y0, Y0
	VDIVPD Y13, Y0, Y0
	EXP(Y0, Y1, Y2, Y3, Y4)
	ENDS(Y0, Y1, Y4)
	VMASKMOVPD Y1, Y15, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $4, CX
	JMP  four

end:
	VZEROUPPER
	RET

CONST(exponent64, $0x7ff0000000000000)
CONST(magnitude64, $0x7fffffffffffffff)
CONST(half64, $0x1p-53)

// ROUNDED adds four numbers, each rounded to a multiple of the unit, to acc. It sets lanes of Y4 for
// numbers halfway between two multiples. It uses t and u.
#define ROUNDED(at, acc, t, u) \
	VMOVUPD at(SI), t                    \
	VADDPD Y12, t, u                     \
	VSUBPD Y12, u, u                     \
	VADDPD u, acc, acc                   \
	VSUBPD u, t, t                       \
	VANDPD Y14, t, t                     \
	VCMPPD $0, Y13, t, t                 \
	VORPD t, Y4, Y4

// func sum64AVX2(x []float64, sum float64) float64
//
// Runs of 64 numbers, none below 0. While a sum s stays in [2ᵏ, 2ᵏ⁺¹), it is a
// multiple of the unit 2ᵏ⁻⁵², and s + x rounded is s plus x rounded to a multiple of the unit, but
// where x is halfway between two, for then it depends on s. Sums of multiples are exact, so any order
// will do. A run that leaves [2ᵏ, 2ᵏ⁺¹), has a number halfway, or a NaN, is added one by one.
//
// X10 is the sum, Y12 2ᵏ, Y13 half a unit, X11 2ᵏ⁺¹. (x + 2ᵏ) − 2ᵏ is x rounded if x is below 2ᵏ, and 2ᵏ
// or more if not.
TEXT ·sum64AVX2(SB), NOSPLIT, $0-40
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	VMOVSD sum+24(FP), X10
	VMOVUPD magnitude64<>(SB), Y14

unit:
	VBROADCASTSD X10, Y12
	VANDPD exponent64<>(SB), Y12, Y12
	VMULPD half64<>(SB), Y12, Y13
	VADDSD X12, X12, X11

run:
	SUBQ $64, CX
	JLT  end
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y4, Y4, Y4
	ROUNDED(0, Y0, Y5, Y6)
	ROUNDED(32, Y1, Y7, Y8)
	ROUNDED(64, Y0, Y5, Y6)
	ROUNDED(96, Y1, Y7, Y8)
	ROUNDED(128, Y0, Y5, Y6)
	ROUNDED(160, Y1, Y7, Y8)
	ROUNDED(192, Y0, Y5, Y6)
	ROUNDED(224, Y1, Y7, Y8)
	ROUNDED(256, Y0, Y5, Y6)
	ROUNDED(288, Y1, Y7, Y8)
	ROUNDED(320, Y0, Y5, Y6)
	ROUNDED(352, Y1, Y7, Y8)
	ROUNDED(384, Y0, Y5, Y6)
	ROUNDED(416, Y1, Y7, Y8)
	ROUNDED(448, Y0, Y5, Y6)
	ROUNDED(480, Y1, Y7, Y8)
	VPTEST Y4, Y4
	JNE  inOrder
	VADDPD Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPD X1, X0, X0
	VUNPCKHPD X0, X0, X1
	VADDSD X1, X0, X0
	VADDSD X0, X10, X0
	VUCOMISD X0, X11
	JLS  inOrder // 2ᵏ⁺¹ ≤ the sum, or NaN
	VMOVAPD X0, X10
	ADDQ $512, SI
	JMP  run

inOrder:
	MOVQ $64, AX

one:
	VADDSD (SI), X10, X10
	ADDQ $8, SI
	SUBQ $1, AX
	JNE  one
	JMP  unit

end:
	VMOVSD X10, ret+32(FP)
	VZEROUPPER
	RET

// func widen64AVX2(y []float64, x []float32) bool
// len(x)/8·8 elements. Y4 is set where one was not finite.
TEXT ·widen64AVX2(SB), NOSPLIT, $0-49
	MOVQ y_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	VPBROADCASTD exponent32<>(SB), Y3
	VPXOR Y4, Y4, Y4

loop:
	SUBQ $8, CX
	JLT  end
	VPAND (SI), Y3, Y2
	VPCMPEQD Y3, Y2, Y2
	VPOR Y2, Y4, Y4
	VCVTPS2PD (SI), Y0
	VCVTPS2PD 16(SI), Y1
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	ADDQ $32, SI
	ADDQ $64, DI
	JMP  loop

end:
	VPTEST Y4, Y4
	SETEQ ret+48(FP)
	VZEROUPPER
	RET

// func allFiniteAVX2(x []float32) bool
// len(x)/8·8 elements. Y4 is set where one was not finite.
TEXT ·allFiniteAVX2(SB), NOSPLIT, $0-25
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	VPBROADCASTD exponent32<>(SB), Y3
	VPXOR Y4, Y4, Y4

loop:
	SUBQ $8, CX
	JLT  end
	VPAND (SI), Y3, Y2
	VPCMPEQD Y3, Y2, Y2
	VPOR Y2, Y4, Y4
	ADDQ $32, SI
	JMP  loop

end:
	VPTEST Y4, Y4
	SETEQ ret+24(FP)
	VZEROUPPER
	RET

// func maximaAVX2(y, x []float64)
// Whole runs only: len(x) is 64·len(y).
TEXT ·maximaAVX2(SB), NOSPLIT, $0-48
	MOVQ y_base+0(FP), DI
	MOVQ y_len+8(FP), CX
	MOVQ x_base+24(FP), SI

loop:
	SUBQ $1, CX
	JLT  end
	VMOVUPD (SI), Y0
	VMOVUPD 32(SI), Y1
	VMOVUPD 64(SI), Y2
	VMOVUPD 96(SI), Y3
	VMAXPD 128(SI), Y0, Y0
	VMAXPD 160(SI), Y1, Y1
	VMAXPD 192(SI), Y2, Y2
	VMAXPD 224(SI), Y3, Y3
	VMAXPD 256(SI), Y0, Y0
	VMAXPD 288(SI), Y1, Y1
	VMAXPD 320(SI), Y2, Y2
	VMAXPD 352(SI), Y3, Y3
	VMAXPD 384(SI), Y0, Y0
	VMAXPD 416(SI), Y1, Y1
	VMAXPD 448(SI), Y2, Y2
	VMAXPD 480(SI), Y3, Y3
	VMAXPD Y1, Y0, Y0
	VMAXPD Y3, Y2, Y2
	VMAXPD Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VMAXPD X1, X0, X0
	VUNPCKHPD X0, X0, X1
	VMAXSD X1, X0, X0
	VMOVSD X0, (DI)
	ADDQ $512, SI
	ADDQ $8, DI
	JMP  loop

end:
	VZEROUPPER
	RET

// chosen is, for each mask of four bits, the places of those that are set.
DATA chosen<>+0(SB)/8, $0x0
DATA chosen<>+8(SB)/8, $0x0
DATA chosen<>+16(SB)/8, $0x0
DATA chosen<>+24(SB)/8, $0x0
DATA chosen<>+32(SB)/8, $0x1
DATA chosen<>+40(SB)/8, $0x0
DATA chosen<>+48(SB)/8, $0x100000000
DATA chosen<>+56(SB)/8, $0x0
DATA chosen<>+64(SB)/8, $0x2
DATA chosen<>+72(SB)/8, $0x0
DATA chosen<>+80(SB)/8, $0x200000000
DATA chosen<>+88(SB)/8, $0x0
DATA chosen<>+96(SB)/8, $0x200000001
DATA chosen<>+104(SB)/8, $0x0
DATA chosen<>+112(SB)/8, $0x100000000
DATA chosen<>+120(SB)/8, $0x2
DATA chosen<>+128(SB)/8, $0x3
DATA chosen<>+136(SB)/8, $0x0
DATA chosen<>+144(SB)/8, $0x300000000
DATA chosen<>+152(SB)/8, $0x0
DATA chosen<>+160(SB)/8, $0x300000001
DATA chosen<>+168(SB)/8, $0x0
DATA chosen<>+176(SB)/8, $0x100000000
DATA chosen<>+184(SB)/8, $0x3
DATA chosen<>+192(SB)/8, $0x300000002
DATA chosen<>+200(SB)/8, $0x0
DATA chosen<>+208(SB)/8, $0x200000000
DATA chosen<>+216(SB)/8, $0x3
DATA chosen<>+224(SB)/8, $0x200000001
DATA chosen<>+232(SB)/8, $0x3
DATA chosen<>+240(SB)/8, $0x100000000
DATA chosen<>+248(SB)/8, $0x300000002
GLOBL chosen<>(SB), RODATA|NOPTR, $256

DATA steps32<>+0(SB)/4, $4
DATA steps32<>+4(SB)/4, $16
GLOBL steps32<>(SB), RODATA|NOPTR, $8

// CHOOSE writes the places that are set in a mask, and then three numbers of no meaning at most: there
// is room, for as many elements lie before DI as have been looked at, at most. X10 is the place of
// the first of the four.
#define CHOOSE(mask) \
	VMOVMSKPD mask, AX                   \
	MOVQ AX, BX                          \
	SHLQ $4, BX                          \
	VPADDD (R13)(BX*1), X10, X4          \
	VMOVDQU X4, (DI)                     \
	POPCNTQ AX, AX                       \
	LEAQ (DI)(AX*4), DI                  \
	VPADDD X14, X10, X10

// BETWEEN sets a mask where least ≤ x < below. It uses t.
#define BETWEEN(at, mask, t) \
	VMOVUPD at, t                        \
	VCMPPD $0x12, t, Y12, mask           \ // least ≤ x
	VCMPPD $0x1e, t, Y13, t              \ // below > x
	VANDPD t, mask, mask

// func withinAVX2(places []int32, x []float64, least, below float64) int
// len(x)/16·16 elements.
TEXT ·withinAVX2(SB), NOSPLIT, $0-72
	MOVQ places_base+0(FP), DI
	MOVQ DI, R9
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	VBROADCASTSD least+48(FP), Y12
	VBROADCASTSD below+56(FP), Y13
	VPXOR X10, X10, X10
	VPBROADCASTD steps32<>+0(SB), X14
	VPBROADCASTD steps32<>+4(SB), X15
	LEAQ chosen<>(SB), R13

loop:
	SUBQ $16, CX
	JLT  end
	BETWEEN((SI), Y0, Y6)
	BETWEEN(32(SI), Y1, Y7)
	BETWEEN(64(SI), Y2, Y8)
	BETWEEN(96(SI), Y3, Y9)
	ADDQ $128, SI
	VORPD Y1, Y0, Y4
	VORPD Y3, Y2, Y5
	VORPD Y5, Y4, Y4
	VPTEST Y4, Y4
	JNE  some
	VPADDD X15, X10, X10
	JMP  loop

some:
	CHOOSE(Y0)
	CHOOSE(Y1)
	CHOOSE(Y2)
	CHOOSE(Y3)
	JMP  loop

end:
	SUBQ R9, DI
	SHRQ $2, DI
	MOVQ DI, ret+64(FP)
	VZEROUPPER
	RET

// func sumAtLeastAVX2(weights, scores []float64, least float64) float64
// Y0 and Y1 are the eight lanes. Elsewhere +0 is added, which changes no sum.
TEXT ·sumAtLeastAVX2(SB), NOSPLIT, $0-64
	MOVQ weights_base+0(FP), DI
	MOVQ scores_base+24(FP), SI
	MOVQ scores_len+32(FP), CX
	VBROADCASTSD least+48(FP), Y12
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1

loop:
	SUBQ $8, CX
	JLT  rest
	VCMPPD $0x12, (SI), Y12, Y2 // least ≤ score
	VCMPPD $0x12, 32(SI), Y12, Y3
	VANDPD (DI), Y2, Y2
	VANDPD 32(DI), Y3, Y3
	VADDPD Y2, Y0, Y0
	VADDPD Y3, Y1, Y1
	ADDQ $64, SI
	ADDQ $64, DI
	JMP  loop

rest:
	ADDQ $8, CX
	JEQ  end
	LEAQ ·laneMask+32(SB), R15
	SHLQ $2, CX
	SUBQ CX, R15
	VPMOVSXDQ (R15), Y14
	VPMOVSXDQ 16(R15), Y15
	VMASKMOVPD (SI), Y14, Y4
	VMASKMOVPD 32(SI), Y15, Y5
	VCMPPD $0x12, Y4, Y12, Y2
	VCMPPD $0x12, Y5, Y12, Y3
	VMASKMOVPD (DI), Y14, Y4
	VMASKMOVPD 32(DI), Y15, Y5
	VANDPD Y4, Y2, Y2
	VANDPD Y5, Y3, Y3
	VADDPD Y2, Y0, Y0
	VADDPD Y3, Y1, Y1

end: // ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7))
	VHADDPD Y1, Y0, Y0 // l0+l1, l4+l5, l2+l3, l6+l7
	VEXTRACTF128 $1, Y0, X1
	VADDPD X1, X0, X0
	VHADDPD X0, X0, X0
	VMOVSD X0, ret+56(FP)
	VZEROUPPER
	RET

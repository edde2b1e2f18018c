//go:build !purego

#include "textflag.h"

// The sum of a softmax in float64: Exp64's operations one for one, on four elements; the numbers are those of logsumexp.go.

#define CONST(name, value) \
	DATA name<>+0(SB)/8, value   \
	DATA name<>+8(SB)/8, value   \
	DATA name<>+16(SB)/8, value  \
	DATA name<>+24(SB)/8, value  \
	GLOBL name<>(SB), RODATA|NOPTR, $32

CONST(min64, $-708.3964185322641)
CONST(log2e64, $1.4426950408889634)
CONST(ln2Hi64, $0.6931471803691238)
CONST(ln2Lo64, $1.9082149292705877e-10)
CONST(round64, $6755399441055744.0)
CONST(one64, $1.0)
CONST(e2, $0.5)
CONST(e3, $0.16666666666666666)
CONST(e4, $0.041666666666666664)
CONST(e5, $0.0083333333333333332)
CONST(e6, $0.0013888888888888889)
CONST(e7, $0.00019841269841269841)
CONST(e8, $2.4801587301587302e-05)
CONST(e9, $2.7557319223985893e-06)
CONST(e10, $2.7557319223985888e-07)
CONST(e11, $2.505210838544172e-08)
CONST(e12, $2.08767569878681e-09)
CONST(e13, $1.6059043836821613e-10)

// EXP sets y to Exp64 of x ≤ 0, not NaN. It uses t, r and u.
#define EXP(x, y, t, r, u) \
	VMOVUPD log2e64<>(SB), t             \
	VFMADD213PD round64<>(SB), x, t      \
	VSUBPD round64<>(SB), t, u           \ // n
	VMOVAPD x, r                         \
	VFNMADD231PD ln2Hi64<>(SB), u, r     \
	VFNMADD231PD ln2Lo64<>(SB), u, r     \
	VMOVUPD e13<>(SB), y                 \
	VFMADD213PD e12<>(SB), r, y          \
	VFMADD213PD e11<>(SB), r, y          \
	VFMADD213PD e10<>(SB), r, y          \
	VFMADD213PD e9<>(SB), r, y           \
	VFMADD213PD e8<>(SB), r, y           \
	VFMADD213PD e7<>(SB), r, y           \
	VFMADD213PD e6<>(SB), r, y           \
	VFMADD213PD e5<>(SB), r, y           \
	VFMADD213PD e4<>(SB), r, y           \
	VFMADD213PD e3<>(SB), r, y           \
	VFMADD213PD e2<>(SB), r, y           \
	VMULPD r, r, u                       \
	VFMADD213PD r, u, y                  \
	VADDPD one64<>(SB), y, y             \
	VPSLLQ $52, t, t                     \
	VPADDQ t, y, y                       \
	VCMPPD $1, min64<>(SB), x, u         \
	VANDNPD y, u, y

// func sumExpAVX2(x []float32, max float64) float64
// Y10 and Y11 are the eight lanes of the sum, Y12 is max.
TEXT ·sumExpAVX2(SB), NOSPLIT, $0-40
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	VBROADCASTSD max+24(FP), Y12
	VXORPD Y10, Y10, Y10
	VXORPD Y11, Y11, Y11

loop:
	SUBQ $8, CX
	JLT  rest
	VCVTPS2PD (SI), Y0
	VCVTPS2PD 16(SI), Y5
	VSUBPD Y12, Y0, Y0
	VSUBPD Y12, Y5, Y5
	EXP(Y0, Y1, Y2, Y3, Y4)
	EXP(Y5, Y6, Y7, Y8, Y9)
	VADDPD Y1, Y10, Y10
	VADDPD Y6, Y11, Y11
	ADDQ $32, SI
	JMP  loop

rest:
	ADDQ $8, CX
	JEQ  end
	LEAQ ·laneMask+32(SB), R15
	SHLQ $2, CX
	SUBQ CX, R15
	VMOVUPS (R15), Y15
	VMASKMOVPS (SI), Y15, Y0
	VEXTRACTF128 $1, Y0, X5
	VCVTPS2PD X0, Y0
	VCVTPS2PD X5, Y5
	VSUBPD Y12, Y0, Y0
	VSUBPD Y12, Y5, Y5
	EXP(Y0, Y1, Y2, Y3, Y4)
	EXP(Y5, Y6, Y7, Y8, Y9)
	VADDPD Y1, Y10, Y1
	VADDPD Y6, Y11, Y6
	VPMOVSXDQ (R15), Y2
	VPMOVSXDQ 16(R15), Y3
	VBLENDVPD Y2, Y1, Y10, Y10
	VBLENDVPD Y3, Y6, Y11, Y11

end: // ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7))
	VHADDPD Y11, Y10, Y0 // l0+l1, l4+l5, l2+l3, l6+l7
	VEXTRACTF128 $1, Y0, X1
	VADDPD X1, X0, X0
	VHADDPD X0, X0, X0
	VMOVSD X0, ret+32(FP)
	VZEROUPPER
	RET

// func maxAVX2(x []float32) float32
// Y3 is the greatest of each lane so far; Y4 is set where there was a NaN.
TEXT ·maxAVX2(SB), NOSPLIT, $0-28
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	MOVL $0xff800000, AX
	VMOVD AX, X3
	VBROADCASTSS X3, Y3
	VMOVAPS Y3, Y2
	VXORPS Y4, Y4, Y4

loop:
	SUBQ $8, CX
	JLT  rest
	VMOVUPS (SI), Y0
	VCMPPS $3, Y0, Y0, Y1
	VORPS Y1, Y4, Y4
	VMAXPS Y3, Y0, Y3
	ADDQ $32, SI
	JMP  loop

rest:
	ADDQ $8, CX
	JEQ  end
	LEAQ ·laneMask+32(SB), R15
	SHLQ $2, CX
	SUBQ CX, R15
	VMOVUPS (R15), Y15
	VMASKMOVPS (SI), Y15, Y0
	VBLENDVPS Y15, Y0, Y2, Y0
	VCMPPS $3, Y0, Y0, Y1
	VORPS Y1, Y4, Y4
	VMAXPS Y3, Y0, Y3

end:
	VEXTRACTF128 $1, Y3, X0
	VMAXPS X3, X0, X0
	VMOVHLPS X0, X0, X1
	VMAXPS X0, X1, X0
	VMOVSHDUP X0, X1
	VMAXSS X0, X1, X0
	VMOVMSKPS Y4, AX
	TESTL AX, AX
	JEQ  ordered
	MOVL $0x7fc00000, AX
	VMOVD AX, X0

ordered:
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET

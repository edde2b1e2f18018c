//go:build !purego

#include "textflag.h"
#include "exp64_amd64.h"

// The sum of a softmax in float64.

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

//go:build !purego

#include "textflag.h"
#include "exp64_amd64.h"

// Exponentials in float64, eight at a time: of a row of scores, and the sum of a softmax.

CONST(max64, $709.782712893384)
CONST(infinity64, $0x7ff0000000000000)

// NUMBERS8 sets Z16–Z31.
#define NUMBERS8 \
	VBROADCASTSD log2e64<>(SB), Z16         \
	VBROADCASTSD round64<>(SB), Z17         \
	VBROADCASTSD ln2Hi64<>(SB), Z18         \
	VBROADCASTSD ln2Lo64<>(SB), Z19         \
	VBROADCASTSD e13<>(SB), Z20             \
	VBROADCASTSD e12<>(SB), Z21             \
	VBROADCASTSD e11<>(SB), Z22             \
	VBROADCASTSD e10<>(SB), Z23             \
	VBROADCASTSD e9<>(SB), Z24              \
	VBROADCASTSD e8<>(SB), Z25              \
	VBROADCASTSD e7<>(SB), Z26              \
	VBROADCASTSD e6<>(SB), Z27              \
	VBROADCASTSD e5<>(SB), Z28              \
	VBROADCASTSD e4<>(SB), Z29              \
	VBROADCASTSD e3<>(SB), Z30              \
	VBROADCASTSD e2<>(SB), Z31

// FEW8 sets K4 to the first CX lanes, at most all eight. It uses AX and BX.
#define FEW8 \
	MOVQ $8, AX                          \
	CMPQ CX, AX                          \
	CMOVQLT CX, AX                       \
	MOVQ $255, BX                        \
	SHLXQ AX, BX, BX                     \
	NOTQ BX                              \
	ANDQ $255, BX                        \
	KMOVW BX, K4

// EXP8 is EXP on eight elements, with its numbers in Z16–Z31. It uses K1. Of NaN it gives anything.
#define EXP8(x, y, t, r, u) \
	VMOVAPD Z16, t                       \
	VFMADD213PD Z17, x, t                \
	VSUBPD Z17, t, u                     \ // n
	VMOVAPD x, r                         \
	VFNMADD231PD Z18, u, r               \
	VFNMADD231PD Z19, u, r               \
	VMOVAPD Z20, y                       \
	VFMADD213PD Z21, r, y                \
	VFMADD213PD Z22, r, y                \
	VFMADD213PD Z23, r, y                \
	VFMADD213PD Z24, r, y                \
	VFMADD213PD Z25, r, y                \
	VFMADD213PD Z26, r, y                \
	VFMADD213PD Z27, r, y                \
	VFMADD213PD Z28, r, y                \
	VFMADD213PD Z29, r, y                \
	VFMADD213PD Z30, r, y                \
	VFMADD213PD Z31, r, y                \
	VMULPD r, r, u                       \
	VFMADD213PD r, u, y                  \
	VADDPD.BCST one64<>(SB), y, y        \
	VPSLLQ $52, t, t                     \
	VPADDQ t, y, y                       \
	VCMPPD.BCST $5, min64<>(SB), x, K1   \ // not x < min64
	VMOVAPD.Z y, K1, y

// ENDS8 makes y right for x above exp64Max and for NaN. It uses K1.
#define ENDS8(x, y) \
	VCMPPD.BCST $0x1e, max64<>(SB), x, K1 \ // x > max64
	VBROADCASTSD infinity64<>(SB), K1, y \
	VCMPPD $3, x, x, K1                  \
	VMOVAPD x, K1, y

// func exp64sAVX512(y, x []float64, max, by float64)
// Few numbers are above exp64Max or NaN.
TEXT ·exp64sAVX512(SB), NOSPLIT, $0-64
	MOVQ y_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	VBROADCASTSD max+48(FP), Z12
	VBROADCASTSD by+56(FP), Z13
	NUMBERS8

loop:
	SUBQ $16, CX
	JLT  rest
	VMOVUPD (SI), Z0
	VMOVUPD 64(SI), Z5
	VSUBPD Z12, Z0, Z0
	VSUBPD Z12, Z5, Z5
	VDIVPD Z13, Z0, Z0
	VDIVPD Z13, Z5, Z5
	EXP8(Z0, Z1, Z2, Z3, Z4)
	EXP8(Z5, Z6, Z7, Z8, Z9)
	VCMPPD.BCST $6, max64<>(SB), Z0, K2 // not x ≤ max64
	VCMPPD.BCST $6, max64<>(SB), Z5, K3
	KORTESTB K3, K2
	JNE  ends

store:
	VMOVUPD Z1, (DI)
	VMOVUPD Z6, 64(DI)
	ADDQ $128, SI
	ADDQ $128, DI
	JMP  loop

ends:
	ENDS8(Z0, Z1)
	ENDS8(Z5, Z6)
	JMP  store

rest:
	ADDQ $16, CX

eight: // at most eight at a time
	TESTQ CX, CX
	JLE  end
	FEW8
	VMOVUPD.Z (SI), K4, Z0
	VSUBPD Z12, Z0, Z0
	VDIVPD Z13, Z0, Z0
	EXP8(Z0, Z1, Z2, Z3, Z4)
	ENDS8(Z0, Z1)
	VMOVUPD Z1, K4, (DI)
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $8, CX
	JMP  eight

end:
	VZEROUPPER
	RET

// func sumExpAVX512(x []float32, max float64) float64
// Z10 is the eight lanes.
TEXT ·sumExpAVX512(SB), NOSPLIT, $0-40
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	VBROADCASTSD max+24(FP), Z12
	NUMBERS8
	VPXORQ Z10, Z10, Z10

loop:
	SUBQ $16, CX
	JLT  rest
	VCVTPS2PD (SI), Z0
	VCVTPS2PD 32(SI), Z5
	VSUBPD Z12, Z0, Z0
	VSUBPD Z12, Z5, Z5
	EXP8(Z0, Z1, Z2, Z3, Z4)
	EXP8(Z5, Z6, Z7, Z8, Z9)
	VADDPD Z1, Z10, Z10
	VADDPD Z6, Z10, Z10
	ADDQ $64, SI
	JMP  loop

rest:
	ADDQ $16, CX

eight: // at most eight at a time
	TESTQ CX, CX
	JLE  end
	FEW8
	VCVTPS2PD.Z (SI), K4, Z0
	VSUBPD Z12, Z0, Z0
	EXP8(Z0, Z1, Z2, Z3, Z4)
	VADDPD Z1, Z10, K4, Z10
	ADDQ $32, SI
	SUBQ $8, CX
	JMP  eight

end: // ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7))
	VEXTRACTF64X4 $1, Z10, Y11
	VHADDPD Y11, Y10, Y0 // l0+l1, l4+l5, l2+l3, l6+l7
	VEXTRACTF128 $1, Y0, X1
	VADDPD X1, X0, X0
	VHADDPD X0, X0, X0
	VMOVSD X0, ret+32(FP)
	VZEROUPPER
	RET

//go:build !purego

#include "textflag.h"
#include "amx_amd64.h"

// What the machine can do at most, with 512-bit registers.

#define S0 Z0
#define S1 Z1
#define S2 Z2
#define S3 Z3
#define S4 Z4
#define S5 Z5
#define S6 Z6
#define S7 Z7
#define S8 Z8
#define S9 Z9
#define S10 Z10
#define S11 Z11
#define ONES Z14
#define ONES2 Z15

#include "limits_amd64.h"

#define HALVES \
	VEXTRACTF64X4 $1, Z0, Y1  \
	VADDPS Y1, Y0, Y0

// func fmaPeakAVX512(iterations int) float32
TEXT ·fmaPeakAVX512(SB), NOSPLIT, $0-12
	PEAK(0x3f800000, FMA, NOTHING)
	HALVES
	LANES

// func productPeakAVX512(iterations int) float32
TEXT ·productPeakAVX512(SB), NOSPLIT, $0-12
	PEAK(0x00010001, DOT, CONVERT)
	HALVES
	LANES

#define FILL(at)  VMOVUPS Z14, at(BX)
#define GATHER(at) \
	VCVTDQ2PS at(DI), Z1  \
	VADDPS    Z1, Z0, Z0

#define ROWS16(OP, at) \
	OP((at+64*0))   \
	OP((at+64*1))   \
	OP((at+64*2))   \
	OP((at+64*3))   \
	OP((at+64*4))   \
	OP((at+64*5))   \
	OP((at+64*6))   \
	OP((at+64*7))   \
	OP((at+64*8))   \
	OP((at+64*9))   \
	OP((at+64*10))  \
	OP((at+64*11))  \
	OP((at+64*12))  \
	OP((at+64*13))  \
	OP((at+64*14))  \
	OP((at+64*15))

// Rows and weights of ones: two products of bytes are one of int16, whose high byte is zero.
//
// func productPeakAMX(iterations int) float32
TEXT ·productPeakAMX(SB), 0, $4096-12
	LEAQ         ·tileShape(SB), AX
	TILECONFIG
	LEAQ         room-4096(SP), BX
	MOVQ         BX, DI
	MOVL         $0x00010001, AX
	VPBROADCASTD AX, Z14
	ROWS16(FILL, 0)
	VPSLLW       $8, Z14, Z14
	ROWS16(FILL, 1024)
	MOVQ         BX, AX
	MOVQ         $64, CX
	MOVQ         CX, SI
	LOADROWS
	LOADLOW
	LOADHIGH
	ZERO0
	ZERO1
	ZERO2
	ZERO3
	MOVQ         iterations+0(FP), DX
	JMP          last

again:
	HIGH0
	LOW1
	HIGH2
	LOW3

last:
	SUBQ   $1, DX
	JGE    again
	STORE1
	STORE3
	TILERELEASE
	VPXORD Z0, Z0, Z0
	ROWS16(GATHER, 1024)
	ROWS16(GATHER, 3072)
	HALVES
	LANES

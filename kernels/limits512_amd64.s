//go:build !purego

#include "textflag.h"

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

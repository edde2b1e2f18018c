//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// What the machine can do at most.

#define SIX(a) \
	FMLA(30, 31, (a)+0)         \
	FMLA(30, 31, (a)+1)         \
	FMLA(30, 31, (a)+2)         \
	FMLA(30, 31, (a)+3)         \
	FMLA(30, 31, (a)+4)         \
	FMLA(30, 31, (a)+5)

#define TWENTYFOUR \
	SIX(0)                      \
	SIX(6)                      \
	SIX(12)                     \
	SIX(18)

#define ZERO6(a) \
	ZERO((a)+0)                 \
	ZERO((a)+1)                 \
	ZERO((a)+2)                 \
	ZERO((a)+3)                 \
	ZERO((a)+4)                 \
	ZERO((a)+5)

// SUM6 adds six registers to the first of them.
#define SUM6(a) \
	FADD((a)+1, (a)+0, (a)+0)   \
	FADD((a)+2, (a)+0, (a)+0)   \
	FADD((a)+3, (a)+0, (a)+0)   \
	FADD((a)+4, (a)+0, (a)+0)   \
	FADD((a)+5, (a)+0, (a)+0)

// func fmaPeakNEON(iterations int) float32
TEXT ·fmaPeakNEON(SB), NOSPLIT, $0-12
	MOVD iterations+0(FP), R6
	ZERO6(0)
	ZERO6(6)
	ZERO6(12)
	ZERO6(18)
	FMOVS $1.0, F30 // 1: each multiply-add counts itself
	VDUP V30.S[0], V30.S4
	MOV(30, 31)

loop:
	SUBS $1, R6
	BLT  end
	TWENTYFOUR
	TWENTYFOUR
	B    loop

end:
	SUM6(0)
	SUM6(6)
	SUM6(12)
	SUM6(18)
	FADD(6, 0, 0)
	FADD(12, 0, 0)
	FADD(18, 0, 0)
	FADDP(0, 0, 0)
	FADDP(0, 0, 0)
	FMOVS F0, ret+8(FP)
	RET

// func readMemoryNEON(b []byte) uint64
// Eight sums, 256 bytes at a time, fetched a kilobyte ahead.
TEXT ·readMemoryNEON(SB), NOSPLIT, $0-32
	MOVD b_base+0(FP), R5
	MOVD b_len+8(FP), R6
	ZERO6(0)
	ZERO(6)
	ZERO(7)

loop:
	SUBS $256, R6
	BLT  end
	PRFM 1024(R5), PLDL1KEEP
	PRFM 1088(R5), PLDL1KEEP
	PRFM 1152(R5), PLDL1KEEP
	PRFM 1216(R5), PLDL1KEEP
	FLDPQ 0(R5), (F16, F17)
	FLDPQ 32(R5), (F18, F19)
	FLDPQ 64(R5), (F20, F21)
	FLDPQ 96(R5), (F22, F23)
	DIADD(16, 0, 0)
	DIADD(17, 1, 1)
	DIADD(18, 2, 2)
	DIADD(19, 3, 3)
	DIADD(20, 4, 4)
	DIADD(21, 5, 5)
	DIADD(22, 6, 6)
	DIADD(23, 7, 7)
	FLDPQ 128(R5), (F16, F17)
	FLDPQ 160(R5), (F18, F19)
	FLDPQ 192(R5), (F20, F21)
	FLDPQ 224(R5), (F22, F23)
	DIADD(16, 0, 0)
	DIADD(17, 1, 1)
	DIADD(18, 2, 2)
	DIADD(19, 3, 3)
	DIADD(20, 4, 4)
	DIADD(21, 5, 5)
	DIADD(22, 6, 6)
	DIADD(23, 7, 7)
	ADD  $256, R5
	B    loop

end:
	DIADD(1, 0, 0)
	DIADD(3, 2, 2)
	DIADD(5, 4, 4)
	DIADD(7, 6, 6)
	DIADD(2, 0, 0)
	DIADD(6, 4, 4)
	DIADD(4, 0, 0)
	VMOV V0.D[0], R0
	VMOV V0.D[1], R1
	ADD  R1, R0
	MOVD R0, ret+24(FP)
	RET

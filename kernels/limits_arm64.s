//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// What the machine can do at most.

#define SIX(OP, a) \
	OP((a)+0)                   \
	OP((a)+1)                   \
	OP((a)+2)                   \
	OP((a)+3)                   \
	OP((a)+4)                   \
	OP((a)+5)

// Registers 0 and 1 hold ones, 2 to 25 are sums.
#define TWENTYFOUR(OP) \
	SIX(OP, 2)                  \
	SIX(OP, 8)                  \
	SIX(OP, 14)                 \
	SIX(OP, 20)

#define PRODUCTS(a) SMLAL(0, 0, 1, a)
#define FMAS(a)     FMLA(0, 1, a)
#define CONVERT(a)  SCVTF(a, a)
#define ADD2(a)     FADD(a, 2, 2)

// SUM adds all sums into the first number of register 2. Register 26 is 0.
#define SUM \
	ZERO(26)                    \
	SIX(ADD2, 3)                \
	SIX(ADD2, 9)                \
	SIX(ADD2, 15)               \
	SIX(ADD2, 21)               \
	FADDP(2, 2, 2)              \
	FADDP(2, 2, 2)

// func fmaPeakNEON(iterations int) float32
TEXT ·fmaPeakNEON(SB), NOSPLIT, $0-12
	MOVD iterations+0(FP), R6
	TWENTYFOUR(ZERO)
	FMOVS $1.0, F0 // each multiply-add counts itself
	VDUP V0.S[0], V0.S4
	MOV(0, 1)

loop:
	SUBS $1, R6
	BLT  end
	TWENTYFOUR(FMAS)
	TWENTYFOUR(FMAS)
	B    loop

end:
	SUM
	FMOVS F2, ret+8(FP)
	RET

// func productPeakNEON(iterations int) float32
TEXT ·productPeakNEON(SB), NOSPLIT, $0-12
	MOVD iterations+0(FP), R6
	TWENTYFOUR(ZERO)
	MOVD $1, R5
	VDUP R5, V0.H8
	MOV(0, 1)

loop:
	SUBS $1, R6
	BLT  end
	TWENTYFOUR(PRODUCTS)
	TWENTYFOUR(PRODUCTS)
	B    loop

end:
	TWENTYFOUR(CONVERT)
	SUM
	FMOVS F2, ret+8(FP)
	RET

// func readMemoryNEON(b []byte) uint64
// Eight sums, 256 bytes at a time, fetched a kilobyte ahead.
TEXT ·readMemoryNEON(SB), NOSPLIT, $0-32
	MOVD b_base+0(FP), R5
	MOVD b_len+8(FP), R6
	SIX(ZERO, 0)
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

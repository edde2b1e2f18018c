//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Keys and values in 16 bits: rounding.

// func round16NEON(dst []uint16, src []float32)
TEXT ·round16NEON(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R2
	MOVD src_base+24(FP), R1
	MOVD $0x7c00, R3 // the exponent of what is not finite
	VDUP R3, V4.H8
	MOVD $0x0200, R3 // what makes a NaN quiet
	VDUP R3, V5.H8

loop:
	SUBS $8, R2
	BLT  end
	FLDPQ.P 32(R1), (F0, F1)
	FCVTN(0, 0)
	FCVTN2(1, 0)
	VAND V4.B16, V0.B16, V2.B16
	VCMEQ V4.H8, V2.H8, V2.H8
	VAND V5.B16, V2.B16, V2.B16
	VORR V2.B16, V0.B16, V0.B16
	FMOVQ.P F0, 16(R0)
	B    loop

end:
	RET

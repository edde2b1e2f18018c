//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "widen_arm64.h"

// Copies and conversions.

// PACK goes through src row by row, so that it is read in runs; each row's 16 columns go to every panel. It fetches eight rows
// ahead. R0 dst, R1 src, R2 bytes of a row of src, R3 of eight; R4 rows left, R5 panels, R6 bytes of a panel; R7, R8, R9
// dst, src, panels left within a row.
#define PACK(W, shift) \
	MOVD dst_base+0(FP), R0   \
	MOVD src_base+24(FP), R1  \
	MOVD ld+48(FP), R2        \
	LSL  $shift, R2           \
	LSL  $3, R2, R3           \
	MOVD k+56(FP), R4         \
	LSL  $6, R4, R6           \
	MOVD panels+64(FP), R5    \
	CBZ  R5, end              \
row:                          \
	SUBS $1, R4               \
	BLT  end                  \
	MOVD R0, R7               \
	MOVD R1, R8               \
	MOVD R5, R9               \
panel:                        \
	ADD  R3, R8, R10          \
	PRFM (R10), PLDL1KEEP     \
	W(R8, F0, F1, F2, F3, 0, 1, 2, 3) \
	FSTPQ (F0, F1), (R7)      \
	FSTPQ (F2, F3), 32(R7)    \
	ADD  R6, R7               \
	SUBS $1, R9               \
	BNE  panel                \
	ADD  $64, R0              \
	ADD  R2, R1               \
	B    row                  \
end:                          \
	RET

// func packNEON(dst, src []float32, ld, k, panels int)
TEXT ·packNEON(SB), NOSPLIT, $0-72
	PACK(F32x16, 2)

// func packF16NEON(dst []float32, src []uint16, ld, k, panels int)
TEXT ·packF16NEON(SB), NOSPLIT, $0-72
	PACK(F16x16, 1)

// func packBF16NEON(dst []float32, src []uint16, ld, k, panels int)
TEXT ·packBF16NEON(SB), NOSPLIT, $0-72
	PACK(BF16x16, 1)

#define CONVERT(W8, W1) \
	MOVD dst_base+0(FP), R0   \
	MOVD dst_len+8(FP), R2    \
	MOVD src_base+24(FP), R1  \
loop:                         \
	SUBS $8, R2               \
	BLT  rest                 \
	W8(R1, F0, F1, 0, 1)      \
	FSTPQ.P (F0, F1), 32(R0)  \
	B    loop                 \
rest:                         \
	ADDS $8, R2               \
	BEQ  end                  \
one:                          \
	W1(R1, F0, 0)             \
	FMOVS.P F0, 4(R0)         \
	SUBS $1, R2               \
	BNE  one                  \
end:                          \
	RET

// func convertF16NEON(dst []float32, src []uint16)
TEXT ·convertF16NEON(SB), NOSPLIT, $0-48
	CONVERT(F16x8, F16x1)

// func convertBF16NEON(dst []float32, src []uint16)
TEXT ·convertBF16NEON(SB), NOSPLIT, $0-48
	CONVERT(BF16x8, BF16x1)

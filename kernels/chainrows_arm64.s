//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "widen_arm64.h"

// Several rows of x, few enough that memory is still the limit: four rows of w by 16 columns are in V16–V31 while all rows of y pass.

#define FETCH(row) \
	ADD R16, row, R17           \
	PRFM (R17), PLDL2KEEP

// GROUP continues the sums of four columns: v is the first row of w there.
#define GROUP(v, acc) \
	FMLAE(0, 4, v, acc)         \
	FMLAE(1, 4, (v)+4, acc)     \
	FMLAE(2, 4, (v)+8, acc)     \
	FMLAE(3, 4, (v)+12, acc)

// CHAINROWS: R0 y, R14 its row; R1, R2 the bytes of a row of y and w, R16 of eight; R3 x, R15 within it; R4 w, R5–R8 four rows of
// it; R9 rows, R19 left; R10 groups left, R11 columns left, R13 y of these columns.
#define CHAINROWS(W, shift) \
	MOVD y_base+0(FP), R0       \
	MOVD ldy+24(FP), R1         \
	LSL  $2, R1                 \
	MOVD x_base+32(FP), R3      \
	MOVD w_base+56(FP), R4      \
	MOVD ldw+80(FP), R2         \
	LSL  $shift, R2             \
	LSL  $3, R2, R16            \
	MOVD rows+88(FP), R9        \
	MOVD groups+96(FP), R10     \
group:                          \
	SUBS $1, R10                \
	BLT  end                    \
	MOVD R4, R5                 \
	ADD  R2, R5, R6             \
	ADD  R2, R6, R7             \
	ADD  R2, R7, R8             \
	ADD  R2, R8, R4             \
	MOVD R0, R13                \
	MOVD cols+104(FP), R11      \
cols:                           \
	SUBS $16, R11               \
	BLT  next                   \
	FETCH(R5)                   \
	FETCH(R6)                   \
	FETCH(R7)                   \
	FETCH(R8)                   \
	W(R5, F16, F17, F18, F19, 16, 17, 18, 19) \
	W(R6, F20, F21, F22, F23, 20, 21, 22, 23) \
	W(R7, F24, F25, F26, F27, 24, 25, 26, 27) \
	W(R8, F28, F29, F30, F31, 28, 29, 30, 31) \
	MOVD R13, R14               \
	MOVD R3, R15                \
	MOVD R9, R19                \
row:                            \
	FMOVQ.P 16(R15), F4         \
	FLDPQ (R14), (F0, F1)       \
	FLDPQ 32(R14), (F2, F3)     \
	GROUP(16, 0)                \
	GROUP(17, 1)                \
	GROUP(18, 2)                \
	GROUP(19, 3)                \
	FSTPQ (F0, F1), (R14)       \
	FSTPQ (F2, F3), 32(R14)     \
	ADD  R1, R14                \
	SUBS $1, R19                \
	BNE  row                    \
	ADD  $64, R13               \
	B    cols                   \
next:                           \
	ADD  R9<<4, R3              \
	B    group                  \
end:                            \
	RET

// func chainRowsNEON(y []float32, ldy int, x, w []float32, ldw, rows, groups, cols int)
TEXT ·chainRowsNEON(SB), NOSPLIT, $0-112
	CHAINROWS(F32x16, 2)

// func chainRowsF16NEON(y []float32, ldy int, x []float32, w []uint16, ldw, rows, groups, cols int)
TEXT ·chainRowsF16NEON(SB), NOSPLIT, $0-112
	CHAINROWS(F16x16, 1)

// func chainRowsBF16NEON(y []float32, ldy int, x []float32, w []uint16, ldw, rows, groups, cols int)
TEXT ·chainRowsBF16NEON(SB), NOSPLIT, $0-112
	CHAINROWS(BF16x16, 1)

// func packGroupsNEON(dst, x []float32, ldx, rows, groups int)
TEXT ·packGroupsNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD ldx+48(FP), R2
	LSL  $2, R2
	MOVD rows+56(FP), R3
	MOVD groups+64(FP), R4

group:
	SUBS $1, R4
	BLT  end
	MOVD R1, R5
	MOVD R3, R6

row:
	FMOVQ (R5), F0
	FMOVQ.P F0, 16(R0)
	ADD  R2, R5
	SUBS $1, R6
	BNE  row
	ADD  $16, R1
	B    group

end:
	RET

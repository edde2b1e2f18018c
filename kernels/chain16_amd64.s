//go:build !purego

#include "textflag.h"
#include "widen_amd64.h"

// One row of x and weights in 16 bits: eight rows of w at a time pass over y, 32 columns in Y0–Y3.
//
// Registers: DI y, R12 within it; SI x, CX elements of x left; BX the row of w, AX within it; DX
// columns, R13 left of them; R8, R9, R10, R11 = 1, 3, 5, 7 rows of w in bytes. Y8–Y15 hold x.

#define COLUMNS8(WIDEN, at, x) \
	WIDEN(at, Y4)              \
	VFMADD231PS Y4, x, Y0

#define COLUMNS32(WIDEN, at, x) \
	WIDEN(at, Y4)              \
	VFMADD231PS Y4, x, Y0      \
	WIDEN(16 at, Y5)           \
	VFMADD231PS Y5, x, Y1      \
	WIDEN(32 at, Y6)           \
	VFMADD231PS Y6, x, Y2      \
	WIDEN(48 at, Y7)           \
	VFMADD231PS Y7, x, Y3

#define EIGHT(OP, WIDEN) \
	OP(WIDEN, (AX), Y8)              \
	OP(WIDEN, (AX)(R8*1), Y9)        \
	OP(WIDEN, (AX)(R8*2), Y10)       \
	OP(WIDEN, (AX)(R9*1), Y11)       \
	OP(WIDEN, (AX)(R8*4), Y12)       \
	OP(WIDEN, (AX)(R10*1), Y13)      \
	OP(WIDEN, (AX)(R9*2), Y14)       \
	OP(WIDEN, (AX)(R11*1), Y15)

// FETCH8 brings the next eight rows at these columns into the second-level cache.
#define FETCH8 \
	LEAQ (AX)(R8*8), R15      \
	PREFETCHT1 (R15)          \
	PREFETCHT1 (R15)(R8*1)    \
	PREFETCHT1 (R15)(R8*2)    \
	PREFETCHT1 (R15)(R9*1)    \
	PREFETCHT1 (R15)(R8*4)    \
	PREFETCHT1 (R15)(R10*1)   \
	PREFETCHT1 (R15)(R9*2)    \
	PREFETCHT1 (R15)(R11*1)

#define CHAIN16(WIDEN) \
	MOVQ y_base+0(FP), DI       \
	MOVQ y_len+8(FP), DX        \
	MOVQ x_base+24(FP), SI      \
	MOVQ x_len+32(FP), CX       \
	MOVQ w_base+48(FP), BX      \
	MOVQ ldw+72(FP), R8         \
	SHLQ $1, R8                 \
	LEAQ (R8)(R8*2), R9         \
	LEAQ (R8)(R8*4), R10        \
	LEAQ (R9)(R8*4), R11        \
rows:                           \
	SUBQ $8, CX                 \
	JLT  end                    \
	VBROADCASTSS 0(SI), Y8      \
	VBROADCASTSS 4(SI), Y9      \
	VBROADCASTSS 8(SI), Y10     \
	VBROADCASTSS 12(SI), Y11    \
	VBROADCASTSS 16(SI), Y12    \
	VBROADCASTSS 20(SI), Y13    \
	VBROADCASTSS 24(SI), Y14    \
	VBROADCASTSS 28(SI), Y15    \
	MOVQ DI, R12                \
	MOVQ BX, AX                 \
	MOVQ DX, R13                \
cols32:                         \
	SUBQ $32, R13               \
	JLT  rest                   \
	FETCH8                      \
	VMOVUPS 0(R12), Y0          \
	VMOVUPS 32(R12), Y1         \
	VMOVUPS 64(R12), Y2         \
	VMOVUPS 96(R12), Y3         \
	EIGHT(COLUMNS32, WIDEN)     \
	VMOVUPS Y0, 0(R12)          \
	VMOVUPS Y1, 32(R12)         \
	VMOVUPS Y2, 64(R12)         \
	VMOVUPS Y3, 96(R12)         \
	ADDQ $128, R12              \
	ADDQ $64, AX                \
	JMP  cols32                 \
rest:                           \
	ADDQ $32, R13               \
cols8:                          \
	SUBQ $8, R13                \
	JLT  next                   \
	VMOVUPS (R12), Y0           \
	EIGHT(COLUMNS8, WIDEN)      \
	VMOVUPS Y0, (R12)           \
	ADDQ $32, R12               \
	ADDQ $16, AX                \
	JMP  cols8                  \
next:                           \
	LEAQ (BX)(R8*8), BX         \
	ADDQ $32, SI                \
	JMP  rows                   \
end:                            \
	VZEROUPPER                  \
	RET

// func chain16F16AVX2(y, x []float32, w []uint16, ldw int)
TEXT ·chain16F16AVX2(SB), NOSPLIT, $0-80
	CHAIN16(F16)

// func chain16BF16AVX2(y, x []float32, w []uint16, ldw int)
TEXT ·chain16BF16AVX2(SB), NOSPLIT, $0-80
	CHAIN16(BF16)

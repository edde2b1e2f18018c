//go:build !purego

#include "textflag.h"
#include "widen_amd64.h"

// Copies and conversions.

// PACK goes through src row by row, so that it is read in runs; each row's 16 columns go to every panel. It fetches eight rows ahead.
// size is the bytes of eight weights. DI dst, SI src, R8 bytes of a row of src, DX rows left, R9 bytes of a panel; AX, BX, R10 within a row.
#define PACK(WIDEN, size, shift) \
	MOVQ dst_base+0(FP), DI   \
	MOVQ src_base+24(FP), SI  \
	MOVQ ld+48(FP), R8        \
	SHLQ $shift, R8           \
	MOVQ k+56(FP), DX         \
	MOVQ DX, R9               \
	SHLQ $6, R9               \
	MOVQ panels+64(FP), CX    \
	TESTQ CX, CX              \
	JEQ  end                  \
row:                          \
	SUBQ $1, DX               \
	JLT  end                  \
	MOVQ DI, AX               \
	MOVQ SI, BX               \
	MOVQ CX, R10              \
panel:                        \
	PREFETCHT0 (BX)(R8*8)     \
	WIDEN(0(BX), Y0)          \
	WIDEN(size(BX), Y1)       \
	VMOVUPS Y0, (AX)          \
	VMOVUPS Y1, 32(AX)        \
	ADDQ $(2*size), BX        \
	ADDQ R9, AX               \
	DECQ R10                  \
	JNE  panel                \
	ADDQ $64, DI              \
	ADDQ R8, SI               \
	JMP  row                  \
end:                          \
	VZEROUPPER                \
	RET

// func packAVX2(dst, src []float32, ld, k, panels int)
TEXT ·packAVX2(SB), NOSPLIT, $0-72
	PACK(F32, 32, 2)

// func packF16AVX2(dst []float32, src []uint16, ld, k, panels int)
TEXT ·packF16AVX2(SB), NOSPLIT, $0-72
	PACK(F16, 16, 1)

// func packBF16AVX2(dst []float32, src []uint16, ld, k, panels int)
TEXT ·packBF16AVX2(SB), NOSPLIT, $0-72
	PACK(BF16, 16, 1)

#define CONVERT(WIDEN) \
	MOVQ dst_base+0(FP), DI   \
	MOVQ dst_len+8(FP), CX    \
	MOVQ src_base+24(FP), SI  \
loop:                         \
	SUBQ $8, CX               \
	JLT  end                  \
	WIDEN((SI), Y0)           \
	VMOVUPS Y0, (DI)          \
	ADDQ $16, SI              \
	ADDQ $32, DI              \
	JMP  loop                 \
end:                          \
	VZEROUPPER                \
	RET

// func convertF16AVX2(dst []float32, src []uint16)
TEXT ·convertF16AVX2(SB), NOSPLIT, $0-48
	CONVERT(F16)

// func convertBF16AVX2(dst []float32, src []uint16)
TEXT ·convertBF16AVX2(SB), NOSPLIT, $0-48
	CONVERT(BF16)

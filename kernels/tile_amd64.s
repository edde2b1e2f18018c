//go:build !purego

#include "textflag.h"

// The register tile of matrix products: 12 accumulators Y0–Y11, a row of b in Y12 and Y13, an element of a, broadcast, in Y14 or Y15.

// ROWS points R8–R13 at six rows that lie ld bytes apart, of which CX exist: past the last they repeat it, so that a short
// tile computes its last row several times and stores the same bits.
#define ROWS(base, ld) \
	MOVQ base, R8            \
	LEAQ (R8)(ld*1), R9      \
	CMPQ CX, $2              \
	CMOVQLT R8, R9           \
	LEAQ (R9)(ld*1), R10     \
	CMPQ CX, $3              \
	CMOVQLT R9, R10          \
	LEAQ (R10)(ld*1), R11    \
	CMPQ CX, $4              \
	CMOVQLT R10, R11         \
	LEAQ (R11)(ld*1), R12    \
	CMPQ CX, $5              \
	CMOVQLT R11, R12         \
	LEAQ (R12)(ld*1), R13    \
	CMPQ CX, $6              \
	CMOVQLT R12, R13

#define LOAD(row, lo, hi) \
	VMOVUPS (row), lo   \
	VMOVUPS 32(row), hi

#define STORE(row, lo, hi) \
	VMOVUPS lo, (row)   \
	VMOVUPS hi, 32(row)

// B takes the next row of b and fetches the one R15 bytes further on.
#define B \
	VMOVUPS (AX), Y12        \
	VMOVUPS 32(AX), Y13      \
	PREFETCHT0 (AX)(R15*1)   \
	ADDQ R14, AX

#define A(row, k, x, lo, hi) \
	VBROADCASTSS k(row)(DX*1), x  \
	VFMADD231PS Y12, x, lo        \
	VFMADD231PS Y13, x, hi

#define STEP2(k) \
	B                        \
	A(R8, k, Y14, Y0, Y1)    \
	A(R9, k, Y15, Y2, Y3)

#define STEP4(k) \
	STEP2(k)                 \
	A(R10, k, Y14, Y4, Y5)   \
	A(R11, k, Y15, Y6, Y7)

#define STEP6(k) \
	STEP4(k)                 \
	A(R12, k, Y14, Y8, Y9)   \
	A(R13, k, Y15, Y10, Y11)

// SUM goes over k = 0, 1, …; BX counts the elements that are left, DX is the offset in the rows of a.
#define SUM(STEP, by4, by1, done) \
	MOVQ lda+56(FP), AX      \
	SHLQ $2, AX              \
	ROWS(SI, AX)             \
	MOVQ b_base+64(FP), AX   \
	MOVQ k+104(FP), BX       \
	XORQ DX, DX              \
by4:                         \
	SUBQ $4, BX              \
	JLT  by1                 \
	STEP(0)                  \
	STEP(4)                  \
	STEP(8)                  \
	STEP(12)                 \
	ADDQ $16, DX             \
	JMP  by4                 \
by1:                         \
	CMPQ BX, $-4             \
	JEQ  done                \
	DECQ BX                  \
	STEP(0)                  \
	ADDQ $4, DX              \
	JMP  by1                 \
done:                        \
	MOVQ ldc+24(FP), AX      \
	SHLQ $2, AX              \
	ROWS(DI, AX)

// NEXT passes on to the tile n rows below.
#define NEXT(n) \
	SUBQ $n, CX              \
	MOVQ ldc+24(FP), AX      \
	IMULQ $(4*n), AX         \
	ADDQ AX, DI              \
	MOVQ lda+56(FP), AX      \
	IMULQ $(4*n), AX         \
	ADDQ AX, SI              \
	JMP  tiles

// func tileAVX2(c []float32, ldc int, a []float32, lda int, b []float32, ldb, rows, k, ahead int)
TEXT ·tileAVX2(SB), NOSPLIT, $0-120
	MOVQ c_base+0(FP), DI
	MOVQ a_base+32(FP), SI
	MOVQ ldb+88(FP), R14
	SHLQ $2, R14
	MOVQ ahead+112(FP), R15
	IMULQ R14, R15
	MOVQ rows+96(FP), CX

tiles:
	CMPQ CX, $0
	JLE  end
	MOVQ ldc+24(FP), AX
	SHLQ $2, AX
	ROWS(DI, AX)
	LOAD(R8, Y0, Y1)
	LOAD(R9, Y2, Y3)
	CMPQ CX, $2
	JLE  two
	LOAD(R10, Y4, Y5)
	LOAD(R11, Y6, Y7)
	CMPQ CX, $4
	JLE  four
	CMPQ CX, $7 // 7 and 8 are better split in two than as 6 and a rest
	JEQ  four
	CMPQ CX, $8
	JEQ  four
	LOAD(R12, Y8, Y9)
	LOAD(R13, Y10, Y11)
	SUM(STEP6, six4, six1, sixDone)
	STORE(R8, Y0, Y1)
	STORE(R9, Y2, Y3)
	STORE(R10, Y4, Y5)
	STORE(R11, Y6, Y7)
	STORE(R12, Y8, Y9)
	STORE(R13, Y10, Y11)
	NEXT(6)

four:
	SUM(STEP4, four4, four1, fourDone)
	STORE(R8, Y0, Y1)
	STORE(R9, Y2, Y3)
	STORE(R10, Y4, Y5)
	STORE(R11, Y6, Y7)
	NEXT(4)

two:
	SUM(STEP2, two4, two1, twoDone)
	STORE(R8, Y0, Y1)
	STORE(R9, Y2, Y3)
	NEXT(2)

end:
	VZEROUPPER
	RET

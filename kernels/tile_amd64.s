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

// ADD adds what a row of c holds.
#define ADD(row, lo, hi) \
	VADDPS (row), lo, lo     \
	VADDPS 32(row), hi, hi

#define ADD2 \
	ADD(R8, Y0, Y1)          \
	ADD(R9, Y2, Y3)

#define ADD4 \
	ADD2                     \
	ADD(R10, Y4, Y5)         \
	ADD(R11, Y6, Y7)

#define ADD6 \
	ADD4                     \
	ADD(R12, Y8, Y9)         \
	ADD(R13, Y10, Y11)

#define CLEAR8 \
	VXORPS Y0, Y0, Y0 \
	VXORPS Y1, Y1, Y1 \
	VXORPS Y2, Y2, Y2 \
	VXORPS Y3, Y3, Y3 \
	VXORPS Y4, Y4, Y4 \
	VXORPS Y5, Y5, Y5 \
	VXORPS Y6, Y6, Y6 \
	VXORPS Y7, Y7, Y7

#define CLEAR12 \
	CLEAR8                   \
	VXORPS Y8, Y8, Y8 \
	VXORPS Y9, Y9, Y9 \
	VXORPS Y10, Y10, Y10 \
	VXORPS Y11, Y11, Y11

// B takes the next row of b.
#define B \
	VMOVUPS (AX), Y12        \
	VMOVUPS 32(AX), Y13      \
	ADDQ R14, AX

#define A(row, x, lo, hi) \
	VBROADCASTSS (row)(DX*1), x   \
	VFMADD231PS Y12, x, lo        \
	VFMADD231PS Y13, x, hi

#define ROWS2 \
	A(R8, Y14, Y0, Y1)       \
	A(R9, Y15, Y2, Y3)

#define ROWS4 \
	ROWS2                    \
	A(R10, Y14, Y4, Y5)      \
	A(R11, Y15, Y6, Y7)

#define ROWS6 \
	ROWS4                    \
	A(R12, Y14, Y8, Y9)      \
	A(R13, Y15, Y10, Y11)

#define STEP(ROWSN) \
	B                        \
	ROWSN                    \
	ADDQ R15, DX

// SUM goes over k = 0, 1, …, four at a time: BX counts them, DX is the offset in a. While BX is above the limit, each four ask the
// second-level cache for the line at DI, and CX bytes further on each time. It leaves R8–R13 at the rows of c.
#define SUM(ROWSN, ask, by4, by1, done) \
	MOVQ lda+56(FP), AX      \
	SHLQ $2, AX              \
	ROWS(SI, AX)             \
	MOVQ panel-8(SP), AX     \
	MOVQ k+120(FP), BX       \
	XORL DX, DX              \
	SUBQ $4, BX              \
	JLT  by1                 \
	CMPQ BX, limit-40(SP)    \
	JLE  by4                 \
	MOVQ DI, c-48(SP)        \
	MOVQ CX, left-56(SP)     \
	MOVQ line-32(SP), DI      \
	MOVQ step+152(FP), CX    \
	PCALIGN $64 \
ask:                         \
	STEP(ROWSN)              \
	STEP(ROWSN)              \
	STEP(ROWSN)              \
	STEP(ROWSN)              \
	PREFETCHT1 (DI)          \
	ADDQ CX, DI              \
	SUBQ $4, BX              \
	CMPQ BX, limit-40(SP)    \
	JGT  ask                 \
	MOVQ c-48(SP), DI        \
	MOVQ left-56(SP), CX     \
	TESTQ BX, BX             \
	JLT  by1                 \
	PCALIGN $64 \
by4:                         \
	STEP(ROWSN)              \
	STEP(ROWSN)              \
	STEP(ROWSN)              \
	STEP(ROWSN)              \
	SUBQ $4, BX              \
	JGE  by4                 \
by1:                         \
	CMPQ BX, $-4             \
	JEQ  done                \
	DECQ BX                  \
	STEP(ROWSN)              \
	JMP  by1                 \
done:                        \
	MOVQ ldc+24(FP), AX      \
	SHLQ $2, AX              \
	ROWS(DI, AX)

// func tileAVX2(c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k, panels int, add bool, at unsafe.Pointer, step, count, even, odd int)
// DI and SI are the tile's first rows of c and a, CX the rows left; R14 and R15 the bytes from one row of b, and one column of a, to the next.
TEXT ·tileAVX2(SB), NOSPLIT, $56-184
	MOVQ c_base+0(FP), DI
	MOVQ a_base+32(FP), SI
	MOVQ ka+64(FP), R15
	SHLQ $2, R15
	MOVQ ldb+96(FP), R14
	SHLQ $2, R14
	MOVQ rows+112(FP), CX
	MOVQ at+144(FP), AX
	MOVQ AX, line-32(SP)
	MOVQ count+160(FP), BX
	SHLQ $2, BX
	MOVQ k+120(FP), AX
	SUBQ $4, AX
	SUBQ BX, AX
	MOVQ $-1, BX
	CMPQ AX, BX
	CMOVQLT BX, AX
	MOVQ AX, limit-40(SP)

tiles:
	CMPQ CX, $0
	JLE  end
	MOVQ DI, first-24(SP)
	MOVQ b_base+72(FP), AX
	MOVQ AX, panel-8(SP)
	MOVQ panels+128(FP), AX
	MOVQ AX, panels-16(SP)

columns:
	CMPQ CX, $1
	JNE  column
	CMPQ panels-16(SP), $4
	JGE  one

column:
	SUBQ $1, panels-16(SP)
	JLT  below
	MOVQ ldc+24(FP), AX
	SHLQ $2, AX
	ROWS(DI, AX)
	CMPQ CX, $6
	JLE  height
	CMPQ CX, $8 // 7 and 8 are better split in two than as 6 and a rest
	JLE  four

height:
	CMPQ CX, $2
	JLE  two
	CMPQ CX, $4
	JLE  four
	LEAQ (AX)(AX*2), BX // the same columns of the tile of rows below
	PREFETCHT0 (R8)(BX*2)
	PREFETCHT0 (R9)(BX*2)
	PREFETCHT0 (R10)(BX*2)
	PREFETCHT0 (R11)(BX*2)
	PREFETCHT0 (R12)(BX*2)
	PREFETCHT0 (R13)(BX*2)
	CMPB add+136(FP), $0
	JNE  clear6
	LOAD(R8, Y0, Y1)
	LOAD(R9, Y2, Y3)
	LOAD(R10, Y4, Y5)
	LOAD(R11, Y6, Y7)
	LOAD(R12, Y8, Y9)
	LOAD(R13, Y10, Y11)
	JMP  sum6

clear6:
	CLEAR12

sum6:
	SUM(ROWS6, sixAsk, six4, six1, sixDone)
	CMPB add+136(FP), $0
	JEQ  store6
	ADD6

store6:
	STORE(R12, Y8, Y9)
	STORE(R13, Y10, Y11)
	JMP  store4

four:
	CMPB add+136(FP), $0
	JNE  clear4
	LOAD(R8, Y0, Y1)
	LOAD(R9, Y2, Y3)
	LOAD(R10, Y4, Y5)
	LOAD(R11, Y6, Y7)
	JMP  sum4

clear4:
	CLEAR8

sum4:
	SUM(ROWS4, fourAsk, four4, four1, fourDone)
	CMPB add+136(FP), $0
	JEQ  store4
	ADD4

store4:
	STORE(R10, Y4, Y5)
	STORE(R11, Y6, Y7)
	JMP  store2

two:
	CMPB add+136(FP), $0
	JNE  clear2
	LOAD(R8, Y0, Y1)
	LOAD(R9, Y2, Y3)
	JMP  sum2

clear2:
	CLEAR8

sum2:
	SUM(ROWS2, twoAsk, two4, two1, twoDone)
	CMPB add+136(FP), $0
	JEQ  store2
	ADD2

store2:
	STORE(R8, Y0, Y1)
	STORE(R9, Y2, Y3)
	ADDQ $64, DI
	MOVQ even+168(FP), AX // and the other one after the next panel
	MOVQ odd+176(FP), BX
	MOVQ BX, even+168(FP)
	MOVQ AX, odd+176(FP)
	ADDQ AX, line-32(SP)
	MOVQ nextb+104(FP), AX
	SHLQ $2, AX
	ADDQ AX, panel-8(SP)
	JMP  columns

one: // one row: four panels of b at a time, from R8–R11 on, with the row in R12
	SUBQ $4, panels-16(SP)
	CLEAR8
	CMPB add+136(FP), $0
	JNE  row
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	VMOVUPS 128(DI), Y4
	VMOVUPS 160(DI), Y5
	VMOVUPS 192(DI), Y6
	VMOVUPS 224(DI), Y7

row:
	MOVQ nextb+104(FP), AX
	SHLQ $2, AX
	MOVQ panel-8(SP), R8
	LEAQ (R8)(AX*1), R9
	LEAQ (R9)(AX*1), R10
	LEAQ (R10)(AX*1), R11
	MOVQ SI, R12
	XORL DX, DX
	MOVQ k+120(FP), BX
	TESTQ BX, BX
	JEQ  oneDone

oneStep:
	VBROADCASTSS (R12), Y12
	VFMADD231PS 0(R8)(DX*1), Y12, Y0
	VFMADD231PS 32(R8)(DX*1), Y12, Y1
	VFMADD231PS 0(R9)(DX*1), Y12, Y2
	VFMADD231PS 32(R9)(DX*1), Y12, Y3
	VFMADD231PS 0(R10)(DX*1), Y12, Y4
	VFMADD231PS 32(R10)(DX*1), Y12, Y5
	VFMADD231PS 0(R11)(DX*1), Y12, Y6
	VFMADD231PS 32(R11)(DX*1), Y12, Y7
	ADDQ R14, DX
	ADDQ R15, R12
	DECQ BX
	JNE  oneStep

oneDone:
	CMPB add+136(FP), $0
	JEQ  store1
	VADDPS 0(DI), Y0, Y0
	VADDPS 32(DI), Y1, Y1
	VADDPS 64(DI), Y2, Y2
	VADDPS 96(DI), Y3, Y3
	VADDPS 128(DI), Y4, Y4
	VADDPS 160(DI), Y5, Y5
	VADDPS 192(DI), Y6, Y6
	VADDPS 224(DI), Y7, Y7

store1:
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VMOVUPS Y6, 192(DI)
	VMOVUPS Y7, 224(DI)
	ADDQ $256, DI
	LEAQ (R11)(AX*1), AX
	MOVQ AX, panel-8(SP)
	JMP  columns

below: // the tile of rows below this one
	MOVQ first-24(SP), DI
	MOVL $6, BX
	MOVL $4, DX
	CMPQ CX, $7
	CMOVQEQ DX, BX
	CMPQ CX, $8
	CMOVQEQ DX, BX
	SUBQ BX, CX
	SHLQ $2, BX
	MOVQ ldc+24(FP), AX
	IMULQ BX, AX
	ADDQ AX, DI
	MOVQ lda+56(FP), AX
	IMULQ BX, AX
	ADDQ AX, SI
	JMP  tiles

end:
	VZEROUPPER
	RET

// func packRowsAVX2(dst, a []float32, lda, rows, k int)
// Four columns at a time: a 4×4 transposition of the first four rows, and pairs of the last two.
TEXT ·packRowsAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ a_base+24(FP), SI
	MOVQ lda+48(FP), AX
	SHLQ $2, AX
	MOVQ rows+56(FP), CX
	ROWS(SI, AX)
	MOVQ k+64(FP), BX
	XORL DX, DX

by4:
	SUBQ $4, BX
	JLT  by1
	VMOVUPS (R8)(DX*1), X0
	VMOVUPS (R9)(DX*1), X1
	VMOVUPS (R10)(DX*1), X2
	VMOVUPS (R11)(DX*1), X3
	VMOVUPS (R12)(DX*1), X4
	VMOVUPS (R13)(DX*1), X5
	VUNPCKLPS X1, X0, X6   // a00 a10 a01 a11
	VUNPCKHPS X1, X0, X7   // a02 a12 a03 a13
	VUNPCKLPS X3, X2, X8   // a20 a30 a21 a31
	VUNPCKHPS X3, X2, X9
	VUNPCKLPS X5, X4, X10  // a40 a50 a41 a51
	VUNPCKHPS X5, X4, X11
	VMOVLHPS X8, X6, X12
	VMOVHLPS X6, X8, X13
	VMOVLHPS X9, X7, X14
	VMOVHLPS X7, X9, X15
	VMOVUPS X12, 0(DI)
	VMOVLPS X10, 16(DI)
	VMOVUPS X13, 24(DI)
	VMOVHPS X10, 40(DI)
	VMOVUPS X14, 48(DI)
	VMOVLPS X11, 64(DI)
	VMOVUPS X15, 72(DI)
	VMOVHPS X11, 88(DI)
	ADDQ $16, DX
	ADDQ $96, DI
	JMP  by4

by1:
	CMPQ BX, $-4
	JEQ  end
	DECQ BX
	VMOVSS (R8)(DX*1), X0
	VMOVSS (R9)(DX*1), X1
	VMOVSS (R10)(DX*1), X2
	VMOVSS (R11)(DX*1), X3
	VMOVSS (R12)(DX*1), X4
	VMOVSS (R13)(DX*1), X5
	VMOVSS X0, 0(DI)
	VMOVSS X1, 4(DI)
	VMOVSS X2, 8(DI)
	VMOVSS X3, 12(DI)
	VMOVSS X4, 16(DI)
	VMOVSS X5, 20(DI)
	ADDQ $4, DX
	ADDQ $24, DI
	JMP  by1

end:
	VZEROUPPER
	RET

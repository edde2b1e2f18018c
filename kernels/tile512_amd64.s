//go:build !purego

#include "textflag.h"

// The register tile of matrix products in 512 bits: 6 rows by four panels, 24 accumulators Z0–Z23,
// four for each row. A row of b is in Z24–Z27, an element of a, broadcast, in Z28. Panels that are
// left over, fewer than four, go two or one at a time with the first of a row's accumulators.

// ROWS points R8–R13 at six rows that lie ld bytes apart, of which CX exist: past the last they
// repeat it, so that a short tile computes its last row several times and stores the same bits.
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

// What a row of the tile does, for four panels, two or one: START takes the sums from c, or from
// +0; ADD adds c to them; STORE puts them back.
#define START4(row, p, q, r, s) \
	START2(row, p, q, r, s)    \
	VMOVUPS.Z 128(row), K1, r  \
	VMOVUPS.Z 192(row), K1, s

#define START2(row, p, q, r, s) \
	START1(row, p, q, r, s)    \
	VMOVUPS.Z 64(row), K1, q

#define START1(row, p, q, r, s) VMOVUPS.Z 0(row), K1, p

#define ADD4(row, p, q, r, s) \
	ADD2(row, p, q, r, s)      \
	VADDPS 128(row), r, K2, r  \
	VADDPS 192(row), s, K2, s

#define ADD2(row, p, q, r, s) \
	ADD1(row, p, q, r, s)      \
	VADDPS 64(row), q, K2, q

#define ADD1(row, p, q, r, s) VADDPS 0(row), p, K2, p

#define STORE4(row, p, q, r, s) \
	STORE2(row, p, q, r, s)    \
	VMOVUPS r, 128(row)        \
	VMOVUPS s, 192(row)

#define STORE2(row, p, q, r, s) \
	STORE1(row, p, q, r, s)    \
	VMOVUPS q, 64(row)

#define STORE1(row, p, q, r, s) VMOVUPS p, 0(row)

#define B4 \
	VMOVUPS (AX), Z24          \
	VMOVUPS (AX)(SI*1), Z25    \
	VMOVUPS (AX)(SI*2), Z26    \
	VMOVUPS (AX)(CX*1), Z27    \
	ADDQ R14, AX

#define B2 \
	VMOVUPS (AX), Z24          \
	VMOVUPS (AX)(SI*1), Z25    \
	ADDQ R14, AX

#define B1 \
	VMOVUPS (AX), Z24          \
	ADDQ R14, AX

#define MULTIPLY4(row, p, q, r, s) \
	MULTIPLY2(row, p, q, r, s) \
	VFMADD231PS Z26, Z28, r    \
	VFMADD231PS Z27, Z28, s

#define MULTIPLY2(row, p, q, r, s) \
	VBROADCASTSS (row)(DX*1), Z28  \
	VFMADD231PS Z24, Z28, p    \
	VFMADD231PS Z25, Z28, q

#define MULTIPLY1(row, p, q, r, s) VFMADD231PS.BCST (row)(DX*1), Z24, p

// FOUR and SIX do something with each row of the tile.
#define FOUR(ROW) \
	ROW(R8, Z0, Z1, Z2, Z3)      \
	ROW(R9, Z4, Z5, Z6, Z7)      \
	ROW(R10, Z8, Z9, Z10, Z11)   \
	ROW(R11, Z12, Z13, Z14, Z15)

#define SIX(ROW) \
	FOUR(ROW)                    \
	ROW(R12, Z16, Z17, Z18, Z19) \
	ROW(R13, Z20, Z21, Z22, Z23)

// ASK asks the second-level cache for the memory at DI.
#define ASK2 \
	PREFETCHT1 0(DI)         \
	PREFETCHT1 64(DI)

#define ASK4 \
	ASK2                     \
	PREFETCHT1 128(DI)       \
	PREFETCHT1 192(DI)

#define STEP(EACH, B, MULTIPLY) \
	B                        \
	EACH(MULTIPLY)           \
	ADDQ R15, DX

// SUM goes over k = 0, 1, …, four at a time: BX counts them, DX is the offset in a, CX the bytes of
// three panels. DI is the memory to ask for. It finds R8–R13 at the rows of c, and leaves them
// there.
#define SUM(EACH, B, START, MULTIPLY, ADD, STORE, ASK, pairs, by4, more, by1, done) \
	EACH(START)              \
	MOVQ lda+56(FP), AX      \
	SHLQ $2, AX              \
	MOVQ a-8(SP), DX         \
	ROWS(DX, AX)             \
	MOVQ DI, c-48(SP)        \
	MOVQ CX, rows-56(SP)     \
	MOVQ next-64(SP), DI     \
	LEAQ (SI)(SI*2), CX      \
	MOVQ panel-16(SP), AX    \
	MOVQ k+120(FP), BX       \
	XORL DX, DX              \
	SUBQ $4, BX              \
	JLT  by1                 \
	PCALIGN $64              \
by4:                         \
	STEP(EACH, B, MULTIPLY)  \
	STEP(EACH, B, MULTIPLY)  \
	STEP(EACH, B, MULTIPLY)  \
	STEP(EACH, B, MULTIPLY)  \
	TESTQ $60, BX            \
	JNE  more                \
	ASK                      \
	ADDQ next_row+152(FP), DI \
more:                        \
	SUBQ $4, BX              \
	JGE  by4                 \
by1:                         \
	CMPQ BX, $-4             \
	JEQ  done                \
	DECQ BX                  \
	STEP(EACH, B, MULTIPLY)  \
	JMP  by1                 \
done:                        \
	IMUL3Q $pairs, next_pair+160(FP), AX \
	ADDQ AX, next-64(SP)     \
	MOVQ c-48(SP), DI        \
	MOVQ rows-56(SP), CX     \
	MOVQ ldc+24(FP), AX      \
	SHLQ $2, AX              \
	ROWS(DI, AX)             \
	EACH(ADD)                \
	EACH(STORE)

// FETCH asks for the same columns of the tile of rows below, BX bytes on.
#define FETCH2(row, p, q, r, s) \
	PREFETCHT0 (row)(BX*2)   \
	PREFETCHT0 64(row)(BX*2)

#define FETCH4(row, p, q, r, s) \
	FETCH2(row, p, q, r, s)  \
	PREFETCHT0 128(row)(BX*2) \
	PREFETCHT0 192(row)(BX*2)

// func tileAVX512(c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k, panels int, add bool, next ahead)
// DI is the tile's first row of c, CX its rows; R14, SI and R15 the bytes from one row of b, one
// panel and one column of a to the next. K1 says that the sums start from c, K2 that c is added.
TEXT ·tileAVX512(SB), NOSPLIT, $64-176
	MOVQ c_base+0(FP), DI
	MOVQ a_base+32(FP), AX
	MOVQ AX, a-8(SP)
	MOVQ ka+64(FP), R15
	SHLQ $2, R15
	MOVQ ldb+96(FP), R14
	SHLQ $2, R14
	MOVQ nextb+104(FP), SI
	SHLQ $2, SI
	MOVQ rows+112(FP), AX
	MOVQ AX, left-40(SP)
	MOVQ next_at+144(FP), AX
	MOVQ AX, next-64(SP)
	MOVBLZX add+136(FP), AX
	NEGL AX
	KMOVW AX, K2
	KNOTW K2, K1

tiles: // 7 and 8 rows are better split in two than as 6 and a rest
	MOVQ left-40(SP), CX
	CMPQ CX, $0
	JLE  end
	MOVL $6, AX
	MOVL $4, BX
	CMPQ CX, $7
	CMOVQEQ BX, AX
	CMPQ CX, $8
	CMOVQEQ BX, AX
	CMPQ CX, AX
	CMOVQGT AX, CX
	MOVQ DI, first-32(SP)
	MOVQ b_base+72(FP), AX
	MOVQ AX, panel-16(SP)
	MOVQ panels+128(FP), AX
	MOVQ AX, panels-24(SP)

columns:
	CMPQ CX, $1
	JNE  many
	CMPQ panels-24(SP), $4
	JGE  one

many:
	MOVQ ldc+24(FP), AX
	SHLQ $2, AX
	ROWS(DI, AX)
	LEAQ (AX)(AX*2), BX
	CMPQ panels-24(SP), $4
	JLT  pair
	SUBQ $4, panels-24(SP)
	CMPQ CX, $4
	JLE  four
	SIX(FETCH4)
	SUM(SIX, B4, START4, MULTIPLY4, ADD4, STORE4, ASK4, 2, six4, sixMore, six1, sixDone)
	JMP  next

four: // fewer rows than four by four panels would wait for loads of b
	SUM(FOUR, B4, START4, MULTIPLY4, ADD4, STORE4, ASK4, 2, four4, fourMore, four1, fourDone)

next:
	ADDQ $256, DI
	LEAQ (SI*4), AX
	ADDQ AX, panel-16(SP)
	JMP  columns

pair:
	SUBQ $2, panels-24(SP)
	JLT  last
	CMPQ CX, $4
	JLE  fourPair
	SIX(FETCH2)
	SUM(SIX, B2, START2, MULTIPLY2, ADD2, STORE2, ASK2, 1, pair4, pairMore, pair1, pairDone)
	JMP  nextPair

fourPair: // the chains wait for each other: fewer rows would take as long
	SUM(FOUR, B2, START2, MULTIPLY2, ADD2, STORE2, ASK2, 1, fp4, fpMore, fp1, fpDone)

nextPair:
	ADDQ $128, DI
	LEAQ (SI)(SI*1), AX
	ADDQ AX, panel-16(SP)
	JMP  columns

last:
	CMPQ panels-24(SP), $-2
	JEQ  below
	SUM(SIX, B1, START1, MULTIPLY1, ADD1, STORE1, ASK2, 1, last4, lastMore, last1, lastDone)
	JMP  below

one: // one row, at R8: four panels of b at a time, at AX and R9
	SUBQ $4, panels-24(SP)
	VMOVUPS.Z 0(DI), K1, Z0
	VMOVUPS.Z 64(DI), K1, Z1
	VMOVUPS.Z 128(DI), K1, Z2
	VMOVUPS.Z 192(DI), K1, Z3
	MOVQ panel-16(SP), AX
	LEAQ (AX)(SI*2), R9
	MOVQ a-8(SP), R8
	MOVQ k+120(FP), BX
	TESTQ BX, BX
	JEQ  oneDone

oneStep:
	VBROADCASTSS (R8), Z12
	VFMADD231PS (AX), Z12, Z0
	VFMADD231PS (AX)(SI*1), Z12, Z1
	VFMADD231PS (R9), Z12, Z2
	VFMADD231PS (R9)(SI*1), Z12, Z3
	ADDQ R14, AX
	ADDQ R14, R9
	ADDQ R15, R8
	DECQ BX
	JNE  oneStep

oneDone:
	VADDPS 0(DI), Z0, K2, Z0
	VADDPS 64(DI), Z1, K2, Z1
	VADDPS 128(DI), Z2, K2, Z2
	VADDPS 192(DI), Z3, K2, Z3
	VMOVUPS Z0, 0(DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	ADDQ $256, DI
	LEAQ (SI*4), AX
	ADDQ AX, panel-16(SP)
	JMP  columns

below: // the tile of rows below this one
	MOVQ first-32(SP), DI
	SUBQ CX, left-40(SP)
	SHLQ $2, CX
	MOVQ ldc+24(FP), AX
	IMULQ CX, AX
	ADDQ AX, DI
	MOVQ lda+56(FP), AX
	IMULQ CX, AX
	ADDQ AX, a-8(SP)
	JMP  tiles

end:
	VZEROUPPER
	RET

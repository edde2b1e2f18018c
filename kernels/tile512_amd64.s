//go:build !purego

#include "textflag.h"

// The register tile of matrix products in 512 bits: 6 rows by two panels, 12 accumulators Z0–Z11,
// the even ones for the first panel. A row of b is in Z12 and Z13, an element of a, broadcast, in
// Z14 or Z15. A last panel without a neighbour has the even accumulators only.

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

// What a row of the tile does, for two panels or one: START takes the sums from c, or from +0;
// ADD adds c to them; STORE puts them back.
#define START2(row, p, q) \
	VMOVUPS.Z 0(row), K1, p    \
	VMOVUPS.Z 64(row), K1, q

#define START1(row, p, q) VMOVUPS.Z 0(row), K1, p

#define ADD2(row, p, q) \
	VADDPS 0(row), p, K2, p  \
	VADDPS 64(row), q, K2, q

#define ADD1(row, p, q) VADDPS 0(row), p, K2, p

#define STORE2(row, p, q) \
	VMOVUPS p, 0(row)        \
	VMOVUPS q, 64(row)

#define STORE1(row, p, q) VMOVUPS p, 0(row)

#define B2 \
	VMOVUPS (AX), Z12        \
	VMOVUPS (AX)(SI*1), Z13  \
	ADDQ R14, AX

#define B1 \
	VMOVUPS (AX), Z12        \
	ADDQ R14, AX

#define MULTIPLY2(row, p, q) \
	VBROADCASTSS (row)(DX*1), Z14  \
	VFMADD231PS Z12, Z14, p  \
	VFMADD231PS Z13, Z14, q

#define MULTIPLY1(row, p, q) VFMADD231PS.BCST (row)(DX*1), Z12, p

// FOUR and SIX do something with each row of the tile.
#define FOUR(ROW) \
	ROW(R8, Z0, Z1)          \
	ROW(R9, Z2, Z3)          \
	ROW(R10, Z4, Z5)         \
	ROW(R11, Z6, Z7)

#define SIX(ROW) \
	FOUR(ROW)                \
	ROW(R12, Z8, Z9)         \
	ROW(R13, Z10, Z11)

#define STEP(EACH, B, MULTIPLY) \
	B                        \
	EACH(MULTIPLY)           \
	ADDQ R15, DX

// SUM goes over k = 0, 1, …, four at a time: BX counts them, DX is the offset in a. DI is the memory
// to ask for, and CX the bytes of a row of it. It finds R8–R13 at the rows of c, and leaves them
// there.
#define SUM(EACH, B, START, MULTIPLY, ADD, STORE, by4, more, by1, done) \
	EACH(START)              \
	MOVQ lda+56(FP), AX      \
	SHLQ $2, AX              \
	MOVQ a-8(SP), DX         \
	ROWS(DX, AX)             \
	MOVQ DI, c-48(SP)        \
	MOVQ CX, rows-56(SP)     \
	MOVQ next-64(SP), DI     \
	MOVQ next_row+152(FP), CX \
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
	PREFETCHT1 0(DI)         \
	PREFETCHT1 64(DI)        \
	ADDQ CX, DI              \
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
	MOVQ next_pair+160(FP), AX \
	ADDQ AX, next-64(SP)     \
	MOVQ c-48(SP), DI        \
	MOVQ rows-56(SP), CX     \
	MOVQ ldc+24(FP), AX      \
	SHLQ $2, AX              \
	ROWS(DI, AX)             \
	EACH(ADD)                \
	EACH(STORE)

// FETCH asks for the same columns of the tile of rows below, BX bytes on.
#define FETCH(row, p, q) \
	PREFETCHT0 (row)(BX*2)   \
	PREFETCHT0 64(row)(BX*2)

// func tileAVX512(c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k, panels int, add bool, next ahead)
// DI is the tile's first row of c, CX its rows; R14, SI and R15 the bytes from one row of b, one
// panel and one column of a to the next. K1 says that the sums start from c, K2 that c is added.
TEXT ·tileAVX512(SB), NOSPLIT, $64-168
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
	JNE  pair
	CMPQ panels-24(SP), $4
	JGE  one

pair:
	MOVQ ldc+24(FP), AX
	SHLQ $2, AX
	ROWS(DI, AX)
	SUBQ $2, panels-24(SP)
	JLT  last
	CMPQ CX, $4
	JLE  four
	LEAQ (AX)(AX*2), BX
	SIX(FETCH)
	SUM(SIX, B2, START2, MULTIPLY2, ADD2, STORE2, six4, sixMore, six1, sixDone)
	JMP  next

four: // the chains wait for each other: fewer rows would take as long
	SUM(FOUR, B2, START2, MULTIPLY2, ADD2, STORE2, four4, fourMore, four1, fourDone)

next:
	ADDQ $128, DI
	LEAQ (SI)(SI*1), AX
	ADDQ AX, panel-16(SP)
	JMP  columns

last:
	CMPQ panels-24(SP), $-2
	JEQ  below
	SUM(SIX, B1, START1, MULTIPLY1, ADD1, STORE1, last4, lastMore, last1, lastDone)
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

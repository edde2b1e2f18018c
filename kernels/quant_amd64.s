//go:build !purego

#include "textflag.h"

// Products with Q8 and Q4 tiles in 256 bits. A tile of 6 rows and 16 outputs has its sums in
// Y0–Y11, weights widened to int16 in Y12 (outputs 0–7) and Y13 (8–15): a lane holds a pair of
// inputs of one output. Y14 holds the row's pair of integers, broadcast. The chains stay in memory.
//
//	AX the tile, R12 the first    BX the tile widened, or from AX to what is fetched meanwhile
//	DI, R10 rows 0 and 3 of y     DX their distance
//	R8, R9 rows 0 and 3 of q      SI their distance, R13 where row 0 begins
//	R14, R15 rows 0, 3 of starts  R11 their distance
//	CX blocks left

// nibbles masks the lowest four bits of each lane.
DATA ·nibbles+0(SB)/8, $0x000f000f000f000f
DATA ·nibbles+8(SB)/8, $0x000f000f000f000f
DATA ·nibbles+16(SB)/8, $0x000f000f000f000f
DATA ·nibbles+24(SB)/8, $0x000f000f000f000f
GLOBL ·nibbles(SB), RODATA|NOPTR, $32

// PAIR takes pair p of a Q8 tile.
#define PAIR(p) \
	VPMOVSXBW (32*p)(AX), Y12    \
	VPMOVSXBW (32*p+16)(AX), Y13

// EVEN and ODD take pairs 2g and 2g+1 of a Q4 tile.
#define EVEN(g) \
	VMOVDQU (32*g)(AX), Y13         \
	VPAND   ·nibbles(SB), Y13, Y12  \
	VPSRLW  $4, Y13, Y13            \
	VPAND   ·nibbles(SB), Y13, Y13

#define ODD(g) \
	VMOVDQU (32*g)(AX), Y13         \
	VPSRLW  $8, Y13, Y12            \
	VPAND   ·nibbles(SB), Y12, Y12  \
	VPSRLW  $12, Y13, Y13

// WIDE takes pair p of a tile that is widened already, WIDEN makes it so.
#define WIDE(p) \
	VMOVDQU (64*p)(BX), Y12     \
	VMOVDQU (64*p+32)(BX), Y13

#define WIDEN(p) \
	VMOVDQU Y12, (64*p)(BX)     \
	VMOVDQU Y13, (64*p+32)(BX)

// MADD adds the products with one row's pair.
#define MADD(pair, lo, hi) \
	VPBROADCASTD pair, Y14      \
	VPMADDWD     Y12, Y14, Y15  \
	VPMADDWD     Y13, Y14, Y14  \
	VPADDD       Y15, lo, lo    \
	VPADDD       Y14, hi, hi

#define ROWS1(p) \
	MADD((4*p)(R8), Y0, Y1)

#define ROWS2(p) \
	ROWS1(p)                  \
	MADD((4*p)(R8)(SI*1), Y2, Y3)

#define ROWS4(p) \
	ROWS2(p)                  \
	MADD((4*p)(R8)(SI*2), Y4, Y5)  \
	MADD((4*p)(R9), Y6, Y7)

#define ROWS6(p) \
	ROWS4(p)                    \
	MADD((4*p)(R9)(SI*1), Y8, Y9)    \
	MADD((4*p)(R9)(SI*2), Y10, Y11)

// MULTIPLY begins sums with the products with one row's pair.
#define MULTIPLY(pair, lo, hi) \
	VPBROADCASTD pair, Y14      \
	VPMADDWD     Y12, Y14, lo   \
	VPMADDWD     Y13, Y14, hi

#define FIRST6 \
	MULTIPLY((R8), Y0, Y1)          \
	MULTIPLY((R8)(SI*1), Y2, Y3)    \
	MULTIPLY((R8)(SI*2), Y4, Y5)    \
	MULTIPLY((R9), Y6, Y7)          \
	MULTIPLY((R9)(SI*1), Y8, Y9)    \
	MULTIPLY((R9)(SI*2), Y10, Y11)

#define EIGHT(f, rows, n) \
	f(rows, n)        \
	f(rows, (n+1))    \
	f(rows, (n+2))    \
	f(rows, (n+3))    \
	f(rows, (n+4))    \
	f(rows, (n+5))    \
	f(rows, (n+6))    \
	f(rows, (n+7))

#define ADD8(rows, p) \
	PREFETCHT1 (32*p)(AX)(BX*1)  \
	PAIR(p)                      \
	rows(p)

#define ADDWIDE(rows, p) \
	WIDE(p)      \
	rows(p)

#define ADD4(rows, g) \
	PREFETCHT1 (32*g)(AX)(BX*1)  \
	EVEN(g)            \
	rows((2*g))    \
	ODD(g)             \
	rows((2*g+1))

#define WIDEN8(rows, p) \
	PAIR(p)  \
	WIDEN(p)

#define WIDEN4(rows, g) \
	EVEN(g)          \
	WIDEN((2*g))     \
	ODD(g)           \
	WIDEN((2*g+1))

// SUM8 and SUM4 add up a block.
#define SUM8(rows) \
	EIGHT(ADD8, rows, 0)  \
	EIGHT(ADD8, rows, 8)

#define SUM4(rows) \
	EIGHT(ADD4, rows, 0)

// SUMWIDE adds up all pairs of a block but the first.
#define SUMWIDE(rows) \
	ADDWIDE(rows, 1)         \
	ADDWIDE(rows, 2)         \
	ADDWIDE(rows, 3)         \
	ADDWIDE(rows, 4)         \
	ADDWIDE(rows, 5)         \
	ADDWIDE(rows, 6)         \
	ADDWIDE(rows, 7)         \
	EIGHT(ADDWIDE, rows, 8)

// START8 and START4 begin the sums of a block.
#define START8(start, lo, hi) \
	VPXOR lo, lo, lo  \
	VPXOR hi, hi, hi

#define START4(start, lo, hi) \
	VPBROADCASTD start, lo  \
	VMOVDQA      lo, hi

#define START1ROW(start) \
	start((R14), Y0, Y1)

#define START2ROWS(start) \
	START1ROW(start)            \
	start((R14)(R11*1), Y2, Y3)

#define START4ROWS(start) \
	START2ROWS(start)            \
	start((R14)(R11*2), Y4, Y5)  \
	start((R15), Y6, Y7)

#define START6ROWS(start) \
	START4ROWS(start)              \
	start((R15)(R11*1), Y8, Y9)    \
	start((R15)(R11*2), Y10, Y11)

// CHAIN continues a row's sums. Y12 and Y13 are the scales.
#define CHAIN(y, lo, hi) \
	VCVTDQ2PS   lo, lo         \
	VCVTDQ2PS   hi, hi         \
	VFMADD213PS y, Y12, lo     \
	VFMADD213PS 32 y, Y13, hi  \
	VMOVUPS     lo, y          \
	VMOVUPS     hi, 32 y

#define CHAIN1ROW \
	CHAIN((DI), Y0, Y1)

#define CHAIN2ROWS \
	CHAIN1ROW                  \
	CHAIN((DI)(DX*1), Y2, Y3)

#define CHAIN4ROWS \
	CHAIN2ROWS                  \
	CHAIN((DI)(DX*2), Y4, Y5)   \
	CHAIN((R10), Y6, Y7)

#define CHAIN6ROWS \
	CHAIN4ROWS                    \
	CHAIN((R10)(DX*1), Y8, Y9)    \
	CHAIN((R10)(DX*2), Y10, Y11)

// END ends a block: it takes the scales, that follow the weights, and goes to the next block.
#define END(weights, chain) \
	VPMOVZXWD weights(AX), Y12       \
	VPMOVZXWD (weights+16)(AX), Y13  \
	VPSLLD    $16, Y12, Y12          \
	VPSLLD    $16, Y13, Y13          \
	chain                            \
	ADDQ      $(weights+32), AX      \
	ADDQ      $64, R8                \
	ADDQ      $64, R9                \
	ADDQ      $4, R14                \
	ADDQ      $4, R15                \
	DECQ      CX

// SETUP takes the arguments that stay.
#define SETUP \
	MOVQ ldy+24(FP), DX        \
	SHLQ $2, DX                \
	MOVQ ldq+80(FP), R11       \
	SHLQ $2, R11               \
	MOVQ R11, SI               \
	SHLQ $4, SI                \
	MOVQ w_base+88(FP), R12    \
	CMPQ blocks+128(FP), $0    \
	JLE  done                  \
	CMPQ tiles+136(FP), $0     \
	JLE  done

// TOP goes to the first row.
#define TOP \
	MOVQ y_base+0(FP), DI        \
	MOVQ q_base+32(FP), R13      \
	MOVQ starts_base+56(FP), R14 \
	MOVQ rows+120(FP), AX        \
	MOVQ AX, left-8(SP)

// BEGIN sets the chains of up to six rows to +0, unless they are continued. What it sets beyond the
// rows of this group belongs to the next.
#define BEGIN \
	CMPB    add+144(FP), $0    \
	JNE     15(PC)             \
	VPXOR   Y0, Y0, Y0         \
	CMPQ    left-8(SP), $0     \
	JLE     12(PC)             \
	MOVQ    DI, AX             \
	MOVQ    left-8(SP), CX     \
	CMPQ    CX, $6             \
	JLE     2(PC)              \
	MOVQ    $6, CX             \
	VMOVUPS Y0, (AX)           \
	VMOVUPS Y0, 32(AX)         \
	ADDQ    DX, AX             \
	DECQ    CX                 \
	JNZ     -4(PC)             \
	MOVQ    blocks+128(FP), CX \
	MOVQ    R12, AX

// GROUP points at the first block of the next rows and takes six, four, two or one; past them come
// the next outputs. BX is from the tile to what is fetched meanwhile, the one after the next.
#define GROUP \
	MOVQ blocks+128(FP), CX    \
	MOVQ R12, AX               \
	MOVQ R13, R8               \
	LEAQ (SI)(SI*2), R9        \
	ADDQ R8, R9                \
	LEAQ (R11)(R11*2), R15     \
	ADDQ R14, R15              \
	LEAQ (DX)(DX*2), R10       \
	ADDQ DI, R10               \
	XORQ BX, BX                \
	CMPQ tiles+136(FP), $2     \
	JLE  3(PC)                 \
	MOVQ ldw+112(FP), BX       \
	SHLQ $1, BX                \
	BEGIN                      \
	CMPQ left-8(SP), $8        \
	JEQ  four                  \
	CMPQ left-8(SP), $6        \
	JGE  six                   \
	CMPQ left-8(SP), $4        \
	JGE  four                  \
	CMPQ left-8(SP), $2        \
	JGE  two                   \
	CMPQ left-8(SP), $1        \
	JGE  one                   \
	ADDQ $64, y_base+0(FP)     \
	ADDQ ldw+112(FP), R12      \
	DECQ tiles+136(FP)         \
	JNZ  tile

// NEXT leaves n rows behind.
#define NEXT(n) \
	MOVQ   blocks+128(FP), CX  \
	SHLQ   $2, CX              \
	SUBQ   CX, R14             \
	IMUL3Q $n, R11, CX         \
	ADDQ   CX, R14             \
	IMUL3Q $n, SI, CX          \
	ADDQ   CX, R13             \
	IMUL3Q $n, DX, CX          \
	ADDQ   CX, DI              \
	SUBQ   $n, left-8(SP)      \
	JMP    rows

// func quantTile8AVX2(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw,
//	rows, blocks, tiles int, add bool)
TEXT ·quantTile8AVX2(SB), 0, $16392-145
	SETUP

tile:
	TOP
	CMPQ rows+120(FP), $12
	JLT  rows
	CMPQ blocks+128(FP), $16
	JGT  rows

	// Two sixes of rows and more: widen the weights once for all.
	MOVQ R12, AX
	MOVQ blocks+128(FP), CX
	LEAQ wide-16392(SP), BX

widen:
	EIGHT(WIDEN8, ROWS1, 0)
	EIGHT(WIDEN8, ROWS1, 8)
	ADDQ $544, AX
	ADDQ $1024, BX
	DECQ CX
	JNZ  widen

rows:
	GROUP

done:
	VZEROUPPER
	RET

one:
	START1ROW(START8)
	SUM8(ROWS1)
	END(512, CHAIN1ROW)
	JNZ one
	NEXT(1)

two:
	START2ROWS(START8)
	SUM8(ROWS2)
	END(512, CHAIN2ROWS)
	JNZ two
	NEXT(2)

four:
	START4ROWS(START8)
	SUM8(ROWS4)
	END(512, CHAIN4ROWS)
	JNZ four
	NEXT(4)

six:
	CMPQ rows+120(FP), $12
	JLT  narrow
	CMPQ blocks+128(FP), $16
	JGT  narrow
	LEAQ wide-16392(SP), BX

wide:
	WIDE(0)
	FIRST6
	SUMWIDE(ROWS6)
	END(512, CHAIN6ROWS)
	LEAQ 1024(BX), BX
	JNZ  wide
	NEXT(6)

narrow:
	START6ROWS(START8)
	SUM8(ROWS6)
	END(512, CHAIN6ROWS)
	JNZ narrow
	NEXT(6)

// func quantTile4AVX2(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw,
//	rows, blocks, tiles int, add bool)
TEXT ·quantTile4AVX2(SB), 0, $16392-145
	SETUP

tile:
	TOP
	CMPQ rows+120(FP), $12
	JLT  rows
	CMPQ blocks+128(FP), $16
	JGT  rows

	// Two sixes of rows and more: widen the weights once for all.
	MOVQ R12, AX
	MOVQ blocks+128(FP), CX
	LEAQ wide-16392(SP), BX

widen:
	EIGHT(WIDEN4, ROWS1, 0)
	ADDQ $288, AX
	ADDQ $1024, BX
	DECQ CX
	JNZ  widen

rows:
	GROUP

done:
	VZEROUPPER
	RET

one:
	START1ROW(START4)
	SUM4(ROWS1)
	END(256, CHAIN1ROW)
	JNZ one
	NEXT(1)

two:
	START2ROWS(START4)
	SUM4(ROWS2)
	END(256, CHAIN2ROWS)
	JNZ two
	NEXT(2)

four:
	START4ROWS(START4)
	SUM4(ROWS4)
	END(256, CHAIN4ROWS)
	JNZ four
	NEXT(4)

six:
	CMPQ rows+120(FP), $12
	JLT  narrow
	CMPQ blocks+128(FP), $16
	JGT  narrow
	LEAQ wide-16392(SP), BX

wide:
	START6ROWS(START4)
	ADDWIDE(ROWS6, 0)
	SUMWIDE(ROWS6)
	END(256, CHAIN6ROWS)
	LEAQ 1024(BX), BX
	JNZ  wide
	NEXT(6)

narrow:
	START6ROWS(START4)
	SUM4(ROWS6)
	END(256, CHAIN6ROWS)
	JNZ narrow
	NEXT(6)

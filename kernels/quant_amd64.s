//go:build !purego

#include "textflag.h"

// Products with Q8 and Q4 tiles. A tile of 6 rows and 16 outputs has its sums in Y0–Y11, weights widened to int16 in Y12 (outputs 0–7) and Y13 (8–15):
// a lane holds a pair of inputs of one output. Y14 holds the row's pair of integers, broadcast. The chains stay in memory.
//
//	AX the tile            DI, R10 rows 0 and 3 of y, DX their distance
//	CX blocks left         R8, R9 rows 0 and 3 of q, SI their distance
//	BX rows left           R14, R15 rows 0 and 3 of starts, R11 their distance

// nibbles masks the lowest four bits of each lane.
DATA ·nibbles+0(SB)/8, $0x000f000f000f000f
DATA ·nibbles+8(SB)/8, $0x000f000f000f000f
DATA ·nibbles+16(SB)/8, $0x000f000f000f000f
DATA ·nibbles+24(SB)/8, $0x000f000f000f000f
GLOBL ·nibbles(SB), RODATA|NOPTR, $32

// WIDEN takes pair p of a Q8 tile.
#define WIDEN(p) \
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

// ROW adds the products with one row's pair.
#define ROW(pair, lo, hi) \
	VPBROADCASTD pair, Y14      \
	VPMADDWD     Y12, Y14, Y15  \
	VPADDD       Y15, lo, lo    \
	VPMADDWD     Y13, Y14, Y14  \
	VPADDD       Y14, hi, hi

#define ROWS1(p) \
	ROW((4*p)(R8), Y0, Y1)

#define ROWS2(p) \
	ROWS1(p)                      \
	ROW((4*p)(R8)(SI*1), Y2, Y3)

#define ROWS4(p) \
	ROWS2(p)                      \
	ROW((4*p)(R8)(SI*2), Y4, Y5)  \
	ROW((4*p)(R9), Y6, Y7)

#define ROWS6(p) \
	ROWS4(p)                        \
	ROW((4*p)(R9)(SI*1), Y8, Y9)    \
	ROW((4*p)(R9)(SI*2), Y10, Y11)

#define PAIR1(p) WIDEN(p); ROWS1(p)
#define PAIR2(p) WIDEN(p); ROWS2(p)
#define PAIR4(p) WIDEN(p); ROWS4(p)
#define PAIR6(p) WIDEN(p); ROWS6(p)

#define FOUR1(g) EVEN(g); ROWS1((2*g)); ODD(g); ROWS1((2*g+1))
#define FOUR2(g) EVEN(g); ROWS2((2*g)); ODD(g); ROWS2((2*g+1))
#define FOUR4(g) EVEN(g); ROWS4((2*g)); ODD(g); ROWS4((2*g+1))
#define FOUR6(g) EVEN(g); ROWS6((2*g)); ODD(g); ROWS6((2*g+1))

#define EIGHT(f, g) f(g); f((g+1)); f((g+2)); f((g+3)); f((g+4)); f((g+5)); f((g+6)); f((g+7))

// ZERO and START begin the sums of a block of Q8 and Q4.
#define ZERO(start, lo, hi) \
	VPXOR lo, lo, lo   \
	VPXOR hi, hi, hi

#define START(start, lo, hi) \
	VPBROADCASTD start, lo  \
	VMOVDQA      lo, hi

#define BEGIN1(f) \
	f((R14), Y0, Y1)

#define BEGIN2(f) \
	BEGIN1(f)                  \
	f((R14)(R11*1), Y2, Y3)

#define BEGIN4(f) \
	BEGIN2(f)                  \
	f((R14)(R11*2), Y4, Y5)    \
	f((R15), Y6, Y7)

#define BEGIN6(f) \
	BEGIN4(f)                  \
	f((R15)(R11*1), Y8, Y9)    \
	f((R15)(R11*2), Y10, Y11)

// SCALES takes the scales that follow the weights, as float32.
#define SCALES(weights) \
	VPMOVZXWD weights(AX), Y12       \
	VPMOVZXWD (weights+16)(AX), Y13  \
	VPSLLD    $16, Y12, Y12          \
	VPSLLD    $16, Y13, Y13

// CHAIN goes on with a row's chains.
#define CHAIN(y, lo, hi) \
	VCVTDQ2PS   lo, lo            \
	VCVTDQ2PS   hi, hi            \
	VFMADD213PS y, Y12, lo        \
	VFMADD213PS 32 y, Y13, hi     \
	VMOVUPS     lo, y             \
	VMOVUPS     hi, 32 y

#define END1 \
	CHAIN((DI), Y0, Y1)

#define END2 \
	END1                        \
	CHAIN((DI)(DX*1), Y2, Y3)

#define END4 \
	END2                        \
	CHAIN((DI)(DX*2), Y4, Y5)   \
	CHAIN((R10), Y6, Y7)

#define END6 \
	END4                          \
	CHAIN((R10)(DX*1), Y8, Y9)    \
	CHAIN((R10)(DX*2), Y10, Y11)

// ADVANCE goes to the next block of inputs, and to loop if there is one.
#define ADVANCE(size, loop) \
	ADDQ $size, AX  \
	ADDQ $64, R8    \
	ADDQ $64, R9    \
	ADDQ $4, R14    \
	ADDQ $4, R15    \
	DECQ CX         \
	JNZ  loop

// NEXT goes on from n rows to those below.
#define NEXT(n) \
	MOVQ  blocks+128(FP), CX  \
	SHLQ  $2, CX              \
	SUBQ  CX, R14             \
	IMUL3Q $n, R11, CX         \
	ADDQ  CX, R14             \
	IMUL3Q $n, SI, CX          \
	ADDQ  CX, R13             \
	IMUL3Q $n, DX, CX          \
	ADDQ  CX, DI              \
	SUBQ  $n, BX

// func quantTile8AVX2(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows, blocks, tiles int)
TEXT ·quantTile8AVX2(SB), NOSPLIT, $0-144
	MOVQ ldy+24(FP), DX
	SHLQ $2, DX
	MOVQ ldq+80(FP), R11
	SHLQ $2, R11
	MOVQ R11, SI
	SHLQ $4, SI
	MOVQ w_base+88(FP), R12
	CMPQ blocks+128(FP), $0
	JLE  done
	CMPQ tiles+136(FP), $0
	JLE  done

tile:
	MOVQ y_base+0(FP), DI
	MOVQ q_base+32(FP), R13
	MOVQ starts_base+56(FP), R14
	MOVQ rows+120(FP), BX

rows:
	MOVQ blocks+128(FP), CX
	MOVQ R12, AX
	MOVQ R13, R8
	LEAQ (SI)(SI*2), R9
	ADDQ R8, R9
	LEAQ (R11)(R11*2), R15
	ADDQ R14, R15
	LEAQ (DX)(DX*2), R10
	ADDQ DI, R10
	CMPQ BX, $6
	JGE  six
	CMPQ BX, $4
	JGE  four
	CMPQ BX, $2
	JGE  two
	CMPQ BX, $1
	JGE  one
	ADDQ $64, y_base+0(FP)
	ADDQ ldw+112(FP), R12
	DECQ tiles+136(FP)
	JNZ  tile

done:
	VZEROUPPER
	RET

one:
	BEGIN1(ZERO)
	EIGHT(PAIR1, 0)
	EIGHT(PAIR1, 8)
	SCALES(512)
	END1
	ADVANCE(544, one)
	NEXT(1)
	JMP  rows

two:
	BEGIN2(ZERO)
	EIGHT(PAIR2, 0)
	EIGHT(PAIR2, 8)
	SCALES(512)
	END2
	ADVANCE(544, two)
	NEXT(2)
	JMP  rows

four:
	BEGIN4(ZERO)
	EIGHT(PAIR4, 0)
	EIGHT(PAIR4, 8)
	SCALES(512)
	END4
	ADVANCE(544, four)
	NEXT(4)
	JMP  rows

six:
	BEGIN6(ZERO)
	EIGHT(PAIR6, 0)
	EIGHT(PAIR6, 8)
	SCALES(512)
	END6
	ADVANCE(544, six)
	NEXT(6)
	JMP  rows

// func quantTile4AVX2(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows, blocks, tiles int)
TEXT ·quantTile4AVX2(SB), NOSPLIT, $0-144
	MOVQ ldy+24(FP), DX
	SHLQ $2, DX
	MOVQ ldq+80(FP), R11
	SHLQ $2, R11
	MOVQ R11, SI
	SHLQ $4, SI
	MOVQ w_base+88(FP), R12
	CMPQ blocks+128(FP), $0
	JLE  done
	CMPQ tiles+136(FP), $0
	JLE  done

tile:
	MOVQ y_base+0(FP), DI
	MOVQ q_base+32(FP), R13
	MOVQ starts_base+56(FP), R14
	MOVQ rows+120(FP), BX

rows:
	MOVQ blocks+128(FP), CX
	MOVQ R12, AX
	MOVQ R13, R8
	LEAQ (SI)(SI*2), R9
	ADDQ R8, R9
	LEAQ (R11)(R11*2), R15
	ADDQ R14, R15
	LEAQ (DX)(DX*2), R10
	ADDQ DI, R10
	CMPQ BX, $6
	JGE  six
	CMPQ BX, $4
	JGE  four
	CMPQ BX, $2
	JGE  two
	CMPQ BX, $1
	JGE  one
	ADDQ $64, y_base+0(FP)
	ADDQ ldw+112(FP), R12
	DECQ tiles+136(FP)
	JNZ  tile

done:
	VZEROUPPER
	RET

one:
	BEGIN1(START)
	EIGHT(FOUR1, 0)
	SCALES(256)
	END1
	ADVANCE(288, one)
	NEXT(1)
	JMP  rows

two:
	BEGIN2(START)
	EIGHT(FOUR2, 0)
	SCALES(256)
	END2
	ADVANCE(288, two)
	NEXT(2)
	JMP  rows

four:
	BEGIN4(START)
	EIGHT(FOUR4, 0)
	SCALES(256)
	END4
	ADVANCE(288, four)
	NEXT(4)
	JMP  rows

six:
	BEGIN6(START)
	EIGHT(FOUR6, 0)
	SCALES(256)
	END6
	ADVANCE(288, six)
	NEXT(6)
	JMP  rows

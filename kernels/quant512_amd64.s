//go:build !purego

#include "textflag.h"

// Products with Q8 and Q4 tiles in 512 bits. Two tiles of 16 outputs are taken side by side, A and
// B, with up to 8 rows: the sums of row i are in Z(2i) for A and Z(2i+1) for B, the weights of a
// pair of inputs, widened to int16, in Z24 for A and Z25 for B: a lane holds a pair of inputs of
// one output. Z28 holds the row's pair of integers, broadcast. The chains stay in memory.
//
// With up to 3 rows there are too few sums to hide the latency of VPDPWSSD: they are kept twice,
// for the even and the odd pairs, and added at the end of a block.
//
// Where one tile is left, B is A, and its chains are A's: they are computed twice and stored twice.
//
//	AX, BX tiles A and B          R13 from A's outputs to B's: 64 bytes, or 0 where B is A
//	DI row 0 of y, DX distance    R12 a row of y
//	R8, R9 rows 0 and 4 of q      SI distance, R10 three times that
//	R14 row 0 of starts           R11 distance, R15 a row of starts; while weights are read, from A
//	                              to the next tiles
//	CX blocks left

// What the shifts of a Q4 tile are: outputs 0–7 in the lower half, 8–15 in the upper.
DATA ·evenShifts+0(SB)/8, $0
DATA ·evenShifts+8(SB)/8, $0x0004000400040004
GLOBL ·evenShifts(SB), RODATA|NOPTR, $16
DATA ·oddShifts+0(SB)/8, $0x0008000800080008
DATA ·oddShifts+8(SB)/8, $0x000c000c000c000c
GLOBL ·oddShifts(SB), RODATA|NOPTR, $16

// Z29 masks the lowest four bits of each word, Z30 and Z31 are the shifts for even and odd pairs.
#define NIBBLES \
	MOVL         $0x000f000f, AX          \
	VPBROADCASTD AX, Z29                  \
	VPBROADCASTQ ·evenShifts+0(SB), Y30   \
	VPBROADCASTQ ·evenShifts+8(SB), Y31   \
	VINSERTI64X4 $1, Y31, Z30, Z30        \
	VPBROADCASTQ ·oddShifts+0(SB), Y31    \
	VPBROADCASTQ ·oddShifts+8(SB), Y28    \
	VINSERTI64X4 $1, Y28, Z31, Z31

// AHEAD fetches a line of the next two tiles: the processor's own prefetch follows too few streams
// to do without.
#define AHEAD(at) \
	PREFETCHT1 (at)(AX)(R15*1)  \
	PREFETCHT1 (at)(BX)(R15*1)

// PAIR takes pair p of two Q8 tiles.
#define PAIR(p) \
	VPMOVSXBW (32*p)(AX), Z24  \
	VPMOVSXBW (32*p)(BX), Z25

// FOUR takes four inputs of two Q4 tiles, EVEN and ODD are their two pairs.
#define FOUR(g) \
	VBROADCASTI64X4 (32*g)(AX), Z26  \
	VBROADCASTI64X4 (32*g)(BX), Z27

#define EVEN \
	VPSRLVW Z30, Z26, Z24  \
	VPSRLVW Z30, Z27, Z25  \
	VPANDD  Z29, Z24, Z24  \
	VPANDD  Z29, Z25, Z25

#define ODD \
	VPSRLVW Z31, Z26, Z24  \
	VPSRLVW Z31, Z27, Z25  \
	VPANDD  Z29, Z24, Z24  \
	VPANDD  Z29, Z25, Z25

// WIDE takes pair p of two tiles that are widened already. WIDEN makes them so: 2048 bytes of
// weights and 128 of scales, at R8.
#define WIDE(p) \
	VMOVDQU64 (128*p)(AX), Z24     \
	VMOVDQU64 (128*p+64)(AX), Z25

#define WIDEN(p) \
	VMOVDQU64 Z24, (128*p)(R8)     \
	VMOVDQU64 Z25, (128*p+64)(R8)

// SCALES takes the scales of two tiles, which follow the weights.
#define SCALES(weights) \
	AHEAD(weights)              \
	VPMOVZXWD weights(AX), Z24  \
	VPMOVZXWD weights(BX), Z25  \
	VPSLLD    $16, Z24, Z24     \
	VPSLLD    $16, Z25, Z25

// ADD adds the products with one row's pair.
#define ADD(pair, a, b) \
	VPBROADCASTD pair, Z28  \
	VPDPWSSD Z24, Z28, a    \
	VPDPWSSD Z25, Z28, b

#define ONE(p)    ADD((4*p)(R8), Z0, Z1)
#define ONEODD(p) ADD((4*p)(R8), Z2, Z3)

#define TWO(p) \
	ADD((4*p)(R8), Z0, Z1)        \
	ADD((4*p)(R8)(SI*1), Z2, Z3)

#define TWOODD(p) \
	ADD((4*p)(R8), Z4, Z5)        \
	ADD((4*p)(R8)(SI*1), Z6, Z7)

#define THREE(p) \
	TWO(p)                        \
	ADD((4*p)(R8)(SI*2), Z4, Z5)

#define THREEODD(p) \
	ADD((4*p)(R8), Z6, Z7)          \
	ADD((4*p)(R8)(SI*1), Z8, Z9)    \
	ADD((4*p)(R8)(SI*2), Z10, Z11)

#define FOURROWS(p) \
	THREE(p)                       \
	ADD((4*p)(R8)(R10*1), Z6, Z7)

#define SIX(p) \
	FOURROWS(p)                     \
	ADD((4*p)(R9), Z8, Z9)          \
	ADD((4*p)(R9)(SI*1), Z10, Z11)

#define EIGHT(p) \
	SIX(p)                           \
	ADD((4*p)(R9)(SI*2), Z12, Z13)   \
	ADD((4*p)(R9)(R10*1), Z14, Z15)

// PAIR8, FOUR4 and PAIRWIDE are the steps of a block; rows and odd are what a pair meets.
#define PAIRS8(rows, odd, p) \
	AHEAD((64*p))  \
	PAIR((2*p))    \
	rows((2*p))    \
	PAIR((2*p+1))  \
	odd((2*p+1))

#define PAIRS4(rows, odd, g) \
	AHEAD((32*g))  \
	FOUR(g)        \
	EVEN           \
	rows((2*g))    \
	ODD            \
	odd((2*g+1))

#define PAIRSWIDE(rows, odd, p) \
	WIDE((2*p))    \
	rows((2*p))    \
	WIDE((2*p+1))  \
	odd((2*p+1))

#define WIDEN8(rows, odd, p) \
	AHEAD((64*p))   \
	PAIR((2*p))     \
	WIDEN((2*p))    \
	PAIR((2*p+1))   \
	WIDEN((2*p+1))

#define WIDEN4(rows, odd, g) \
	AHEAD((32*g))   \
	FOUR(g)         \
	EVEN            \
	WIDEN((2*g))    \
	ODD             \
	WIDEN((2*g+1))

#define BLOCK(pairs, rows, odd) \
	pairs(rows, odd, 0)  \
	pairs(rows, odd, 1)  \
	pairs(rows, odd, 2)  \
	pairs(rows, odd, 3)  \
	pairs(rows, odd, 4)  \
	pairs(rows, odd, 5)  \
	pairs(rows, odd, 6)  \
	pairs(rows, odd, 7)

// START8 and START4 begin a row's sums of a block, ZERO those of the odd pairs.
#define ZERO(a, b) \
	VPXORD a, a, a  \
	VPXORD b, b, b

#define START8(a, b) ZERO(a, b)

#define START4(a, b) \
	VPBROADCASTD (R15), a  \
	VMOVDQA64    a, b      \
	ADDQ         R11, R15

#define START1(start) \
	MOVQ R14, R15  \
	start(Z0, Z1)  \
	ZERO(Z2, Z3)

#define START2(start) \
	MOVQ R14, R15  \
	start(Z0, Z1)  \
	start(Z2, Z3)  \
	ZERO(Z4, Z5)   \
	ZERO(Z6, Z7)

#define START3(start) \
	MOVQ R14, R15   \
	start(Z0, Z1)   \
	start(Z2, Z3)   \
	start(Z4, Z5)   \
	ZERO(Z6, Z7)    \
	ZERO(Z8, Z9)    \
	ZERO(Z10, Z11)

#define START4ROWS(start) \
	MOVQ R14, R15  \
	start(Z0, Z1)  \
	start(Z2, Z3)  \
	start(Z4, Z5)  \
	start(Z6, Z7)

#define START6(start) \
	START4ROWS(start)  \
	start(Z8, Z9)      \
	start(Z10, Z11)

#define START8ROWS(start) \
	START6(start)    \
	start(Z12, Z13)  \
	start(Z14, Z15)

// CHAIN continues a row's sums with the scales in Z24 and Z25.
#define CHAIN(a, b) \
	VCVTDQ2PS   a, a                   \
	VCVTDQ2PS   b, b                   \
	VFMADD213PS (R12), Z24, a          \
	VFMADD213PS (R12)(R13*1), Z25, b   \
	VMOVUPS     a, (R12)               \
	VMOVUPS     b, (R12)(R13*1)        \
	ADDQ        DX, R12

// FOLD adds the sums of the odd pairs.
#define FOLD(a, b, odda, oddb) \
	VPADDD odda, a, a  \
	VPADDD oddb, b, b

#define CHAIN1 \
	MOVQ DI, R12          \
	FOLD(Z0, Z1, Z2, Z3)  \
	CHAIN(Z0, Z1)

#define CHAIN2 \
	MOVQ DI, R12          \
	FOLD(Z0, Z1, Z4, Z5)  \
	FOLD(Z2, Z3, Z6, Z7)  \
	CHAIN(Z0, Z1)         \
	CHAIN(Z2, Z3)

#define CHAIN3 \
	MOVQ DI, R12            \
	FOLD(Z0, Z1, Z6, Z7)    \
	FOLD(Z2, Z3, Z8, Z9)    \
	FOLD(Z4, Z5, Z10, Z11)  \
	CHAIN(Z0, Z1)           \
	CHAIN(Z2, Z3)           \
	CHAIN(Z4, Z5)

#define CHAIN4 \
	MOVQ DI, R12   \
	CHAIN(Z0, Z1)  \
	CHAIN(Z2, Z3)  \
	CHAIN(Z4, Z5)  \
	CHAIN(Z6, Z7)

#define CHAIN6 \
	CHAIN4           \
	CHAIN(Z8, Z9)    \
	CHAIN(Z10, Z11)

#define CHAIN8 \
	CHAIN6           \
	CHAIN(Z12, Z13)  \
	CHAIN(Z14, Z15)

// END goes to the next block.
#define END(weights) \
	ADDQ $(weights+32), AX  \
	ADDQ $(weights+32), BX  \
	ADDQ $64, R8            \
	ADDQ $64, R9            \
	ADDQ $4, R14            \
	DECQ CX

#define SETUP \
	MOVQ ldy+24(FP), DX        \
	SHLQ $2, DX                \
	MOVQ ldq+80(FP), R11       \
	SHLQ $2, R11               \
	MOVQ R11, SI               \
	SHLQ $4, SI                \
	LEAQ (SI)(SI*2), R10       \
	CMPQ blocks+128(FP), $0    \
	JLE  done                  \
	CMPQ tiles+136(FP), $0     \
	JLE  done

// TOP goes to the first row of two tiles: second is B's weights.
#define TOP \
	MOVQ w_base+88(FP), AX        \
	MOVQ AX, BX                   \
	XORQ R13, R13                 \
	CMPQ tiles+136(FP), $1        \
	JEQ  3(PC)                    \
	ADDQ ldw+112(FP), BX          \
	MOVQ $64, R13                 \
	MOVQ BX, second-8(SP)         \
	XORQ R15, R15                 \
	CMPQ tiles+136(FP), $2        \
	JLE  3(PC)                    \
	MOVQ ldw+112(FP), R15         \
	SHLQ $1, R15                  \
	MOVQ R15, ahead-40(SP)        \
	MOVQ y_base+0(FP), DI         \
	MOVQ q_base+32(FP), R8        \
	MOVQ R8, row-24(SP)           \
	MOVQ starts_base+56(FP), R14  \
	MOVQ rows+120(FP), CX         \
	MOVQ CX, left-16(SP)

// MANY goes on to the rows unless they are two eights and more, of at most 8 blocks: then the
// weights are widened once for all.
#define MANY \
	CMPQ rows+120(FP), $16     \
	JLT  rows                  \
	CMPQ blocks+128(FP), $8   \
	JGT  rows                  \
	LEAQ wide-17504(SP), R8    \
	ADDQ $63, R8               \
	ANDQ $~63, R8              \
	MOVQ R8, room-32(SP)       \
	MOVQ blocks+128(FP), CX

#define WIDENED(weights) \
	SCALES(weights)           \
	WIDEN(16)                 \
	ADDQ $(weights+32), AX    \
	ADDQ $(weights+32), BX    \
	ADDQ $2176, R8            \
	DECQ CX

// GROUP points at the first block of the next rows and takes as many as it can; past them come the
// next outputs.
#define GROUP \
	MOVQ blocks+128(FP), CX    \
	MOVQ w_base+88(FP), AX     \
	MOVQ second-8(SP), BX      \
	MOVQ row-24(SP), R8        \
	LEAQ (R8)(SI*4), R9        \
	CMPQ left-16(SP), $8       \
	JGE  eight                 \
	CMPQ left-16(SP), $6       \
	JEQ  six                   \
	CMPQ left-16(SP), $4       \
	JGE  four                  \
	CMPQ left-16(SP), $3       \
	JEQ  three                 \
	CMPQ left-16(SP), $2       \
	JEQ  two                   \
	CMPQ left-16(SP), $1       \
	JEQ  one                   \
	ADDQ $128, y_base+0(FP)    \
	MOVQ ldw+112(FP), AX       \
	SHLQ $1, AX                \
	ADDQ AX, w_base+88(FP)     \
	SUBQ $2, tiles+136(FP)     \
	JGT  tile

// NEXT leaves n rows behind.
#define NEXT(n) \
	MOVQ   blocks+128(FP), CX  \
	SHLQ   $2, CX              \
	SUBQ   CX, R14             \
	IMUL3Q $n, R11, CX         \
	ADDQ   CX, R14             \
	IMUL3Q $n, SI, CX          \
	ADDQ   CX, row-24(SP)      \
	IMUL3Q $n, DX, CX          \
	ADDQ   CX, DI              \
	SUBQ   $n, left-16(SP)     \
	JMP    rows

// func quantTile8AVX512(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw,
//	rows, blocks, tiles int)
TEXT ·quantTile8AVX512(SB), 0, $17512-144
	SETUP

tile:
	TOP
	MANY

widen:
	BLOCK(WIDEN8, ONE, ONE)
	WIDENED(512)
	JNZ widen

rows:
	GROUP

done:
	VZEROUPPER
	RET

one:
	START1(START8)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS8, ONE, ONEODD)
	SCALES(512)
	CHAIN1
	END(512)
	JNZ one
	NEXT(1)

two:
	START2(START8)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS8, TWO, TWOODD)
	SCALES(512)
	CHAIN2
	END(512)
	JNZ two
	NEXT(2)

three:
	START3(START8)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS8, THREE, THREEODD)
	SCALES(512)
	CHAIN3
	END(512)
	JNZ three
	NEXT(3)

four:
	START4ROWS(START8)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS8, FOURROWS, FOURROWS)
	SCALES(512)
	CHAIN4
	END(512)
	JNZ four
	NEXT(4)

six:
	START6(START8)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS8, SIX, SIX)
	SCALES(512)
	CHAIN6
	END(512)
	JNZ six
	NEXT(6)

eight:
	CMPQ rows+120(FP), $16
	JLT  narrow
	CMPQ blocks+128(FP), $8
	JGT  narrow
	MOVQ room-32(SP), AX

wide:
	START8ROWS(START8)
	BLOCK(PAIRSWIDE, EIGHT, EIGHT)
	WIDE(16)
	CHAIN8
	END(2144)
	JNZ wide
	NEXT(8)

narrow:
	START8ROWS(START8)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS8, EIGHT, EIGHT)
	SCALES(512)
	CHAIN8
	END(512)
	JNZ narrow
	NEXT(8)

// func quantTile4AVX512(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw,
//	rows, blocks, tiles int)
TEXT ·quantTile4AVX512(SB), 0, $17512-144
	NIBBLES
	SETUP

tile:
	TOP
	MANY

widen:
	BLOCK(WIDEN4, ONE, ONE)
	WIDENED(256)
	JNZ widen

rows:
	GROUP

done:
	VZEROUPPER
	RET

one:
	START1(START4)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS4, ONE, ONEODD)
	SCALES(256)
	CHAIN1
	END(256)
	JNZ one
	NEXT(1)

two:
	START2(START4)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS4, TWO, TWOODD)
	SCALES(256)
	CHAIN2
	END(256)
	JNZ two
	NEXT(2)

three:
	START3(START4)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS4, THREE, THREEODD)
	SCALES(256)
	CHAIN3
	END(256)
	JNZ three
	NEXT(3)

four:
	START4ROWS(START4)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS4, FOURROWS, FOURROWS)
	SCALES(256)
	CHAIN4
	END(256)
	JNZ four
	NEXT(4)

six:
	START6(START4)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS4, SIX, SIX)
	SCALES(256)
	CHAIN6
	END(256)
	JNZ six
	NEXT(6)

eight:
	CMPQ rows+120(FP), $16
	JLT  narrow
	CMPQ blocks+128(FP), $8
	JGT  narrow
	MOVQ room-32(SP), AX

wide:
	START8ROWS(START4)
	BLOCK(PAIRSWIDE, EIGHT, EIGHT)
	WIDE(16)
	CHAIN8
	END(2144)
	JNZ wide
	NEXT(8)

narrow:
	START8ROWS(START4)
	MOVQ ahead-40(SP), R15
	BLOCK(PAIRS4, EIGHT, EIGHT)
	SCALES(256)
	CHAIN8
	END(256)
	JNZ narrow
	NEXT(8)

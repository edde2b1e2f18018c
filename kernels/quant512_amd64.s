//go:build !purego

#include "textflag.h"

// Products with Q8 and Q4 tiles in 512 bits: two tiles of 16 outputs side by side. Where one tile
// is left, B is A, and its chains are A's: they are computed twice and stored twice.

#define S0 Z0
#define S1 Z1
#define S2 Z2
#define S3 Z3
#define S4 Z4
#define S5 Z5
#define S6 Z6
#define S7 Z7
#define S8 Z8
#define S9 Z9
#define S10 Z10
#define S11 Z11
#define S12 Z12
#define S13 Z13
#define S14 Z14
#define S15 Z15
#define WA Z24
#define WB Z25
#define XX Z28

#include "quantrows_amd64.h"
#include "nibbles_amd64.h"

// What the shifts of a Q4 tile are: outputs 0–7 in the lower half, 8–15 in the upper.
DATA ·evenShifts+0(SB)/8, $0
DATA ·evenShifts+8(SB)/8, $0x0004000400040004
GLOBL ·evenShifts(SB), RODATA|NOPTR, $16
DATA ·oddShifts+0(SB)/8, $0x0008000800080008
DATA ·oddShifts+8(SB)/8, $0x000c000c000c000c
GLOBL ·oddShifts(SB), RODATA|NOPTR, $16

// AHEAD fetches a line of the next two tiles: the processor's own prefetch follows too few streams
// to do without.
#define AHEAD(at) \
	PREFETCHT1 (at)(AX)(R15*1)  \
	PREFETCHT1 (at)(BX)(R15*1)

// PAIR takes pair p of two Q8 tiles.
#define PAIR(p) \
	VPMOVSXBW (32*p)(AX), Z24  \
	VPMOVSXBW (32*p)(BX), Z25

// INPUTS takes four inputs of two Q4 tiles, EVEN and ODD are their two pairs.
#define INPUTS(g) \
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

#define PAIRSWIDE(rows, odd, p) \
	WIDE((2*p))    \
	rows((2*p))    \
	WIDE((2*p+1))  \
	odd((2*p+1))

// ADDLAST adds the products with the last two pairs, whose weights are in Z16–Z19.
#define ADDLAST(row, a, b) \
	VPBROADCASTD 56 row, XX  \
	VPDPWSSD     Z16, XX, a  \
	VPDPWSSD     Z17, XX, b  \
	VPBROADCASTD 60 row, XX  \
	VPDPWSSD     Z18, XX, a  \
	VPDPWSSD     Z19, XX, b

// ENDEIGHT ends a block of eight rows. Four rows end before the others: the stores of eight at once
// would keep the multiplications waiting.
#define ENDEIGHT \
	ADDLAST((R8), S0, S1)            \
	ADDLAST((R8)(SI*1), S2, S3)      \
	ADDLAST((R8)(SI*2), S4, S5)      \
	ADDLAST((R8)(R10*1), S6, S7)     \
	CHAINS4                          \
	ADDLAST((R9), S8, S9)            \
	ADDLAST((R9)(SI*1), S10, S11)    \
	ADDLAST((R9)(SI*2), S12, S13)    \
	ADDLAST((R9)(R10*1), S14, S15)   \
	CHAIN(S8, S9)                    \
	CHAIN(S10, S11)                  \
	CHAIN(S12, S13)                  \
	CHAIN(S14, S15)

// FIRSTEIGHT takes all but the last two pairs of a block.
#define FIRSTEIGHT(pairs) \
	pairs(EIGHT, EIGHT, 0)  \
	pairs(EIGHT, EIGHT, 1)  \
	pairs(EIGHT, EIGHT, 2)  \
	pairs(EIGHT, EIGHT, 3)  \
	pairs(EIGHT, EIGHT, 4)  \
	pairs(EIGHT, EIGHT, 5)  \
	pairs(EIGHT, EIGHT, 6)

// EIGHT8 and EIGHT4 are a block of eight rows of two Q8 and Q4 tiles, WIDEBLOCK of widened ones.
#define EIGHT8 \
	MOVQ ahead-40(SP), R15         \
	FIRSTEIGHT(PAIRS8)             \
	AHEAD(448)                     \
	VPMOVSXBW (32*14)(AX), Z16     \
	VPMOVSXBW (32*14)(BX), Z17     \
	VPMOVSXBW (32*15)(AX), Z18     \
	VPMOVSXBW (32*15)(BX), Z19     \
	SCALES(512)                    \
	ENDEIGHT                       \
	END(512)

#define EIGHT4 \
	MOVQ ahead-40(SP), R15         \
	FIRSTEIGHT(PAIRS4)             \
	AHEAD(224)                     \
	INPUTS(7)                      \
	EVEN                           \
	VMOVDQA64 Z24, Z16             \
	VMOVDQA64 Z25, Z17             \
	ODD                            \
	VMOVDQA64 Z24, Z18             \
	VMOVDQA64 Z25, Z19             \
	SCALES(256)                    \
	ENDEIGHT                       \
	END(256)

#define WIDEBLOCK \
	FIRSTEIGHT(PAIRSWIDE)            \
	VMOVDQU64 (128*14)(AX), Z16      \
	VMOVDQU64 (128*14+64)(AX), Z17   \
	VMOVDQU64 (128*15)(AX), Z18      \
	VMOVDQU64 (128*15+64)(AX), Z19   \
	WIDE(16)                         \
	ENDEIGHT

#define WIDEN8(rows, odd, p) \
	AHEAD((64*p))   \
	PAIR((2*p))     \
	WIDEN((2*p))    \
	PAIR((2*p+1))   \
	WIDEN((2*p+1))

#define WIDEN4(rows, odd, g) \
	AHEAD((32*g))   \
	INPUTS(g)       \
	EVEN            \
	WIDEN((2*g))    \
	ODD             \
	WIDEN((2*g+1))

// ACROSS goes to the next two tiles.
#define ACROSS \
	ADDQ $128, y_base+0(FP)  \
	MOVQ ldw+112(FP), AX     \
	SHLQ $1, AX              \
	ADDQ AX, w_base+88(FP)   \
	SUBQ $2, tiles+136(FP)

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
// weights are widened once for all, where lines of the cache begin.
#define MANY \
	CMPQ rows+120(FP), $16     \
	JLT  rows                  \
	CMPQ blocks+128(FP), $8    \
	JGT  rows                  \
	LEAQ wide-17568(SP), R8    \
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

// func quantTile8AVX512(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw,
//	rows, blocks, tiles int, add bool)
TEXT ·quantTile8AVX512(SB), 0, $17576-145
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

	LOOPS(START8, PAIRS8, 512)

eight:
	CMPQ rows+120(FP), $16
	JLT  narrow
	CMPQ blocks+128(FP), $8
	JGT  narrow
	MOVQ room-32(SP), AX

wide:
	STARTEIGHT(START8)
	WIDEBLOCK
	END(2144)
	JNZ wide
	NEXT(8)

narrow:
	STARTEIGHT(START8)
	EIGHT8
	JNZ narrow
	NEXT(8)

// func quantTile4AVX512(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw,
//	rows, blocks, tiles int, add bool)
TEXT ·quantTile4AVX512(SB), 0, $17576-145
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

	LOOPS(START4, PAIRS4, 256)

eight:
	CMPQ rows+120(FP), $16
	JLT  narrow
	CMPQ blocks+128(FP), $8
	JGT  narrow
	MOVQ room-32(SP), AX

wide:
	STARTEIGHT(START4)
	WIDEBLOCK
	END(2144)
	JNZ wide
	NEXT(8)

narrow:
	STARTEIGHT(START4)
	EIGHT4
	JNZ narrow
	NEXT(8)

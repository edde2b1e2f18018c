//go:build !purego

#include "textflag.h"

// Products of one row with Q8 and Q4 tiles in 256 bits. Memory is what takes time: four tiles of 16
// outputs are taken side by side, as four streams, and the next four are fetched meanwhile. The
// sums of tile i are in Y(2i) for outputs 0–7 and Y(2i+1) for 8–15, its weights widened to int16 in
// Y12 and Y13: a lane holds a pair of inputs of one output. The chains stay in memory.
//
//	AX, BX, R9, R10 the tiles, R12 the first    DI y
//	R8 the row's integers                       R14 its starts
//	CX blocks left                              R15 from a tile to the one to fetch

#define AHEAD(at) \
	PREFETCHT1 (at)(AX)(R15*1)   \
	PREFETCHT1 (at)(BX)(R15*1)   \
	PREFETCHT1 (at)(R9)(R15*1)   \
	PREFETCHT1 (at)(R10)(R15*1)

// MADD adds the products with the row's pair in x. DPWSS does it where there is VPDPWSSD.
#define MADD(x, lo, hi) \
	VPMADDWD Y12, x, Y12   \
	VPMADDWD Y13, x, Y13   \
	VPADDD   Y12, lo, lo   \
	VPADDD   Y13, hi, hi

#define DPWSS(x, lo, hi) \
	VPDPWSSD Y12, x, lo  \
	VPDPWSSD Y13, x, hi

// PAIR8 adds pair p of a Q8 tile.
#define PAIR8(op, p, tile, lo, hi) \
	VPMOVSXBW (32*p)(tile), Y12     \
	VPMOVSXBW (32*p+16)(tile), Y13  \
	op(Y14, lo, hi)

#define PAIRS8(op, p) \
	VPBROADCASTD (4*p)(R8), Y14  \
	PAIR8(op, p, AX, Y0, Y1)     \
	PAIR8(op, p, BX, Y2, Y3)     \
	PAIR8(op, p, R9, Y4, Y5)     \
	PAIR8(op, p, R10, Y6, Y7)

#define FOUR8(op, g) \
	AHEAD((64*g))         \
	PAIRS8(op, (2*g))     \
	PAIRS8(op, (2*g+1))

// FOUR adds four inputs of a Q4 tile: the even pair is in Y14, the odd one in Y11, and Y10 masks
// the lowest four bits of each word.
#define FOUR(op, g, tile, lo, hi) \
	VMOVDQU (32*g)(tile), Y15  \
	VPAND   Y10, Y15, Y12      \
	VPSRLW  $4, Y15, Y13       \
	VPAND   Y10, Y13, Y13      \
	op(Y14, lo, hi)            \
	VPSRLW  $8, Y15, Y12       \
	VPAND   Y10, Y12, Y12      \
	VPSRLW  $12, Y15, Y13      \
	op(Y11, lo, hi)

#define FOURS4(op, g) \
	VPBROADCASTD (8*g)(R8), Y14    \
	VPBROADCASTD (8*g+4)(R8), Y11  \
	FOUR(op, g, AX, Y0, Y1)        \
	FOUR(op, g, BX, Y2, Y3)        \
	FOUR(op, g, R9, Y4, Y5)        \
	FOUR(op, g, R10, Y6, Y7)

#define EIGHT4(op, g) \
	AHEAD((64*g))        \
	FOURS4(op, (2*g))    \
	FOURS4(op, (2*g+1))

#define SUM8(op) \
	FOUR8(op, 0)  \
	FOUR8(op, 1)  \
	FOUR8(op, 2)  \
	FOUR8(op, 3)  \
	FOUR8(op, 4)  \
	FOUR8(op, 5)  \
	FOUR8(op, 6)  \
	FOUR8(op, 7)

#define SUM4(op) \
	EIGHT4(op, 0)  \
	EIGHT4(op, 1)  \
	EIGHT4(op, 2)  \
	EIGHT4(op, 3)

// CHAIN continues the chains of a tile with its scales, which follow the weights.
#define CHAIN(weights, tile, at, lo, hi) \
	VPMOVZXWD   weights(tile), Y12        \
	VPMOVZXWD   (weights+16)(tile), Y13   \
	VPSLLD      $16, Y12, Y12             \
	VPSLLD      $16, Y13, Y13             \
	VCVTDQ2PS   lo, lo                    \
	VCVTDQ2PS   hi, hi                    \
	VFMADD213PS at(DI), Y12, lo           \
	VFMADD213PS (at+32)(DI), Y13, hi      \
	VMOVUPS     lo, at(DI)                \
	VMOVUPS     hi, (at+32)(DI)           \
	ADDQ        $(weights+32), tile

#define CHAINS(weights) \
	AHEAD(weights)                     \
	CHAIN(weights, AX, 0, Y0, Y1)      \
	CHAIN(weights, BX, 64, Y2, Y3)     \
	CHAIN(weights, R9, 128, Y4, Y5)    \
	CHAIN(weights, R10, 192, Y6, Y7)   \
	ADDQ $64, R8                       \
	DECQ CX

// TILES goes to four tiles: nothing is fetched when they are the last.
#define TILES \
	MOVQ ldw+96(FP), R15      \
	MOVQ R12, AX              \
	LEAQ (AX)(R15*1), BX      \
	LEAQ (AX)(R15*2), R9      \
	LEAQ (BX)(R15*2), R10     \
	LEAQ (AX)(R15*4), R12     \
	SHLQ $2, R15              \
	SUBQ $4, tiles+112(FP)    \
	JGT  2(PC)                \
	XORQ R15, R15             \
	MOVQ q_base+24(FP), R8    \
	MOVQ blocks+104(FP), CX

#define ZERO8 \
	VPXOR Y0, Y0, Y0  \
	VPXOR Y1, Y1, Y1  \
	VPXOR Y2, Y2, Y2  \
	VPXOR Y3, Y3, Y3  \
	VPXOR Y4, Y4, Y4  \
	VPXOR Y5, Y5, Y5  \
	VPXOR Y6, Y6, Y6  \
	VPXOR Y7, Y7, Y7

#define START4 \
	VPBROADCASTD (R14), Y0  \
	ADDQ         $4, R14    \
	VMOVDQA      Y0, Y1     \
	VMOVDQA      Y0, Y2     \
	VMOVDQA      Y0, Y3     \
	VMOVDQA      Y0, Y4     \
	VMOVDQA      Y0, Y5     \
	VMOVDQA      Y0, Y6     \
	VMOVDQA      Y0, Y7

#define ONE8(op) \
	MOVQ y_base+0(FP), DI     \
	MOVQ w_base+72(FP), R12   \
tiles:                        \
	TILES                     \
block:                        \
	ZERO8                     \
	SUM8(op)                  \
	CHAINS(512)               \
	JNZ  block                \
	ADDQ $256, DI             \
	CMPQ tiles+112(FP), $0    \
	JGT  tiles                \
	VZEROUPPER                \
	RET

#define ONE4(op) \
	MOVL $0x000f000f, AX          \
	VMOVD AX, X10                 \
	VPBROADCASTD X10, Y10         \
	MOVQ y_base+0(FP), DI         \
	MOVQ w_base+72(FP), R12       \
tiles:                            \
	TILES                         \
	MOVQ starts_base+48(FP), R14  \
block:                            \
	START4                        \
	SUM4(op)                      \
	CHAINS(256)                   \
	JNZ  block                    \
	ADDQ $256, DI                 \
	CMPQ tiles+112(FP), $0        \
	JGT  tiles                    \
	VZEROUPPER                    \
	RET

// func quantOne8AVX2(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)
TEXT ·quantOne8AVX2(SB), NOSPLIT, $0-120
	ONE8(MADD)

// func quantOne4AVX2(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)
TEXT ·quantOne4AVX2(SB), NOSPLIT, $0-120
	ONE4(MADD)

// func quantOne8VNNI(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)
TEXT ·quantOne8VNNI(SB), NOSPLIT, $0-120
	ONE8(DPWSS)

// func quantOne4VNNI(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)
TEXT ·quantOne4VNNI(SB), NOSPLIT, $0-120
	ONE4(DPWSS)

//go:build !purego

#include "textflag.h"

// Products with Q8 and Q4 tiles in 256 bits with VPDPWSSD, one tile at a time, and the 32 registers
// that come with it.

#define S0 Y0
#define S1 Y1
#define S2 Y2
#define S3 Y3
#define S4 Y4
#define S5 Y5
#define S6 Y6
#define S7 Y7
#define S8 Y8
#define S9 Y9
#define S10 Y10
#define S11 Y11
#define S12 Y12
#define S13 Y13
#define S14 Y14
#define S15 Y15
#define WA Y24
#define WB Y25
#define XX Y28

#include "quantrows_amd64.h"

// AHEAD fetches a line of the tile after the next.
#define AHEAD(at) \
	PREFETCHT1 (at)(AX)(R15*1)

// PAIR takes pair p of a Q8 tile.
#define PAIR(p) \
	VPMOVSXBW (32*p)(AX), WA     \
	VPMOVSXBW (32*p+16)(AX), WB

// INPUTS takes four inputs of a Q4 tile, EVEN and ODD are their two pairs. Y29 masks the lowest
// four bits of each word.
#define INPUTS(g) \
	VMOVDQU32 (32*g)(AX), Y26

#define EVEN \
	VPANDD Y29, Y26, WA  \
	VPSRLW $4, Y26, WB   \
	VPANDD Y29, WB, WB

#define ODD \
	VPSRLW $8, Y26, WA   \
	VPANDD Y29, WA, WA   \
	VPSRLW $12, Y26, WB

// SCALES takes the scales, which follow the weights.
#define SCALES(weights) \
	AHEAD(weights)                   \
	VPMOVZXWD weights(AX), WA        \
	VPMOVZXWD (weights+16)(AX), WB   \
	VPSLLD    $16, WA, WA            \
	VPSLLD    $16, WB, WB

// ACROSS goes to the next tile.
#define ACROSS \
	ADDQ $64, y_base+0(FP)  \
	MOVQ ldw+112(FP), AX    \
	ADDQ AX, w_base+88(FP)  \
	DECQ tiles+136(FP)

// TOP goes to the first row of a tile.
#define TOP \
	MOVQ w_base+88(FP), BX        \
	MOVQ BX, second-8(SP)         \
	MOVQ $32, R13                 \
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

// func quantTile8VNNI(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw,
//	rows, blocks, tiles int, add bool)
TEXT ·quantTile8VNNI(SB), NOSPLIT, $40-145
	SETUP

tile:
	TOP

rows:
	GROUP

done:
	VZEROUPPER
	RET

	LOOPS(START8, PAIRS8, 512)

eight:
	STARTEIGHT(START8)
	ROWS(PAIRS8, EIGHT, EIGHT, CHAINEIGHT, 512)
	JNZ eight
	NEXT(8)

// func quantTile4VNNI(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw,
//	rows, blocks, tiles int, add bool)
TEXT ·quantTile4VNNI(SB), NOSPLIT, $40-145
	MOVL         $0x000f000f, AX
	VPBROADCASTD AX, Y29
	SETUP

tile:
	TOP

rows:
	GROUP

done:
	VZEROUPPER
	RET

	LOOPS(START4, PAIRS4, 256)

eight:
	STARTEIGHT(START4)
	ROWS(PAIRS4, EIGHT, EIGHT, CHAINEIGHT, 256)
	JNZ eight
	NEXT(8)

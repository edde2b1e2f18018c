//go:build !purego

#include "textflag.h"
#include "amx_amd64.h"
#include "nibbles_amd64.h"

// Products with Q8 and Q4 tiles in AMX: 16 rows by 16 outputs. Rows stay as they are, pairs of bytes
// x = 256·high + low. The weights w of up to DEPTH blocks are widened to two tiles each, once for all
// rows: words 256·w, whose bytes meet the high bytes of rows, and words w without the sign's bits,
// which meet the low ones; the other bytes are zero. A block's two sums go through memory, are put
// together, converted, and continue the chains in Z0–Z15.
//
// What a block needs is spread over three steps, so that the multiplier never waits: while step n
// multiplies block n, block n − 1 is stored and block n − 2 added to the chains. Steps alternate
// between two pairs of tiles, and two places in memory.
//
//	DI two places of two sums     R8 widened weights, blocks of them 2112 bytes apart
//	CX 64                         R11 their number
//	AX, SI rows, and distance     BX weights to multiply, R12 blocks left for these rows
//	R13 products left             R10 blocks left until the chains are stored, R9 their scales
//	R15, DX y, and distance       R14 three times that

DATA ·tileShape+0(SB)/8, $1
DATA ·tileShape+8(SB)/8, $0
DATA ·tileShape+16(SB)/8, $0x0040004000400040
DATA ·tileShape+24(SB)/8, $0x0040004000400040
DATA ·tileShape+32(SB)/8, $0
DATA ·tileShape+40(SB)/8, $0
DATA ·tileShape+48(SB)/8, $0x1010101010101010
DATA ·tileShape+56(SB)/8, $0
GLOBL ·tileShape(SB), RODATA|NOPTR, $64

// AHEAD fetches a line of what is widened next.
#define AHEAD(at) PREFETCHT0 (at)(R9)(R10*1)

// WIDEN8 widens two pairs of inputs of a Q8 tile at R9 to BX, WIDEN4 of a Q4 tile.
#define WIDEN8(p) \
	AHEAD((64*p))                    \
	VPMOVZXBW (64*p)(R9), Z16        \
	VPMOVZXBW (64*p+32)(R9), Z17     \
	VPSLLW    $8, Z16, Z18           \
	VPSLLW    $8, Z17, Z19           \
	VMOVDQA64 Z16, (128*p)(BX)       \
	VMOVDQA64 Z17, (128*p+64)(BX)    \
	VMOVDQA64 Z18, (128*p+1024)(BX)  \
	VMOVDQA64 Z19, (128*p+1088)(BX)

#define WIDEN4(g) \
	AHEAD((32*g))                    \
	VBROADCASTI64X4 (32*g)(R9), Z18  \
	VPSRLVW   Z30, Z18, Z16          \
	VPSRLVW   Z31, Z18, Z17          \
	VPANDD    Z29, Z16, Z16          \
	VPANDD    Z29, Z17, Z17          \
	VPSUBB    Z27, Z16, Z16          \
	VPSUBB    Z27, Z17, Z17          \
	VPSLLW    $8, Z16, Z18           \
	VPSLLW    $8, Z17, Z19           \
	VMOVDQA64 Z16, (128*g)(BX)       \
	VMOVDQA64 Z17, (128*g+64)(BX)    \
	VMOVDQA64 Z18, (128*g+1024)(BX)  \
	VMOVDQA64 Z19, (128*g+1088)(BX)

#define WIDENBLOCK(widen, weights) \
	widen(0)                        \
	widen(1)                        \
	widen(2)                        \
	widen(3)                        \
	widen(4)                        \
	widen(5)                        \
	widen(6)                        \
	widen(7)                        \
	AHEAD(weights)                  \
	VPMOVZXWD weights(R9), Z16      \
	VPSLLD    $16, Z16, Z16         \
	VMOVDQA64 Z16, 2048(BX)         \
	ADDQ      $(weights+32), R9     \
	ADDQ      $2112, BX

// FOURCHAINS does a step with the chains of four rows at R15, STORED or LOADED.
#define LOADED(z, at) VMOVUPS at, z
#define STORED(z, at) VMOVUPS z, at
#define FOURCHAINS(OP, a, b, c, d) \
	OP(a, (R15))         \
	OP(b, (R15)(DX*1))   \
	OP(c, (R15)(DX*2))   \
	OP(d, (R15)(R14*1))  \
	LEAQ (R15)(DX*4), R15

#define CHAINS(OP) \
	FOURCHAINS(OP, Z0, Z1, Z2, Z3)    \
	FOURCHAINS(OP, Z4, Z5, Z6, Z7)    \
	FOURCHAINS(OP, Z8, Z9, Z10, Z11)  \
	FOURCHAINS(OP, Z12, Z13, Z14, Z15)

// ADDROW continues the chain of row n with its two sums.
#define ADDROW(place, n, t, z) \
	VPSLLD      $8, (place+64*n)(DI), t           \
	VPADDD      (place+1024+64*n)(DI), t, t       \
	VCVTDQ2PS   t, t                              \
	VFMADD231PS Z24, t, z

#define ADDROWS(place) \
	VMOVAPS 2048(R9), Z24       \
	ADDQ $2112, R9              \
	ADDROW(place, 0, Z16, Z0)   \
	ADDROW(place, 1, Z17, Z1)   \
	ADDROW(place, 2, Z18, Z2)   \
	ADDROW(place, 3, Z19, Z3)   \
	ADDROW(place, 4, Z20, Z4)   \
	ADDROW(place, 5, Z21, Z5)   \
	ADDROW(place, 6, Z22, Z6)   \
	ADDROW(place, 7, Z23, Z7)   \
	ADDROW(place, 8, Z16, Z8)   \
	ADDROW(place, 9, Z17, Z9)   \
	ADDROW(place, 10, Z18, Z10) \
	ADDROW(place, 11, Z19, Z11) \
	ADDROW(place, 12, Z20, Z12) \
	ADDROW(place, 13, Z21, Z13) \
	ADDROW(place, 14, Z22, Z14) \
	ADDROW(place, 15, Z23, Z15)

#define LOAD \
	LOADROWS  \
	LOADLOW   \
	LOADHIGH

// FORWARD goes to the next product, of the same rows or of the next 16.
#define FORWARD \
	DECQ R13               \
	ADDQ $64, AX           \
	ADDQ $2112, BX         \
	DECQ R12               \
	JNZ  6(PC)             \
	MOVQ R11, R12          \
	MOVQ R8, BX            \
	MOVQ group-24(SP), AX  \
	ADDQ height-32(SP), AX \
	MOVQ AX, group-24(SP)

#define EACH(OP) \
	OP(Z0)   \
	OP(Z1)   \
	OP(Z2)   \
	OP(Z3)   \
	OP(Z4)   \
	OP(Z5)   \
	OP(Z6)   \
	OP(Z7)   \
	OP(Z8)   \
	OP(Z9)   \
	OP(Z10)  \
	OP(Z11)  \
	OP(Z12)  \
	OP(Z13)  \
	OP(Z14)  \
	OP(Z15)

#define ZERO(z) VPXORD z, z, z

// BEGIN takes the chains of 16 rows: from y, from where they are kept, or +0.
#define BEGIN(fresh, begun) \
	MOVQ R8, R9                 \
	MOVQ R11, R10               \
	MOVQ stride-56(SP), DX      \
	CMPQ DX, $0                 \
	JEQ  fresh                  \
	LEAQ (DX)(DX*2), R14        \
	MOVQ from-48(SP), R15       \
	CHAINS(LOADED)              \
	MOVQ R15, from-48(SP)       \
	JMP  begun                  \
fresh:                          \
	EACH(ZERO)                  \
begun:

// LEAVE puts them into y, or where they are kept.
#define LEAVE \
	MOVQ to-64(SP), R15         \
	MOVQ onward-72(SP), DX      \
	LEAQ (DX)(DX*2), R14        \
	CHAINS(STORED)              \
	MOVQ R15, to-64(SP)

// STEP adds a block's sums to the chains, multiplies another, and stores what the step before has
// multiplied. Past the last block of the last rows it ends.
#define STEP(place, MULTIPLY, STORE, add, more, fresh, begun, store) \
	TESTQ R13, R13           \
	JEQ   add                \
	LOAD                     \
add:                         \
	ADDROWS(place)           \
	DECQ  R10                \
	JNZ   more               \
	LEAVE                    \
	DECQ  groups-80(SP)      \
	JEQ   finished           \
	BEGIN(fresh, begun)      \
more:                        \
	TESTQ R13, R13           \
	JEQ   store              \
	MULTIPLY                 \
	FORWARD                  \
store:                       \
	STORE

#define MULTIPLY01 \
	ZERO0  \
	HIGH0  \
	ZERO1  \
	LOW1

#define MULTIPLY23 \
	ZERO2  \
	HIGH2  \
	ZERO3  \
	LOW3

#define STORE01 \
	STORE0  \
	STORE1

#define STORE23 \
	STORE2  \
	STORE3

#define DEPTH 6

// LEAF is a leaf on tiles of some bytes of weights.
#define LEAF(widen, weights) \
	MOVQ $64, CX                    \
	LEAQ ·tileShape(SB), AX         \
	TILECONFIG                      \
	MOVQ ldq+56(FP), SI             \
	SHLQ $6, SI                     \
	MOVQ SI, AX                     \
	SHLQ $4, AX                     \
	MOVQ AX, height-32(SP)          \
	LEAQ room-35344(SP), DI         \
	ADDQ $63, DI                    \
	ANDQ $~63, DI                   \
	LEAQ 4096(DI), R8               \
tile:                               \
	MOVQ q_base+32(FP), AX          \
	MOVQ AX, rows-16(SP)            \
	MOVQ w_base+64(FP), R9          \
	MOVQ blocks+104(FP), R13        \
	MOVBQZX add+120(FP), AX         \
	IMULQ ldy+24(FP), AX            \
	SHLQ $2, AX                     \
	MOVQ AX, stride-56(SP)          \
	MOVQ y_base+0(FP), AX           \
	MOVQ AX, from-48(SP)            \
some:                               \
	MOVQ $DEPTH, R11                \
	CMPQ R13, R11                   \
	CMOVQLT R13, R11                \
	LEAQ (DEPTH*2112)(R8), AX       \
	MOVQ AX, to-64(SP)              \
	MOVQ CX, onward-72(SP)          \
	IMUL3Q $(weights+32), R11, R10  \
	SUBQ R11, R13                   \
	MOVQ R13, left-8(SP)            \
	JNZ  near                       \
	MOVQ y_base+0(FP), AX           \
	MOVQ AX, to-64(SP)              \
	MOVQ ldy+24(FP), AX             \
	SHLQ $2, AX                     \
	MOVQ AX, onward-72(SP)          \
	XORQ R10, R10                   \
	CMPQ tiles+112(FP), $1          \
	JEQ  near                       \
	MOVQ w_base+64(FP), R10         \
	ADDQ ldw+88(FP), R10            \
	SUBQ R9, R10                    \
near:                               \
	MOVQ R11, R12                   \
	MOVQ R8, BX                     \
widened:                            \
	WIDENBLOCK(widen, weights)      \
	DECQ R12                        \
	JNZ  widened                    \
	MOVQ R9, behind-40(SP)          \
	MOVQ rows-16(SP), AX            \
	MOVQ AX, group-24(SP)           \
	MOVQ groups+96(FP), R13         \
	MOVQ R13, groups-80(SP)         \
	IMULQ R11, R13                  \
	MOVQ R11, R12                   \
	MOVQ R8, BX                     \
	LOAD                            \
	MULTIPLY01                      \
	FORWARD                         \
	TESTQ R13, R13                  \
	JEQ  single                     \
	LOAD                            \
	MULTIPLY23                      \
	FORWARD                         \
single:                             \
	STORE01                         \
	BEGIN(fresh, begun)             \
even:                               \
	STEP(0, MULTIPLY01, STORE23, evenAdd, evenMore, evenFresh, evenBegun, evenStore)  \
	STEP(2048, MULTIPLY23, STORE01, oddAdd, oddMore, oddFresh, oddBegun, oddStore)    \
	JMP  even                       \
finished:                           \
	MOVQ left-8(SP), R13            \
	MOVQ behind-40(SP), R9          \
	ADDQ $(64*DEPTH), rows-16(SP)   \
	LEAQ (DEPTH*2112)(R8), AX       \
	MOVQ AX, from-48(SP)            \
	MOVQ CX, stride-56(SP)          \
	TESTQ R13, R13                  \
	JNZ  some                       \
	ADDQ $64, y_base+0(FP)          \
	MOVQ ldw+88(FP), AX             \
	ADDQ AX, w_base+64(FP)          \
	DECQ tiles+112(FP)              \
	JNZ  tile                       \
	TILERELEASE                     \
	VZEROUPPER                      \
	RET

// func quantTile8AMX(y []float32, ldy int, q []int16, ldq int, w []byte, ldw, groups, blocks,
//	tiles int, add bool)
TEXT ·quantTile8AMX(SB), 0, $35344-121
	LEAF(WIDEN8, 512)

// func quantTile4AMX(y []float32, ldy int, q []int16, ldq int, w []byte, ldw, groups, blocks,
//	tiles int, add bool)
TEXT ·quantTile4AMX(SB), 0, $35344-121
	NIBBLES
	MOVL         $0x00080008, AX // what is subtracted from each weight
	VPBROADCASTD AX, Z27
	LEAF(WIDEN4, 256)

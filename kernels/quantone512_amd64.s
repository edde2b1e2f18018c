//go:build !purego

#include "textflag.h"

// Products of one row with Q8 and Q4 tiles in 512 bits. Memory is what takes time: four tiles of 16
// outputs are taken side by side, as four streams, and the next four are fetched meanwhile. The
// chains are in Z16–Z19.
//
//	AX, BX, R9, R10 the tiles, R12 the first    DI y
//	R8 the row's integers                       R14 its starts
//	CX blocks left                              R15 from a tile to the one to fetch

#define AHEAD(at) \
	PREFETCHT1 (at)(AX)(R15*1)   \
	PREFETCHT1 (at)(BX)(R15*1)   \
	PREFETCHT1 (at)(R9)(R15*1)   \
	PREFETCHT1 (at)(R10)(R15*1)

#define ZERO4(a, b, c, d) \
	VPXORD a, a, a  \
	VPXORD b, b, b  \
	VPXORD c, c, c  \
	VPXORD d, d, d

// PAIR8 adds the products of pair p of a Q8 tile: a lane holds a pair of inputs of one output.
#define PAIR8(p, a, b, c, d) \
	VPBROADCASTD (4*p)(R8), Z28   \
	VPMOVSXBW    (32*p)(AX), Z24  \
	VPMOVSXBW    (32*p)(BX), Z25  \
	VPMOVSXBW    (32*p)(R9), Z26  \
	VPMOVSXBW    (32*p)(R10), Z27 \
	VPDPWSSD     Z24, Z28, a      \
	VPDPWSSD     Z25, Z28, b      \
	VPDPWSSD     Z26, Z28, c      \
	VPDPWSSD     Z27, Z28, d

// PAIRS8 is two pairs, with sums of their own: they are added at the end of the block.
#define PAIRS8(p) \
	AHEAD((64*p))                   \
	PAIR8((2*p), Z0, Z1, Z2, Z3)    \
	PAIR8((2*p+1), Z4, Z5, Z6, Z7)

// Q4 takes the row in bytes: x = 256·high + low, both −128 … 127, since VPDPBUSD multiplies four
// bytes where VPDPWSSD multiplies two integers. The weights of outputs 8–15 stay where they are in
// their bytes, 16 times what they mean. 32767 · 16 · 15 · 32 < 2³¹: nothing overflows.
// x = 32640 … 32767 would need a high byte of 128: there it is 127, and a byte of ones, which is
// zero elsewhere, adds the rest, in the blocks that have such an x.
//
// A block takes 128 bytes of room: 32 high bytes, 32 low ones, 32 of rest, and the mask of those
// that are not zero. Z29 masks the nibbles: outputs 0–7 in the lower half, 8–15 in the upper.

// The inputs of an output lie in the order 0, 2, 1, 3 in their four bytes.
DATA ·byteOrder+0(SB)/8, $0x0705060403010200
DATA ·byteOrder+8(SB)/8, $0x0f0d0e0c0b090a08
GLOBL ·byteOrder(SB), RODATA|NOPTR, $16

// WEIGHTS4 takes four inputs of each tile, BYTES4 adds their products with the bytes at (R8). FOUR4
// does so for the high and the low bytes, REST4 for the rest.
#define WEIGHTS4(g) \
	VBROADCASTI64X4 (32*g)(AX), Z24   \
	VBROADCASTI64X4 (32*g)(BX), Z25   \
	VBROADCASTI64X4 (32*g)(R9), Z26   \
	VBROADCASTI64X4 (32*g)(R10), Z27  \
	VPANDD          Z29, Z24, Z24     \
	VPANDD          Z29, Z25, Z25     \
	VPANDD          Z29, Z26, Z26     \
	VPANDD          Z29, Z27, Z27

#define BYTES4(at, a, b, c, d) \
	VPBROADCASTD (at)(R8), Z28  \
	VPDPBUSD     Z28, Z24, a    \
	VPDPBUSD     Z28, Z25, b    \
	VPDPBUSD     Z28, Z26, c    \
	VPDPBUSD     Z28, Z27, d

#define FOUR4(g) \
	WEIGHTS4(g)                        \
	BYTES4((4*g), Z0, Z1, Z2, Z3)      \
	BYTES4((4*g+32), Z4, Z5, Z6, Z7)

#define REST4(g) \
	WEIGHTS4(g)                        \
	BYTES4((4*g+64), Z0, Z1, Z2, Z3)

// SUM4 makes the block's sum of a tile of what the high and the low bytes gave. Z30 holds the
// shifts of the halves.
#define SUM4(high, low) \
	VPSLLD      $8, high, high        \
	VPADDD      low, high, high       \
	VPSRAVD     Z30, high, high       \
	VPADDD.BCST (R14), high, high

// CHAIN continues four chains with the scales, which follow the weights, and goes to the next
// block.
#define SCALE(weights, tile, scale) \
	VPMOVZXWD weights(tile), scale  \
	VPSLLD    $16, scale, scale

#define CHAIN(weights) \
	AHEAD(weights)               \
	SCALE(weights, AX, Z24)      \
	SCALE(weights, BX, Z25)      \
	SCALE(weights, R9, Z26)      \
	SCALE(weights, R10, Z27)     \
	VCVTDQ2PS   Z0, Z0           \
	VCVTDQ2PS   Z1, Z1           \
	VCVTDQ2PS   Z2, Z2           \
	VCVTDQ2PS   Z3, Z3           \
	VFMADD231PS Z24, Z0, Z16     \
	VFMADD231PS Z25, Z1, Z17     \
	VFMADD231PS Z26, Z2, Z18     \
	VFMADD231PS Z27, Z3, Z19     \
	ADDQ        $(weights+32), AX   \
	ADDQ        $(weights+32), BX   \
	ADDQ        $(weights+32), R9   \
	ADDQ        $(weights+32), R10  \
	DECQ        CX

// TILES goes to four tiles: nothing is fetched when they are the last.
#define TILES \
	MOVQ    ldw+96(FP), R15  \
	MOVQ    R12, AX          \
	LEAQ    (AX)(R15*1), BX  \
	LEAQ    (AX)(R15*2), R9  \
	LEAQ    (BX)(R15*2), R10 \
	LEAQ    (AX)(R15*4), R12 \
	SHLQ    $2, R15          \
	SUBQ    $4, tiles+112(FP) \
	JGT     2(PC)            \
	XORQ    R15, R15         \
	MOVQ    blocks+104(FP), CX \
	VMOVUPS (DI), Z16        \
	VMOVUPS 64(DI), Z17      \
	VMOVUPS 128(DI), Z18     \
	VMOVUPS 192(DI), Z19

#define NEXT \
	VMOVUPS Z16, (DI)     \
	VMOVUPS Z17, 64(DI)   \
	VMOVUPS Z18, 128(DI)  \
	VMOVUPS Z19, 192(DI)  \
	ADDQ    $256, DI      \
	CMPQ    tiles+112(FP), $0

// func quantOne8AVX512(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)
TEXT ·quantOne8AVX512(SB), NOSPLIT, $0-120
	MOVQ y_base+0(FP), DI
	MOVQ w_base+72(FP), R12

tiles:
	TILES
	MOVQ q_base+24(FP), R8

block:
	ZERO4(Z0, Z1, Z2, Z3)
	ZERO4(Z4, Z5, Z6, Z7)
	PAIRS8(0)
	PAIRS8(1)
	PAIRS8(2)
	PAIRS8(3)
	PAIRS8(4)
	PAIRS8(5)
	PAIRS8(6)
	PAIRS8(7)
	VPADDD Z4, Z0, Z0
	VPADDD Z5, Z1, Z1
	VPADDD Z6, Z2, Z2
	VPADDD Z7, Z3, Z3
	ADDQ   $64, R8
	CHAIN(512)
	JNZ    block
	NEXT
	JGT    tiles
	VZEROUPPER
	RET

// func quantOne4AVX512(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)
TEXT ·quantOne4AVX512(SB), 0, $16448-120
	LEAQ room-16448(SP), R11
	ADDQ $63, R11
	ANDQ $~63, R11

	// the row in bytes
	MOVL            $0x00800080, AX
	VPBROADCASTD    AX, Z10
	MOVL            $0x7f7f7f7f, AX
	VPBROADCASTD    AX, Z11              // 32639
	MOVL            $0x01010101, AX
	VPBROADCASTD    AX, Z12
	VBROADCASTI32X4 ·byteOrder(SB), Z13
	MOVQ            q_base+24(FP), SI
	MOVQ            R11, R8
	MOVQ            blocks+104(FP), CX

bytes:
	VMOVDQU64  (SI), Z0
	VPADDSW    Z10, Z0, Z1
	VPSRAW     $8, Z1, Z1
	VPMOVWB    Z1, Y1
	VPMOVWB    Z0, Y2
	VPCMPGTW   Z11, Z0, K1
	VMOVDQU8.Z Y12, K1, Y3
	VPSHUFB    Y13, Y1, Y1
	VPSHUFB    Y13, Y2, Y2
	VPSHUFB    Y13, Y3, Y3
	VMOVDQU    Y1, (R8)
	VMOVDQU    Y2, 32(R8)
	VMOVDQU    Y3, 64(R8)
	KMOVD      K1, AX
	MOVL       AX, 96(R8)
	ADDQ       $64, SI
	ADDQ       $128, R8
	DECQ       CX
	JNZ        bytes

	MOVL         $0x0f0f0f0f, AX
	VPBROADCASTD AX, Z29
	VPSLLD       $4, Y29, Y30
	VINSERTI64X4 $1, Y30, Z29, Z29
	MOVL         $4, AX
	VPBROADCASTD AX, Y31
	VPXORD       Y30, Y30, Y30
	VINSERTI64X4 $1, Y31, Z30, Z30
	MOVQ         y_base+0(FP), DI
	MOVQ         w_base+72(FP), R12

tiles:
	TILES
	MOVQ starts_base+48(FP), R14
	MOVQ R11, R8

block:
	ZERO4(Z0, Z1, Z2, Z3)
	ZERO4(Z4, Z5, Z6, Z7)
	AHEAD(0)
	FOUR4(0)
	FOUR4(1)
	AHEAD(64)
	FOUR4(2)
	FOUR4(3)
	AHEAD(128)
	FOUR4(4)
	FOUR4(5)
	AHEAD(192)
	FOUR4(6)
	FOUR4(7)
	CMPL 96(R8), $0
	JNE  rest

sum:
	SUM4(Z0, Z4)
	SUM4(Z1, Z5)
	SUM4(Z2, Z6)
	SUM4(Z3, Z7)
	ADDQ $4, R14
	ADDQ $128, R8
	CHAIN(256)
	JNZ  block
	NEXT
	JGT  tiles
	VZEROUPPER
	RET

rest:
	REST4(0)
	REST4(1)
	REST4(2)
	REST4(3)
	REST4(4)
	REST4(5)
	REST4(6)
	REST4(7)
	JMP sum

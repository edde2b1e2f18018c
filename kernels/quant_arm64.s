//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Products with Q8 and Q4 tiles, four rows (or one) by 16 outputs. V0–V3 hold eight integers of each row; weights, widened to int16, eight
// outputs of one input in a register, are in V5–V7 and V9; V16–V31 are the sums, four registers a row. The chains stay in memory.
//
//	R7 the tile          R10–R13 rows of q         R8 rows left
//	R9 blocks left       R14–R17 rows of starts    R25 tiles left
//	R24 eights left      R19–R22 rows of y         R1, R3, R5 bytes of a row of y, q, starts

// SUM adds the products of eight weights w with element e of a row.
#define SUM(e, q, w, acc) \
	SMLAL(e, q, w, acc)         \
	SMLAL2(e, q, w, (acc)+1)

// ROWS4 and ROWS1 do so for every row: the outputs are 0–7 where o is 0, 8–15 where it is 2. One row has sums of its own
// for the odd inputs: that makes eight independent chains.
#define ROWS4(e, w, o) \
	SUM(e, 0, w, 16+o)          \
	SUM(e, 1, w, 20+o)          \
	SUM(e, 2, w, 24+o)          \
	SUM(e, 3, w, 28+o)

#define ROWS1(e, w, o) SUM(e, 0, w, 16+4*((e)&1)+o)

#define TAKE4 \
	FMOVQ.P 16(R10), F0         \
	FMOVQ.P 16(R11), F1         \
	FMOVQ.P 16(R12), F2         \
	FMOVQ.P 16(R13), F3

#define TAKE1 FMOVQ.P 16(R10), F0

// PAIR takes inputs e and e+1 of a Q8 tile: a halfword has both of one output.
#define PAIR(e, ROWS) \
	FLDPQ.P 32(R7), (F5, F6)    \
	HSHL8(5, 7)                 \
	HSSHR8(7, 7)                \
	ROWS(e, 7, 0)               \
	HSSHR8(5, 5)                \
	ROWS((e)+1, 5, 0)           \
	HSHL8(6, 7)                 \
	HSSHR8(7, 7)                \
	ROWS(e, 7, 2)               \
	HSSHR8(6, 6)                \
	ROWS((e)+1, 6, 2)

#define EIGHT8(ROWS) \
	PAIR(0, ROWS)               \
	PAIR(2, ROWS)               \
	PAIR(4, ROWS)               \
	PAIR(6, ROWS)

// QUARTERS takes inputs e and e+2 of a Q4 tile: from the lowest bits of a halfword up they are e of outputs 0–7, of 8–15,
// then e+2 of both. V8 is 15 in each lane.
#define QUARTERS(e, v, ROWS) \
	AND(8, v, 9)                \
	ROWS(e, 9, 0)               \
	HUSHR(4, v, 9)              \
	AND(8, 9, 9)                \
	ROWS(e, 9, 2)               \
	HUSHR(8, v, 9)              \
	AND(8, 9, 9)                \
	ROWS((e)+2, 9, 0)           \
	HUSHR(12, v, 9)             \
	ROWS((e)+2, 9, 2)

#define FOUR4(e, ROWS) \
	FLDPQ.P 32(R7), (F5, F6)    \
	HUZP1(6, 5, 7)              \
	QUARTERS(e, 7, ROWS)        \
	HUZP2(6, 5, 7)              \
	QUARTERS((e)+1, 7, ROWS)

#define EIGHT4(ROWS) \
	FOUR4(0, ROWS)              \
	FOUR4(4, ROWS)

// The sums of a block begin at 0 in Q8, at starts in Q4.
#define ZERO4(start, v, acc) \
	ZERO(acc)                   \
	ZERO((acc)+1)               \
	ZERO((acc)+2)               \
	ZERO((acc)+3)

#define START4(start, v, acc) \
	VLD1R.P 4(start), [v.S4]    \
	MOV(acc, (acc)+1)           \
	MOV(acc, (acc)+2)           \
	MOV(acc, (acc)+3)

#define BEGIN4(F) \
	F(R14, V16, 16)             \
	F(R15, V20, 20)             \
	F(R16, V24, 24)             \
	F(R17, V28, 28)

#define BEGIN1(F) \
	F(R14, V16, 16)             \
	ZERO4(R14, V20, 20)

// CHAIN continues a row's sums: the scales are in V4–V7. END4 does so for the rows that exist.
#define CHAIN(y, acc) \
	FLDPQ (y), (F0, F1)         \
	FLDPQ 32(y), (F2, F3)       \
	SCVTF(acc, acc)             \
	SCVTF((acc)+1, (acc)+1)     \
	SCVTF((acc)+2, (acc)+2)     \
	SCVTF((acc)+3, (acc)+3)     \
	FMLA(4, acc, 0)             \
	FMLA(5, (acc)+1, 1)         \
	FMLA(6, (acc)+2, 2)         \
	FMLA(7, (acc)+3, 3)         \
	FSTPQ (F0, F1), (y)         \
	FSTPQ (F2, F3), 32(y)

#define SCALES \
	FLDPQ.P 32(R7), (F5, F7)    \
	SHLL(5, 4)                  \
	SHLL2(5, 5)                 \
	SHLL(7, 6)                  \
	SHLL2(7, 7)

#define END4 \
	CHAIN(R19, 16)              \
	CMP  $2, R8                 \
	BLT  ended                  \
	CHAIN(R20, 20)              \
	CMP  $3, R8                 \
	BLT  ended                  \
	CHAIN(R21, 24)              \
	CMP  $4, R8                 \
	BLT  ended                  \
	CHAIN(R22, 28)              \
ended:

#define END1 \
	IADD(20, 16, 16)            \
	IADD(21, 17, 17)            \
	IADD(22, 18, 18)            \
	IADD(23, 19, 19)            \
	CHAIN(R19, 16)

// BLOCKS does all blocks of a group of rows.
#define BLOCKS(BEGIN, START, TAKE, EIGHT, ROWS, END, block, eight) \
block:                          \
	BEGIN(START)                \
	MOVD $4, R24                \
eight:                          \
	TAKE                        \
	EIGHT(ROWS)                 \
	SUBS $1, R24                \
	BNE  eight                  \
	SCALES                      \
	END                         \
	SUBS $1, R9                 \
	BNE  block

// CLAMP4 points four registers at rows ld apart, of which R8 exist: past the last they repeat it.
#define CLAMP4(base, ld, r0, r1, r2, r3) \
	MOVD base, r0               \
	ADD  ld, r0, r1             \
	CMP  $2, R8                 \
	CSEL LT, r0, r1, r1         \
	ADD  ld, r1, r2             \
	CMP  $3, R8                 \
	CSEL LT, r1, r2, r2         \
	ADD  ld, r2, r3             \
	CMP  $4, R8                 \
	CSEL LT, r2, r3, r3

// TILES: R0 y of the tile's columns, R6 the tile; R2, R4, R23 the first of the rows of q, starts and y.
#define TILES(START, EIGHT) \
	MOVD y_base+0(FP), R0       \
	MOVD ldy+24(FP), R1         \
	LSL  $2, R1                 \
	MOVD ldq+80(FP), R5         \
	LSL  $2, R5                 \
	LSL  $4, R5, R3             \
	MOVD w_base+88(FP), R6      \
	MOVD tiles+136(FP), R25     \
	MOVD blocks+128(FP), R9     \
	CBZ  R9, end                \
	FIFTEEN(8)                  \
tile:                           \
	SUBS $1, R25                \
	BLT  end                    \
	MOVD R0, R23                \
	MOVD q_base+32(FP), R2      \
	MOVD starts_base+56(FP), R4 \
	MOVD rows+120(FP), R8       \
rows:                           \
	CMP  $0, R8                 \
	BLE  next                   \
	CLAMP4(R2, R3, R10, R11, R12, R13) \
	CLAMP4(R4, R5, R14, R15, R16, R17) \
	MOVD R23, R19               \
	ADD  R1, R19, R20           \
	ADD  R1, R20, R21           \
	ADD  R1, R21, R22           \
	MOVD R6, R7                 \
	MOVD blocks+128(FP), R9     \
	CMP  $1, R8                 \
	BEQ  block1                 \
	BLOCKS(BEGIN4, START, TAKE4, EIGHT, ROWS4, END4, block4, eight4) \
	ADD  R3<<2, R2              \
	ADD  R5<<2, R4              \
	ADD  R1<<2, R23             \
	SUB  $4, R8                 \
	B    rows                   \
	BLOCKS(BEGIN1, START, TAKE1, EIGHT, ROWS1, END1, block1, eight1)  \
next:                           \
	ADD  $64, R0                \
	MOVD ldw+112(FP), R7        \
	ADD  R7, R6                 \
	B    tile                   \
end:                            \
	RET

// func quantTile8NEON(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows, blocks, tiles int)
TEXT ·quantTile8NEON(SB), NOSPLIT, $0-144
	TILES(ZERO4, EIGHT8)

// func quantTile4NEON(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows, blocks, tiles int)
TEXT ·quantTile4NEON(SB), NOSPLIT, $0-144
	TILES(START4, EIGHT4)

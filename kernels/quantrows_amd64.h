// What the products of several rows with Q8 and Q4 tiles share, in 256 and in 512 bits.
//
// A and B are two vectors of outputs: the halves of a tile in 256 bits, two tiles in 512. The sums
// of row i are in S(2i) for A and S(2i+1) for B, the weights of a pair of inputs, widened to int16,
// in WA and WB: a lane holds a pair of inputs of one output. XX holds the row's pair of integers,
// broadcast. The chains stay in memory.
//
// With up to 4 rows there are too few sums to hide the latency of VPDPWSSD: they are kept twice,
// for the even and the odd pairs, and added at the end of a block.
//
//	AX, BX the tiles of A and B   R13 from A's outputs to B's, in bytes
//	DI row 0 of y, DX distance    R12 a row of y
//	R8, R9 rows 0 and 4 of q      SI distance, R10 three times that
//	R14 row 0 of starts           R11 distance, R15 a row of starts; while weights are read, from
//	                              A to what is fetched
//	CX blocks left
//
// The file that includes this defines the registers, how to take weights and scales (AHEAD, PAIR,
// INPUTS, EVEN, ODD, SCALES), and ACROSS, which goes to the next outputs.

// ADD adds the products with one row's pair.
#define ADD(pair, a, b) \
	VPBROADCASTD pair, XX  \
	VPDPWSSD     WA, XX, a  \
	VPDPWSSD     WB, XX, b

#define ONE(p)    ADD((4*p)(R8), S0, S1)
#define ONEODD(p) ADD((4*p)(R8), S2, S3)

#define TWO(p) \
	ADD((4*p)(R8), S0, S1)        \
	ADD((4*p)(R8)(SI*1), S2, S3)

#define TWOODD(p) \
	ADD((4*p)(R8), S4, S5)        \
	ADD((4*p)(R8)(SI*1), S6, S7)

#define THREE(p) \
	TWO(p)                        \
	ADD((4*p)(R8)(SI*2), S4, S5)

#define THREEODD(p) \
	ADD((4*p)(R8), S6, S7)          \
	ADD((4*p)(R8)(SI*1), S8, S9)    \
	ADD((4*p)(R8)(SI*2), S10, S11)

#define FOUR(p) \
	THREE(p)                       \
	ADD((4*p)(R8)(R10*1), S6, S7)

#define FOURODD(p) \
	ADD((4*p)(R8), S8, S9)           \
	ADD((4*p)(R8)(SI*1), S10, S11)   \
	ADD((4*p)(R8)(SI*2), S12, S13)   \
	ADD((4*p)(R8)(R10*1), S14, S15)

#define SIX(p) \
	FOUR(p)                     \
	ADD((4*p)(R9), S8, S9)          \
	ADD((4*p)(R9)(SI*1), S10, S11)

#define EIGHT(p) \
	SIX(p)                           \
	ADD((4*p)(R9)(SI*2), S12, S13)   \
	ADD((4*p)(R9)(R10*1), S14, S15)

// PAIRS8 is two pairs of inputs of a Q8 tile, PAIRS4 of a Q4 tile; rows and odd are what the even
// and the odd pair meet.
#define PAIRS8(rows, odd, p) \
	AHEAD((64*p))  \
	PAIR((2*p))    \
	rows((2*p))    \
	PAIR((2*p+1))  \
	odd((2*p+1))

#define PAIRS4(rows, odd, g) \
	AHEAD((32*g))  \
	INPUTS(g)      \
	EVEN           \
	rows((2*g))    \
	ODD            \
	odd((2*g+1))

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

#define STARTONE(start) \
	MOVQ R14, R15  \
	start(S0, S1)  \
	ZERO(S2, S3)

#define STARTTWO(start) \
	MOVQ R14, R15  \
	start(S0, S1)  \
	start(S2, S3)  \
	ZERO(S4, S5)   \
	ZERO(S6, S7)

#define STARTTHREE(start) \
	MOVQ R14, R15   \
	start(S0, S1)   \
	start(S2, S3)   \
	start(S4, S5)   \
	ZERO(S6, S7)    \
	ZERO(S8, S9)    \
	ZERO(S10, S11)

#define STARTS4(start) \
	MOVQ R14, R15  \
	start(S0, S1)  \
	start(S2, S3)  \
	start(S4, S5)  \
	start(S6, S7)

#define STARTFOUR(start) \
	STARTS4(start)   \
	ZERO(S8, S9)     \
	ZERO(S10, S11)   \
	ZERO(S12, S13)   \
	ZERO(S14, S15)

#define STARTSIX(start) \
	STARTS4(start)  \
	start(S8, S9)      \
	start(S10, S11)

#define STARTEIGHT(start) \
	STARTSIX(start)    \
	start(S12, S13)  \
	start(S14, S15)

// CHAIN continues a row's sums with the scales in WA and WB.
#define CHAIN(a, b) \
	VCVTDQ2PS   a, a                   \
	VCVTDQ2PS   b, b                   \
	VFMADD213PS (R12), WA, a          \
	VFMADD213PS (R12)(R13*1), WB, b   \
	VMOVUPS     a, (R12)               \
	VMOVUPS     b, (R12)(R13*1)        \
	ADDQ        DX, R12

// FOLD adds the sums of the odd pairs.
#define FOLD(a, b, odda, oddb) \
	VPADDD odda, a, a  \
	VPADDD oddb, b, b

#define CHAINONE \
	MOVQ DI, R12          \
	FOLD(S0, S1, S2, S3)  \
	CHAIN(S0, S1)

#define CHAINTWO \
	MOVQ DI, R12          \
	FOLD(S0, S1, S4, S5)  \
	FOLD(S2, S3, S6, S7)  \
	CHAIN(S0, S1)         \
	CHAIN(S2, S3)

#define CHAINTHREE \
	MOVQ DI, R12            \
	FOLD(S0, S1, S6, S7)    \
	FOLD(S2, S3, S8, S9)    \
	FOLD(S4, S5, S10, S11)  \
	CHAIN(S0, S1)           \
	CHAIN(S2, S3)           \
	CHAIN(S4, S5)

#define CHAINFOUR \
	FOLD(S0, S1, S8, S9)     \
	FOLD(S2, S3, S10, S11)   \
	FOLD(S4, S5, S12, S13)   \
	FOLD(S6, S7, S14, S15)   \
	CHAINS4

#define CHAINS4 \
	MOVQ DI, R12   \
	CHAIN(S0, S1)  \
	CHAIN(S2, S3)  \
	CHAIN(S4, S5)  \
	CHAIN(S6, S7)

#define CHAINSIX \
	CHAINS4          \
	CHAIN(S8, S9)    \
	CHAIN(S10, S11)

#define CHAINEIGHT \
	CHAINSIX           \
	CHAIN(S12, S13)  \
	CHAIN(S14, S15)

// END goes to the next block.
#define END(weights) \
	ADDQ $(weights+32), AX  \
	ADDQ $(weights+32), BX  \
	ADDQ $64, R8            \
	ADDQ $64, R9            \
	ADDQ $4, R14            \
	DECQ CX

// SETUP takes the arguments that stay.
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

// BEGIN sets the chains of up to eight rows to +0, unless they are continued: their lines come from
// memory meanwhile. What it sets beyond the rows of this group belongs to the next.
#define BEGIN \
	CMPB    add+144(FP), $0   \
	JNE     14(PC)            \
	MOVQ    left-16(SP), CX   \
	CMPQ    CX, $0            \
	JLE     11(PC)            \
	CMPQ    CX, $8            \
	JLE     2(PC)             \
	MOVQ    $8, CX            \
	VPXORD  S0, S0, S0        \
	MOVQ    DI, R12           \
	VMOVUPS S0, (R12)         \
	VMOVUPS S0, (R12)(R13*1)  \
	ADDQ    DX, R12           \
	DECQ    CX                \
	JNZ     -4(PC)

// GROUP points at the first block of the next rows and takes as many as it can; past them come the
// next outputs.
#define GROUP \
	BEGIN                      \
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
	ACROSS                     \
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

// ROWS is a block of some rows. LOOPS are the loops of each number of rows.
#define ROWS(pairs, rows, odd, chain, weights) \
	MOVQ ahead-40(SP), R15   \
	BLOCK(pairs, rows, odd)  \
	SCALES(weights)          \
	chain                    \
	END(weights)

#define LOOPS(start, pairs, weights) \
one:                                               \
	STARTONE(start)                                \
	ROWS(pairs, ONE, ONEODD, CHAINONE, weights)    \
	JNZ one                                        \
	NEXT(1)                                        \
two:                                               \
	STARTTWO(start)                                \
	ROWS(pairs, TWO, TWOODD, CHAINTWO, weights)    \
	JNZ two                                        \
	NEXT(2)                                        \
three:                                             \
	STARTTHREE(start)                              \
	ROWS(pairs, THREE, THREEODD, CHAINTHREE, weights)  \
	JNZ three                                      \
	NEXT(3)                                        \
four:                                              \
	STARTFOUR(start)                               \
	ROWS(pairs, FOUR, FOURODD, CHAINFOUR, weights) \
	JNZ four                                       \
	NEXT(4)                                        \
six:                                               \
	STARTSIX(start)                                \
	ROWS(pairs, SIX, SIX, CHAINSIX, weights)       \
	JNZ six                                        \
	NEXT(6)

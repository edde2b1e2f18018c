//go:build !purego

#include "textflag.h"

// One row of x: y is read and written in place. Memory is the limit, so what counts is that w is read in long runs.
//
// Registers: DI y, R12 within it; SI x, CX elements of x left; BX the row of w, AX within it; DX columns, R13 left of them;
// R8, R9, R10, R11 = 1, 3, 5, 7 rows of w in bytes.

// X8 spreads eight elements of x over Y8–Y15.
#define X8 \
	VBROADCASTSS 0(SI), Y8    \
	VBROADCASTSS 4(SI), Y9    \
	VBROADCASTSS 8(SI), Y10   \
	VBROADCASTSS 12(SI), Y11  \
	VBROADCASTSS 16(SI), Y12  \
	VBROADCASTSS 20(SI), Y13  \
	VBROADCASTSS 24(SI), Y14  \
	VBROADCASTSS 28(SI), Y15

// EIGHT goes through the eight rows of w at AX: OP(address, x).
#define EIGHT(OP) \
	OP((AX), Y8)              \
	OP((AX)(R8*1), Y9)        \
	OP((AX)(R8*2), Y10)       \
	OP((AX)(R9*1), Y11)       \
	OP((AX)(R8*4), Y12)       \
	OP((AX)(R10*1), Y13)      \
	OP((AX)(R9*2), Y14)       \
	OP((AX)(R11*1), Y15)

// FETCH8 brings the next eight rows at these columns into the second-level cache: the runs are short for the hardware to see.
#define FETCH8 \
	LEAQ (AX)(R8*8), R15      \
	PREFETCHT1 (R15)          \
	PREFETCHT1 (R15)(R8*1)    \
	PREFETCHT1 (R15)(R8*2)    \
	PREFETCHT1 (R15)(R9*1)    \
	PREFETCHT1 (R15)(R8*4)    \
	PREFETCHT1 (R15)(R10*1)   \
	PREFETCHT1 (R15)(R9*2)    \
	PREFETCHT1 (R15)(R11*1)

// Two, one and part of a vector of columns. Y2 is the mask of the columns that exist: what lies beyond is neither read nor written.
#define F32x16(at, x) \
	VFMADD231PS 0 at, x, Y0      \
	VFMADD231PS 32 at, x, Y1

#define F32x8(at, x) VFMADD231PS at, x, Y0

#define F32xMask(at, x) \
	VMASKMOVPS at, Y2, Y3       \
	VFMADD231PS Y3, x, Y0

// func chainAVX2(y, x, w []float32, ldw int)
TEXT ·chainAVX2(SB), NOSPLIT, $0-80
	MOVQ y_base+0(FP), DI
	MOVQ y_len+8(FP), DX
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	MOVQ w_base+48(FP), BX
	MOVQ ldw+72(FP), R8
	SHLQ $2, R8
	LEAQ (R8)(R8*2), R9
	LEAQ (R8)(R8*4), R10
	LEAQ (R9)(R8*4), R11
	MOVQ DX, AX
	ANDQ $7, AX
	SHLQ $2, AX
	LEAQ ·laneMask+32(SB), R15
	SUBQ AX, R15
	VMOVUPS (R15), Y2
	CMPQ DX, $128
	JLE  short

rows8:
	SUBQ $8, CX
	JLT  rows1
	X8
	MOVQ DI, R12
	MOVQ BX, AX
	MOVQ DX, R13

cols16:
	SUBQ $16, R13
	JLT  cols8
	CMPB ·asksAhead(SB), $0
	JEQ  cols
	FETCH8

cols:
	VMOVUPS (R12), Y0
	VMOVUPS 32(R12), Y1
	EIGHT(F32x16)
	VMOVUPS Y0, (R12)
	VMOVUPS Y1, 32(R12)
	ADDQ $64, R12
	ADDQ $64, AX
	JMP  cols16

cols8:
	CMPQ R13, $-8
	JLT  cols1
	VMOVUPS (R12), Y0
	EIGHT(F32x8)
	VMOVUPS Y0, (R12)
	ADDQ $32, R12
	ADDQ $32, AX
	SUBQ $8, R13

cols1:
	CMPQ R13, $-16
	JEQ  next8
	VMASKMOVPS (R12), Y2, Y0
	EIGHT(F32xMask)
	VMASKMOVPS Y0, Y2, (R12)

next8:
	LEAQ (BX)(R8*8), BX
	ADDQ $32, SI
	JMP  rows8

rows1: // the last rows, fewer than eight, one at a time
	ADDQ $8, CX
	JEQ  end

row:
	VBROADCASTSS (SI), Y8
	MOVQ DI, R12
	MOVQ BX, AX
	MOVQ DX, R13

row8:
	SUBQ $8, R13
	JLT  rowMask
	VMOVUPS (R12), Y0
	VFMADD231PS (AX), Y8, Y0
	VMOVUPS Y0, (R12)
	ADDQ $32, R12
	ADDQ $32, AX
	JMP  row8

rowMask:
	CMPQ R13, $-8
	JEQ  nextRow
	VMASKMOVPS (R12), Y2, Y0
	F32xMask((AX), Y8)
	VMASKMOVPS Y0, Y2, (R12)

nextRow:
	ADDQ R8, BX
	ADDQ $4, SI
	DECQ CX
	JNE  row
	VZEROUPPER
	RET

short: // few columns: 64, 32 or 8 at a time stay in registers while all of x passes; R10 counts x
	CMPQ CX, $0
	JEQ  end

short64:
	SUBQ $64, DX
	JLT  short32
	VMOVUPS 0(DI), Y4
	VMOVUPS 32(DI), Y5
	VMOVUPS 64(DI), Y6
	VMOVUPS 96(DI), Y7
	VMOVUPS 128(DI), Y12
	VMOVUPS 160(DI), Y13
	VMOVUPS 192(DI), Y14
	VMOVUPS 224(DI), Y15
	MOVQ BX, AX
	MOVQ SI, R12
	MOVQ CX, R10

loop64:
	VBROADCASTSS (R12), Y8
	VFMADD231PS 0(AX), Y8, Y4
	VFMADD231PS 32(AX), Y8, Y5
	VFMADD231PS 64(AX), Y8, Y6
	VFMADD231PS 96(AX), Y8, Y7
	VFMADD231PS 128(AX), Y8, Y12
	VFMADD231PS 160(AX), Y8, Y13
	VFMADD231PS 192(AX), Y8, Y14
	VFMADD231PS 224(AX), Y8, Y15
	ADDQ $4, R12
	ADDQ R8, AX
	DECQ R10
	JNE  loop64
	VMOVUPS Y4, 0(DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, 64(DI)
	VMOVUPS Y7, 96(DI)
	VMOVUPS Y12, 128(DI)
	VMOVUPS Y13, 160(DI)
	VMOVUPS Y14, 192(DI)
	VMOVUPS Y15, 224(DI)
	ADDQ $256, DI
	ADDQ $256, BX
	JMP  short64

short32:
	CMPQ DX, $-32
	JLT  short8
	VMOVUPS 0(DI), Y4
	VMOVUPS 32(DI), Y5
	VMOVUPS 64(DI), Y6
	VMOVUPS 96(DI), Y7
	MOVQ BX, AX
	MOVQ SI, R12
	MOVQ CX, R10

loop32:
	VBROADCASTSS (R12), Y8
	VFMADD231PS 0(AX), Y8, Y4
	VFMADD231PS 32(AX), Y8, Y5
	VFMADD231PS 64(AX), Y8, Y6
	VFMADD231PS 96(AX), Y8, Y7
	ADDQ $4, R12
	ADDQ R8, AX
	DECQ R10
	JNE  loop32
	VMOVUPS Y4, 0(DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, 64(DI)
	VMOVUPS Y7, 96(DI)
	ADDQ $128, DI
	ADDQ $128, BX
	SUBQ $32, DX

short8:
	CMPQ DX, $-56
	JLT  shortMask
	VMOVUPS (DI), Y4
	MOVQ BX, AX
	MOVQ SI, R12
	MOVQ CX, R10

loop8:
	VBROADCASTSS (R12), Y8
	VFMADD231PS (AX), Y8, Y4
	ADDQ $4, R12
	ADDQ R8, AX
	DECQ R10
	JNE  loop8
	VMOVUPS Y4, (DI)
	ADDQ $32, DI
	ADDQ $32, BX
	SUBQ $8, DX
	JMP  short8

shortMask:
	CMPQ DX, $-64
	JEQ  end
	VMASKMOVPS (DI), Y2, Y0

loopMask:
	VBROADCASTSS (SI), Y8
	F32xMask((BX), Y8)
	ADDQ $4, SI
	ADDQ R8, BX
	DECQ CX
	JNE  loopMask
	VMASKMOVPS Y0, Y2, (DI)

end:
	VZEROUPPER
	RET

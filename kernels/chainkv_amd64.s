//go:build !purego

#include "textflag.h"

// One query's products with keys and values in 16 bits.

// STEP multiplies the numbers of a register by the one in all of x.
#define STEP(at, t, x, y) \
	VCVTPH2PS at, t      \
	VFMADD231PS t, x, y

// ROW is 64 columns of the row at R9.
#define ROW(x) \
	VBROADCASTSS x, Y12         \
	STEP(0(R9), Y8, Y12, Y0)    \
	STEP(16(R9), Y9, Y12, Y1)   \
	STEP(32(R9), Y10, Y12, Y2)  \
	STEP(48(R9), Y11, Y12, Y3)  \
	STEP(64(R9), Y8, Y12, Y4)   \
	STEP(80(R9), Y9, Y12, Y5)   \
	STEP(96(R9), Y10, Y12, Y6)  \
	STEP(112(R9), Y11, Y12, Y7) \
	ADDQ AX, R9

// FETCH fetches a line of each half of what is read soon.
#define FETCH(at) \
	PREFETCHT1 (at)          \
	PREFETCHT1 (at)(R12*1)   \
	ADDQ $64, at

// FETCH16 fetches sixteen lines, as many as a core waits for at a time: they come while the caller
// does other things.
#define FETCH16 \
	FETCH(R10)  \
	FETCH(R11)  \
	FETCH(R10)  \
	FETCH(R11)  \
	FETCH(R10)  \
	FETCH(R11)  \
	FETCH(R10)  \
	FETCH(R11)

// func chainKVAVX2(y, x []float32, w []uint16, ldw int, s soon)
// 64, then 8 columns stay in registers while x passes. DI is where the columns are in y, R8 in w,
// and DX how many are left. Within them SI is where x is, BX how many are left, R9 the row of w.
// R10 and R11 are what is fetched.
TEXT ·chainKVAVX2(SB), NOSPLIT, $0-136
	MOVQ y_base+0(FP), DI
	MOVQ y_len+8(FP), DX
	MOVQ w_base+48(FP), R8
	MOVQ ldw+72(FP), AX
	SHLQ $1, AX
	MOVQ s_keys_base+80(FP), R10
	MOVQ s_values_base+104(FP), R11
	MOVQ s_apart+128(FP), R12
	SHLQ $1, R12

wide:
	SUBQ $64, DX
	JLT  rest
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	VMOVUPS 128(DI), Y4
	VMOVUPS 160(DI), Y5
	VMOVUPS 192(DI), Y6
	VMOVUPS 224(DI), Y7
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), BX
	MOVQ R8, R9
	SUBQ $2, BX
	JLT  last

two:
	FETCH(R10)
	ROW(0(SI))
	FETCH(R11)
	ROW(4(SI))
	ADDQ $8, SI
	SUBQ $2, BX
	JGE  two

last:
	ADDQ $2, BX
	JEQ  done
	ROW(0(SI))

done:
	FETCH16
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VMOVUPS Y6, 192(DI)
	VMOVUPS Y7, 224(DI)
	ADDQ $256, DI
	ADDQ $128, R8
	JMP  wide

rest:
	ADDQ $64, DX

eight:
	SUBQ $8, DX
	JLT  end
	VMOVUPS (DI), Y0
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), BX
	MOVQ R8, R9

eightStep:
	VBROADCASTSS (SI), Y12
	STEP(0(R9), Y8, Y12, Y0)
	ADDQ $4, SI
	ADDQ AX, R9
	DECQ BX
	JNE  eightStep
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	ADDQ $16, R8
	JMP  eight

end:
	VZEROUPPER
	RET

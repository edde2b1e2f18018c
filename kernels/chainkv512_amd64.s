//go:build !purego

#include "textflag.h"

// One query's products with keys and values in 16 bits, in 512-bit registers.

// STEP multiplies the numbers of a register by the one in all of x.
#define STEP(at, t, x, y) \
	VCVTPH2PS at, t      \
	VFMADD231PS t, x, y

// ROW is 64 columns of the row at R9.
#define ROW(x) \
	VBROADCASTSS x, Z12        \
	STEP(0(R9), Z8, Z12, Z0)   \
	STEP(32(R9), Z9, Z12, Z1)  \
	STEP(64(R9), Z10, Z12, Z2) \
	STEP(96(R9), Z11, Z12, Z3) \
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

// func chainKVAVX512(y, x []float32, w []uint16, ldw int, s soon)
// 64, then 16, then 8 columns stay in registers while x passes. DI is where the columns are in y,
// R8 in w, and DX how many are left. Within them SI is where x is, BX how many are left, R9 the row
// of w. R10 and R11 are what is fetched.
TEXT ·chainKVAVX512(SB), NOSPLIT, $0-136
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
	VMOVUPS 0(DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3
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
	VMOVUPS Z0, 0(DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	ADDQ $256, DI
	ADDQ $128, R8
	JMP  wide

rest:
	ADDQ $64, DX

sixteen:
	SUBQ $16, DX
	JLT  tail
	VMOVUPS (DI), Z0
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), BX
	MOVQ R8, R9

sixteenStep:
	VBROADCASTSS (SI), Z12
	STEP(0(R9), Z8, Z12, Z0)
	ADDQ $4, SI
	ADDQ AX, R9
	DECQ BX
	JNE  sixteenStep
	VMOVUPS Z0, (DI)
	ADDQ $64, DI
	ADDQ $32, R8
	JMP  sixteen

tail:
	ADDQ $16, DX

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

//go:build !purego

#include "textflag.h"
#include "widen_amd64.h"

// Several rows of x, few enough that memory is still the limit: four rows of w by 16 columns are in Y8–Y15 while all rows of y pass.
//
// Registers: DI y, R12 and R11 its row and the rows left; SI x, R13 within it; BX the row of w, AX within it; CX groups left,
// DX columns left; R8 and R9 one and three rows of w in bytes, R10 a row of y; R14 rows.

#define GROUP(k, lo, hi) \
	VBROADCASTSS (4*k)(R13), Y2  \
	VFMADD231PS lo, Y2, Y0       \
	VFMADD231PS hi, Y2, Y1

#define CHAINROWS(WIDEN, size) \
	MOVQ y_base+0(FP), DI       \
	MOVQ ldy+24(FP), R10        \
	SHLQ $2, R10                \
	MOVQ x_base+32(FP), SI      \
	MOVQ w_base+56(FP), BX      \
	MOVQ ldw+80(FP), R8         \
	IMULQ $size, R8             \
	LEAQ (R8)(R8*2), R9         \
	MOVQ rows+88(FP), R14       \
	MOVQ groups+96(FP), CX      \
group:                          \
	SUBQ $1, CX                 \
	JLT  end                    \
	MOVQ BX, AX                 \
	MOVQ y_base+0(FP), DI       \
	MOVQ cols+104(FP), DX       \
cols:                           \
	SUBQ $16, DX                \
	JLT  next                   \
	LEAQ (AX)(R8*8), R15        \
	PREFETCHT1 (R15)            \
	PREFETCHT1 (R15)(R8*1)      \
	PREFETCHT1 (R15)(R8*2)      \
	PREFETCHT1 (R15)(R9*1)      \
	WIDEN((AX), Y8)             \
	WIDEN((8*size)(AX), Y9)     \
	WIDEN((AX)(R8*1), Y10)      \
	WIDEN((8*size)(AX)(R8*1), Y11) \
	WIDEN((AX)(R8*2), Y12)      \
	WIDEN((8*size)(AX)(R8*2), Y13) \
	WIDEN((AX)(R9*1), Y14)      \
	WIDEN((8*size)(AX)(R9*1), Y15) \
	MOVQ DI, R12                \
	MOVQ SI, R13                \
	MOVQ R14, R11               \
row:                            \
	VMOVUPS (R12), Y0           \
	VMOVUPS 32(R12), Y1         \
	GROUP(0, Y8, Y9)            \
	GROUP(1, Y10, Y11)          \
	GROUP(2, Y12, Y13)          \
	GROUP(3, Y14, Y15)          \
	VMOVUPS Y0, (R12)           \
	VMOVUPS Y1, 32(R12)         \
	ADDQ R10, R12               \
	ADDQ $16, R13               \
	DECQ R11                    \
	JNE  row                    \
	ADDQ $64, DI                \
	ADDQ $(16*size), AX         \
	JMP  cols                   \
next:                           \
	MOVQ R14, AX                \
	SHLQ $4, AX                 \
	ADDQ AX, SI                 \
	LEAQ (BX)(R8*4), BX         \
	JMP  group                  \
end:                            \
	VZEROUPPER                  \
	RET

// func chainRowsAVX2(y []float32, ldy int, x, w []float32, ldw, rows, groups, cols int)
TEXT ·chainRowsAVX2(SB), NOSPLIT, $0-112
	CHAINROWS(F32, 4)

// func chainRowsF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, rows, groups, cols int)
TEXT ·chainRowsF16AVX2(SB), NOSPLIT, $0-112
	CHAINROWS(F16, 2)

// func chainRowsBF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, rows, groups, cols int)
TEXT ·chainRowsBF16AVX2(SB), NOSPLIT, $0-112
	CHAINROWS(BF16, 2)

// func packGroupsAVX2(dst, x []float32, ldx, rows, groups int)
TEXT ·packGroupsAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ ldx+48(FP), R8
	SHLQ $2, R8
	MOVQ rows+56(FP), DX
	MOVQ groups+64(FP), CX
	MOVQ DX, R9
	SHLQ $4, R9
	LEAQ (R9)(R9*2), R10

four: // groups: a line of each row
	SUBQ $4, CX
	JLT  rest
	MOVQ SI, AX
	MOVQ DI, R11
	MOVQ DX, BX

line:
	VMOVUPS (AX), X0
	VMOVUPS 16(AX), X1
	VMOVUPS 32(AX), X2
	VMOVUPS 48(AX), X3
	VMOVUPS X0, (R11)
	VMOVUPS X1, (R11)(R9*1)
	VMOVUPS X2, (R11)(R9*2)
	VMOVUPS X3, (R11)(R10*1)
	ADDQ R8, AX
	ADDQ $16, R11
	DECQ BX
	JNE  line
	ADDQ $64, SI
	LEAQ (DI)(R9*4), DI
	JMP  four

rest:
	ADDQ $4, CX

group:
	SUBQ $1, CX
	JLT  end
	MOVQ SI, AX
	MOVQ DX, BX

row:
	VMOVUPS (AX), X0
	VMOVUPS X0, (DI)
	ADDQ R8, AX
	ADDQ $16, DI
	DECQ BX
	JNE  row
	ADDQ $16, SI
	JMP  group

end:
	RET

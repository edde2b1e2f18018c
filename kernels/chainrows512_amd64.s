//go:build !purego

#include "textflag.h"

// Several rows of x, few enough that memory is still the limit: eight rows of w by 32 columns are in
// Z8–Z23 while all rows of y pass, four at a time.
//
// Registers: DI y, R12 and R11 its row and the rows left; SI x, R13 within it, R15 bytes from one
// group of x to the next; BX the row of w, AX within it; CX pairs of groups left, DX columns left;
// R8 and R9 one and three rows of w in bytes, R10 a row of y. R11–R14 first hold what FETCH asks
// for, and R9 at last what SPREAD asks for.

// WIDEN(at, z) reads 16 weights.
#define WIDEF32(at, z) VMOVUPS at, z

#define WIDEF16(at, z) VCVTPH2PS at, z

#define WIDEBF16(at, z) \
	VPMOVZXWD at, z                    \
	VPSLLD $16, z, z

// FETCH asks for what fewer than 16 rows need later, by ASK: on AMD's processors it asks the second
// cache for the same columns of the next eight rows. On others it asks the first one. Rows shorter
// than wideRow that lie one after the other are asked for in the order of memory: of the next eight
// rows the same share as is done of these. Of longer rows it asks for the columns 256 further on, and
// past the last for the first of the next eight rows.
#define FETCH(ASK, at) \
	ASK at(R13)                        \
	ASK at(R13)(R14*1)                 \
	ASK at(R13)(R14*2)                 \
	ASK at(R13)(R12*1)                 \
	ASK at(R11)                        \
	ASK at(R11)(R14*1)                 \
	ASK at(R11)(R14*2)                 \
	ASK at(R11)(R12*1)

#define FETCHF32(ASK) \
	FETCH(ASK, 0)                      \
	FETCH(ASK, 64)

#define FETCH16(ASK) FETCH(ASK, 0)

// SPREAD is for 16 rows and more: each four ask the second cache for the same columns of two of the
// next rows of w, at R9. Requests all at once would wait for each other.
#define SPREAD16 \
	PREFETCHT1 (R9)                    \
	PREFETCHT1 (R9)(R8*1)

#define SPREADF32 \
	SPREAD16                           \
	PREFETCHT1 64(R9)                  \
	PREFETCHT1 64(R9)(R8*1)

// STEP continues 32 columns of a row of y by one row of w.
#define STEP(x, lo, hi) \
	VBROADCASTSS x, Z2                 \
	VFMADD231PS lo, Z2, Z0             \
	VFMADD231PS hi, Z2, Z1

// STEP2 and STEP4 continue two and four rows of y, whose elements of x lie 16 bytes apart from
// offset at on. Eight chains at a time hide the latency of the multiply-adds.
#define STEP2(at, group, lo, hi) \
	VBROADCASTSS at(R13)group, Z24     \
	VBROADCASTSS (at+16)(R13)group, Z25 \
	VFMADD231PS lo, Z24, Z0            \
	VFMADD231PS hi, Z24, Z1            \
	VFMADD231PS lo, Z25, Z2            \
	VFMADD231PS hi, Z25, Z3

#define STEP4(at, group, lo, hi) \
	STEP2(at, group, lo, hi)           \
	VBROADCASTSS (at+32)(R13)group, Z26 \
	VBROADCASTSS (at+48)(R13)group, Z27 \
	VFMADD231PS lo, Z26, Z4            \
	VFMADD231PS hi, Z26, Z5            \
	VFMADD231PS lo, Z27, Z6            \
	VFMADD231PS hi, Z27, Z7

#define FIRST
#define EIGHT(STEPS) \
	STEPS(0, FIRST, Z8, Z9)            \
	STEPS(4, FIRST, Z10, Z11)          \
	STEPS(8, FIRST, Z12, Z13)          \
	STEPS(12, FIRST, Z14, Z15)         \
	STEPS(0, (R15*1), Z16, Z17)        \
	STEPS(4, (R15*1), Z18, Z19)        \
	STEPS(8, (R15*1), Z20, Z21)        \
	STEPS(12, (R15*1), Z22, Z23)

#define CHAINROWS(WIDEN, FETCHES, SPREAD, size) \
	MOVQ y_base+0(FP), DI              \
	MOVQ ldy+24(FP), R10               \
	SHLQ $2, R10                       \
	MOVQ x_base+32(FP), SI             \
	MOVQ w_base+56(FP), BX             \
	MOVQ ldw+80(FP), R8                \
	IMULQ $size, R8                    \
	MOVQ rows+88(FP), R15              \
	SHLQ $4, R15                       \
	IMUL3Q $size, cols+104(FP), AX     \
	MOVQ AX, row-16(SP)                \
	MOVQ R8, step-8(SP)                \
	CMPQ AX, R8                        \
	JNE  begin                         \
	CMPQ AX, $4096                     \
	JGE  begin                         \
	MOVQ $(32*size), step-8(SP)        \
begin:                              \
	MOVQ pairs+96(FP), CX              \
pair:                               \
	SUBQ $1, CX                        \
	JLT  end                           \
	MOVQ BX, AX                        \
	MOVQ y_base+0(FP), DI              \
	MOVQ cols+104(FP), DX              \
cols:                               \
	SUBQ $32, DX                       \
	JLT  half                          \
	CMPQ R15, $256                     \
	JGE  wide                          \
	CMPB ·asksSecond(SB), $0           \
	JNE  second                        \
	MOVQ step-8(SP), R14               \
	LEAQ (R14)(R14*2), R12             \
	CMPQ R14, R8                       \
	JEQ  long                          \
	MOVQ AX, R13                       \
	SUBQ BX, R13                       \
	LEAQ (BX)(R13*8), R13              \
	LEAQ (R13)(R8*8), R13              \
	JMP  fetch                         \
long:                               \
	LEAQ (256*size)(AX), R13           \
	MOVQ R13, R11                      \
	SUBQ row-16(SP), R11               \
	LEAQ (R11)(R8*8), R11              \
	CMPQ DX, $256                      \
	CMOVQLT R11, R13                   \
fetch:                              \
	LEAQ (R13)(R14*4), R11             \
	FETCHES(PREFETCHT0)                \
	JMP  wide                          \
second:                             \
	MOVQ R8, R14                       \
	LEAQ (R14)(R14*2), R12             \
	LEAQ (AX)(R8*8), R13               \
	LEAQ (R13)(R8*4), R11              \
	FETCHES(PREFETCHT1)                \
wide:                               \
	LEAQ (R8)(R8*2), R9                \
	LEAQ (AX)(R8*4), R12               \
	WIDEN((AX), Z8)                    \
	WIDEN((16*size)(AX), Z9)           \
	WIDEN((AX)(R8*1), Z10)             \
	WIDEN((16*size)(AX)(R8*1), Z11)    \
	WIDEN((AX)(R8*2), Z12)             \
	WIDEN((16*size)(AX)(R8*2), Z13)    \
	WIDEN((AX)(R9*1), Z14)             \
	WIDEN((16*size)(AX)(R9*1), Z15)    \
	WIDEN((R12), Z16)                  \
	WIDEN((16*size)(R12), Z17)         \
	WIDEN((R12)(R8*1), Z18)            \
	WIDEN((16*size)(R12)(R8*1), Z19)   \
	WIDEN((R12)(R8*2), Z20)            \
	WIDEN((16*size)(R12)(R8*2), Z21)   \
	WIDEN((R12)(R9*1), Z22)            \
	WIDEN((16*size)(R12)(R9*1), Z23)   \
	MOVQ DI, R12                       \
	MOVQ SI, R13                       \
	MOVQ rows+88(FP), R11              \
	LEAQ (R10)(R10*2), R14             \
	LEAQ (AX)(R8*8), R9                \
	CMPQ R15, $256                     \
	CMOVQLT AX, R9                     \
rows4:                              \
	SUBQ $4, R11                       \
	JLT  rows2                         \
	VMOVUPS (R12), Z0                  \
	VMOVUPS 64(R12), Z1                \
	VMOVUPS (R12)(R10*1), Z2           \
	VMOVUPS 64(R12)(R10*1), Z3         \
	VMOVUPS (R12)(R10*2), Z4           \
	VMOVUPS 64(R12)(R10*2), Z5         \
	VMOVUPS (R12)(R14*1), Z6           \
	VMOVUPS 64(R12)(R14*1), Z7         \
	SPREAD                             \
	LEAQ (R9)(R8*2), R9                \
	EIGHT(STEP4)                       \
	VMOVUPS Z0, (R12)                  \
	VMOVUPS Z1, 64(R12)                \
	VMOVUPS Z2, (R12)(R10*1)           \
	VMOVUPS Z3, 64(R12)(R10*1)         \
	VMOVUPS Z4, (R12)(R10*2)           \
	VMOVUPS Z5, 64(R12)(R10*2)         \
	VMOVUPS Z6, (R12)(R14*1)           \
	VMOVUPS Z7, 64(R12)(R14*1)         \
	LEAQ (R12)(R10*4), R12             \
	ADDQ $64, R13                      \
	JMP  rows4                         \
rows2:                              \
	ADDQ $2, R11                       \
	JLT  rows1                         \
	VMOVUPS (R12), Z0                  \
	VMOVUPS 64(R12), Z1                \
	VMOVUPS (R12)(R10*1), Z2           \
	VMOVUPS 64(R12)(R10*1), Z3         \
	EIGHT(STEP2)                       \
	VMOVUPS Z0, (R12)                  \
	VMOVUPS Z1, 64(R12)                \
	VMOVUPS Z2, (R12)(R10*1)           \
	VMOVUPS Z3, 64(R12)(R10*1)         \
	LEAQ (R12)(R10*2), R12             \
	ADDQ $32, R13                      \
	SUBQ $2, R11                       \
rows1:                              \
	ADDQ $2, R11                       \
	JEQ  done32                        \
row:                                \
	VMOVUPS (R12), Z0                  \
	VMOVUPS 64(R12), Z1                \
	STEP(0(R13), Z8, Z9)               \
	STEP(4(R13), Z10, Z11)             \
	STEP(8(R13), Z12, Z13)             \
	STEP(12(R13), Z14, Z15)            \
	STEP(0(R13)(R15*1), Z16, Z17)      \
	STEP(4(R13)(R15*1), Z18, Z19)      \
	STEP(8(R13)(R15*1), Z20, Z21)      \
	STEP(12(R13)(R15*1), Z22, Z23)     \
	VMOVUPS Z0, (R12)                  \
	VMOVUPS Z1, 64(R12)                \
	ADDQ R10, R12                      \
	ADDQ $16, R13                      \
	DECQ R11                           \
	JNE  row                           \
done32:                             \
	ADDQ $128, DI                      \
	ADDQ $(32*size), AX                \
	JMP  cols                          \
half:                               \
	CMPQ DX, $-32                      \
	JEQ  next                          \
	LEAQ (R8)(R8*2), R9                \
	LEAQ (AX)(R8*4), R12               \
	WIDEN((AX), Z8)                    \
	WIDEN((AX)(R8*1), Z10)             \
	WIDEN((AX)(R8*2), Z12)             \
	WIDEN((AX)(R9*1), Z14)             \
	WIDEN((R12), Z16)                  \
	WIDEN((R12)(R8*1), Z18)            \
	WIDEN((R12)(R8*2), Z20)            \
	WIDEN((R12)(R9*1), Z22)            \
	MOVQ DI, R12                       \
	MOVQ SI, R13                       \
	MOVQ rows+88(FP), R11              \
halfRow:                            \
	VMOVUPS (R12), Z0                  \
	VFMADD231PS.BCST 0(R13), Z8, Z0    \
	VFMADD231PS.BCST 4(R13), Z10, Z0   \
	VFMADD231PS.BCST 8(R13), Z12, Z0   \
	VFMADD231PS.BCST 12(R13), Z14, Z0  \
	VFMADD231PS.BCST 0(R13)(R15*1), Z16, Z0 \
	VFMADD231PS.BCST 4(R13)(R15*1), Z18, Z0 \
	VFMADD231PS.BCST 8(R13)(R15*1), Z20, Z0 \
	VFMADD231PS.BCST 12(R13)(R15*1), Z22, Z0 \
	VMOVUPS Z0, (R12)                  \
	ADDQ R10, R12                      \
	ADDQ $16, R13                      \
	DECQ R11                           \
	JNE  halfRow                       \
next:                               \
	LEAQ (SI)(R15*2), SI               \
	LEAQ (BX)(R8*8), BX                \
	JMP  pair                          \
end:                                \
	VZEROUPPER                         \
	RET

// func chainRowsAVX512(y []float32, ldy int, x, w []float32, ldw, rows, pairs, cols int)
TEXT ·chainRowsAVX512(SB), NOSPLIT, $16-112
	CHAINROWS(WIDEF32, FETCHF32, SPREADF32, 4)

// func chainRowsF16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, rows, pairs, cols int)
TEXT ·chainRowsF16AVX512(SB), NOSPLIT, $16-112
	CHAINROWS(WIDEF16, FETCH16, SPREAD16, 2)

// func chainRowsBF16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, rows, pairs, cols int)
TEXT ·chainRowsBF16AVX512(SB), NOSPLIT, $16-112
	CHAINROWS(WIDEBF16, FETCH16, SPREAD16, 2)

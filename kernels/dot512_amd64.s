//go:build !purego

#include "textflag.h"

// Dot products of eight rows of x and more in 512 bits: two rows of w of each of three streams meet
// eight rows of x, whose lanes lie two by two in Z24–Z27. The sums are in Z0–Z23, four for each row of
// w; those of the first row of two are in the lower half.
//
//	R12–R14 the first rows of w, R9–R11 the second     SI, R8, DI rows 0, 3 and 6 of x
//	R15 bytes of a row of x                            AX the element, BX elements left
//	DX rows of x left, CX what is asked for            at the end BX, CX rows of dst
//
// A pass asks the second cache for the next rows of some streams: all in the only pass, else not all
// at once.

#define DOTF32(at, y, z) VBROADCASTF64X4 at, z

#define DOTF16(at, y, z) \
	VBROADCASTI32X4 at, y      \
	VCVTPH2PS       y, z

#define DOTBF16(at, y, z) \
	VBROADCASTI32X4 at, y      \
	VPMOVZXWD       y, z       \
	VPSLLD          $16, z, z

#define BYFOUR(w, a, b, c, d) \
	VFMADD231PS w, Z24, a      \
	VFMADD231PS w, Z25, b      \
	VFMADD231PS w, Z26, c      \
	VFMADD231PS w, Z27, d

#define STEPOCTET(WIDEN, size) \
	VMOVUPS      (SI), Y24                       \
	VINSERTF64X4 $1, (SI)(R15*1), Z24, Z24       \
	VMOVUPS      (SI)(R15*2), Y25                \
	VINSERTF64X4 $1, (R8), Z25, Z25              \
	VMOVUPS      (R8)(R15*1), Y26                \
	VINSERTF64X4 $1, (R8)(R15*2), Z26, Z26       \
	VMOVUPS      (DI), Y27                       \
	VINSERTF64X4 $1, (DI)(R15*1), Z27, Z27       \
	WIDEN((R12)(AX*size), Y28, Z28)              \
	WIDEN((R9)(AX*size), Y29, Z29)               \
	BYFOUR(Z28, Z0, Z1, Z2, Z3)                  \
	BYFOUR(Z29, Z4, Z5, Z6, Z7)                  \
	WIDEN((R13)(AX*size), Y28, Z28)              \
	WIDEN((R10)(AX*size), Y29, Z29)              \
	BYFOUR(Z28, Z8, Z9, Z10, Z11)                \
	BYFOUR(Z29, Z12, Z13, Z14, Z15)              \
	WIDEN((R14)(AX*size), Y28, Z28)              \
	WIDEN((R11)(AX*size), Y29, Z29)              \
	BYFOUR(Z28, Z16, Z17, Z18, Z19)              \
	BYFOUR(Z29, Z20, Z21, Z22, Z23)              \
	ADDQ $8, AX                                  \
	ADDQ $32, SI                                 \
	ADDQ $32, R8                                 \
	ADDQ $32, DI

// NEIGHBOURS adds neighbouring elements of a and of b: a's sums, then b's, in each quarter of a.
#define NEIGHBOURS(a, b) \
	VSHUFPS $0x88, b, a, Z28   \
	VSHUFPS $0xdd, b, a, a     \
	VADDPS  a, Z28, a

// SUM8 reduces four vectors to the sums of eight: the halves of y have the four of each row.
#define SUM8(a, b, c, d, y) \
	NEIGHBOURS(a, b)           \
	NEIGHBOURS(c, d)           \
	NEIGHBOURS(a, c)           \
	VSHUFF32X4 $0x08, a, a, Z28 \
	VSHUFF32X4 $0x0d, a, a, Z29 \
	VADDPS     Y29, Y28, y

// STORE stores the sums of two rows of x with the first two streams, and goes to the next two.
#define STORE(y, x) \
	VMOVLPS x, (BX)            \
	VMOVHPS x, (BX)(R8*1)      \
	VEXTRACTF128 $1, y, X15    \
	VMOVLPS X15, (BX)(AX*1)    \
	VMOVHPS X15, (CX)(R8*1)    \
	LEAQ (BX)(AX*2), BX        \
	LEAQ (CX)(AX*2), CX

// STORELAST stores those of four rows with the last stream.
#define STORELAST(y, x) \
	VMOVLPS x, (BX)            \
	VMOVHPS x, (BX)(AX*2)      \
	VEXTRACTF128 $1, y, X15    \
	VMOVLPS X15, (CX)          \
	VMOVHPS X15, (CX)(AX*2)    \
	LEAQ (BX)(AX*4), BX        \
	LEAQ (CX)(AX*4), CX

#define ZERO4(a, b, c, d) \
	VPXORD a, a, a  \
	VPXORD b, b, b  \
	VPXORD c, c, c  \
	VPXORD d, d, d

#define DOTOCTET(WIDEN, size) \
	MOVQ w_base+64(FP), R12     \
	MOVQ ldw+88(FP), CX         \
	LEAQ (CX)(CX*1), AX         \
	MOVQ AX, ahead-24(SP)       \
	IMULQ $size, CX             \
	MOVQ CX, AX                 \
	IMULQ far+112(FP), AX       \
	LEAQ (R12)(AX*1), R13       \
	LEAQ (R13)(AX*1), R14       \
	LEAQ (R12)(CX*1), R9        \
	LEAQ (R13)(CX*1), R10       \
	LEAQ (R14)(CX*1), R11       \
	MOVQ dst_base+0(FP), AX     \
	MOVQ AX, column-8(SP)       \
pair:                           \
	SUBQ $1, count+104(FP)      \
	JLT  end                    \
	MOVQ column-8(SP), AX       \
	MOVQ AX, line-16(SP)        \
	ADDQ $8, column-8(SP)       \
	MOVQ x_base+32(FP), SI      \
	MOVQ ldx+56(FP), R15        \
	SHLQ $2, R15                \
	MOVQ rows+96(FP), DX        \
	MOVQ $1, AX                 \
	MOVQ $3, BX                 \
	MOVQ $7, CX                 \
	CMPQ DX, $16                \
	CMOVQEQ BX, AX              \
	CMOVQLT CX, AX              \
	MOVQ AX, asked-40(SP)       \
octet:                          \
	MOVQ SI, x-32(SP)           \
	LEAQ (R15)(R15*2), AX       \
	LEAQ (SI)(AX*1), R8         \
	LEAQ (R8)(AX*1), DI         \
	ZERO4(Z0, Z1, Z2, Z3)       \
	ZERO4(Z4, Z5, Z6, Z7)       \
	ZERO4(Z8, Z9, Z10, Z11)     \
	ZERO4(Z12, Z13, Z14, Z15)   \
	ZERO4(Z16, Z17, Z18, Z19)   \
	ZERO4(Z20, Z21, Z22, Z23)   \
	MOVQ k+120(FP), BX          \
	XORL AX, AX                 \
	SUBQ $16, BX                \
	JLT  eight                  \
sixteen:                        \
	MOVQ ahead-24(SP), CX       \
	ADDQ AX, CX                 \
	TESTB $1, asked-40(SP)      \
	JEQ  first                  \
	PREFETCHT1 (R12)(CX*size)   \
	PREFETCHT1 (R9)(CX*size)    \
first:                          \
	TESTB $2, asked-40(SP)      \
	JEQ  second                 \
	PREFETCHT1 (R13)(CX*size)   \
	PREFETCHT1 (R10)(CX*size)   \
second:                         \
	TESTB $4, asked-40(SP)      \
	JEQ  third                  \
	PREFETCHT1 (R14)(CX*size)   \
	PREFETCHT1 (R11)(CX*size)   \
third:                          \
	STEPOCTET(WIDEN, size)      \
	STEPOCTET(WIDEN, size)      \
	SUBQ $16, BX                \
	JGE  sixteen                \
eight:                          \
	CMPQ BX, $-16               \
	JEQ  reduce                 \
	STEPOCTET(WIDEN, size)      \
reduce:                         \
	SUM8(Z0, Z4, Z8, Z12, Y0)     \
	SUM8(Z1, Z5, Z9, Z13, Y1)     \
	SUM8(Z2, Z6, Z10, Z14, Y2)    \
	SUM8(Z3, Z7, Z11, Z15, Y3)    \
	SUM8(Z16, Z20, Z17, Z21, Y4)  \
	SUM8(Z18, Z22, Z19, Z23, Y5)  \
	MOVQ ldd+24(FP), AX         \
	SHLQ $2, AX                 \
	MOVQ far+112(FP), R8        \
	SHLQ $2, R8                 \
	MOVQ line-16(SP), BX        \
	LEAQ (BX)(AX*1), CX         \
	STORE(Y0, X0)               \
	STORE(Y1, X1)               \
	STORE(Y2, X2)               \
	STORE(Y3, X3)               \
	MOVQ line-16(SP), DI        \
	MOVQ BX, line-16(SP)        \
	LEAQ (DI)(R8*2), BX         \
	LEAQ (BX)(AX*1), CX         \
	STORELAST(Y4, X4)           \
	STORELAST(Y5, X5)           \
	SHLQ $1, asked-40(SP)       \
	MOVQ x-32(SP), SI           \
	LEAQ (SI)(R15*8), SI        \
	SUBQ $8, DX                 \
	JGT  octet                  \
	MOVQ ahead-24(SP), AX       \
	IMULQ $size, AX             \
	ADDQ AX, R9                 \
	ADDQ AX, R10                \
	ADDQ AX, R11                \
	ADDQ AX, R12                \
	ADDQ AX, R13                \
	ADDQ AX, R14                \
	JMP  pair                   \
end:                            \
	VZEROUPPER                  \
	RET

// func dotOctetAVX512(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, count, far, k int)
TEXT ·dotOctetAVX512(SB), NOSPLIT, $40-128
	DOTOCTET(DOTF32, 4)

// func dotOctetF16AVX512(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count, far, k int)
TEXT ·dotOctetF16AVX512(SB), NOSPLIT, $40-128
	DOTOCTET(DOTF16, 2)

// func dotOctetBF16AVX512(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count, far, k int)
TEXT ·dotOctetBF16AVX512(SB), NOSPLIT, $40-128
	DOTOCTET(DOTBF16, 2)

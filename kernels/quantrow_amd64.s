//go:build !purego

#include "textflag.h"

// Float32 to integers and back.

// func peakBitsAVX2(x []float32) uint32
TEXT ·peakBitsAVX2(SB), NOSPLIT, $0-28
	MOVQ     x_base+0(FP), SI
	MOVQ     x_len+8(FP), CX
	VPCMPEQD Y7, Y7, Y7
	VPSRLD   $1, Y7, Y7       // all bits but the sign
	VPXOR    Y0, Y0, Y0
	VPXOR    Y1, Y1, Y1
	VPXOR    Y2, Y2, Y2
	VPXOR    Y3, Y3, Y3

block:
	SUBQ    $32, CX
	JLT     reduce
	VPAND   (SI), Y7, Y4
	VPAND   32(SI), Y7, Y5
	VPMAXSD Y4, Y0, Y0
	VPMAXSD Y5, Y1, Y1
	VPAND   64(SI), Y7, Y4
	VPAND   96(SI), Y7, Y5
	VPMAXSD Y4, Y2, Y2
	VPMAXSD Y5, Y3, Y3
	ADDQ    $128, SI
	JMP     block

reduce:
	VPMAXSD      Y1, Y0, Y0
	VPMAXSD      Y3, Y2, Y2
	VPMAXSD      Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPMAXSD      X1, X0, X0
	VPSHUFD      $0x4e, X0, X1
	VPMAXSD      X1, X0, X0
	VPSHUFD      $0xb1, X0, X1
	VPMAXSD      X1, X0, X0
	VMOVD        X0, AX
	MOVL         AX, ret+24(FP)
	VZEROUPPER
	RET

// ROUND takes 16 numbers and stores the integers nearest to them, times inverse.
#define ROUND(at, lo, hi) \
	VMULPS     (2*at)(SI), Y8, lo     \
	VMULPS     (2*at+32)(SI), Y8, hi  \
	VCVTPS2DQ  lo, lo                 \
	VCVTPS2DQ  hi, hi                 \
	VPACKSSDW  hi, lo, lo             \
	VPERMQ     $0xd8, lo, lo          \
	VMOVDQU    lo, at(DI)             \
	VPMADDWD   lo, Y9, lo

// func roundRowAVX2(q []int16, starts []int32, x []float32, inverse float32)
TEXT ·roundRowAVX2(SB), NOSPLIT, $0-76
	MOVQ         q_base+0(FP), DI
	MOVQ         starts_base+24(FP), DX
	MOVQ         x_base+48(FP), SI
	MOVQ         x_len+56(FP), CX
	VBROADCASTSS inverse+72(FP), Y8
	VPCMPEQW     Y9, Y9, Y9
	VPSLLW       $3, Y9, Y9              // −8
	VXORPS       X0, X0, X0
	VUCOMISS     X8, X0
	JNE          block

zero:
	SUBQ    $32, CX
	JLT     done
	VMOVDQU Y0, (DI)
	VMOVDQU Y0, 32(DI)
	MOVL    $0, (DX)
	ADDQ    $64, DI
	ADDQ    $4, DX
	JMP     zero

block:
	SUBQ         $32, CX
	JLT          done
	ROUND(0, Y0, Y1)
	ROUND(32, Y2, Y3)
	VPADDD       Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4e, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xb1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (DX)
	ADDQ         $64, DI
	ADDQ         $128, SI
	ADDQ         $4, DX
	JMP          block

done:
	VZEROUPPER
	RET

// func scaleAddAVX2(dst []float32, ldd int, y []float32, ldy int, bias, scales []float32, cols int)
TEXT ·scaleAddAVX2(SB), NOSPLIT, $0-120
	MOVQ dst_base+0(FP), R11
	MOVQ ldd+24(FP), R12
	SHLQ $2, R12
	MOVQ y_base+32(FP), DI
	MOVQ ldy+56(FP), DX
	SHLQ $2, DX
	MOVQ bias_base+64(FP), R9
	MOVQ scales_base+88(FP), R8
	MOVQ scales_len+96(FP), BX

	// Y7 masks the lanes of the last, short vector. A nil bias is read as eight zeros, over and over, a step R10 of 0 apart.
	MOVQ    cols+112(FP), AX
	ANDQ    $7, AX
	SHLQ    $2, AX
	LEAQ    ·laneMask+32(SB), R10
	SUBQ    AX, R10
	VMOVDQU (R10), Y7
	MOVQ    $32, R10
	TESTQ   R9, R9
	JNE     row
	LEAQ    ·laneMask+32(SB), R9
	XORQ    R10, R10

row:
	DECQ         BX
	JLT          done
	VBROADCASTSS (R8), Y0
	MOVQ         DI, SI
	MOVQ         R11, R13
	MOVQ         R9, AX
	MOVQ         cols+112(FP), CX

eight:
	SUBQ        $8, CX
	JLT         rest
	VMOVUPS     (SI), Y1
	VFMADD213PS (AX), Y0, Y1
	VMOVUPS     Y1, (R13)
	ADDQ        $32, SI
	ADDQ        $32, R13
	ADDQ        R10, AX
	JMP         eight

rest:
	CMPQ        CX, $-8
	JEQ         next
	VMASKMOVPS  (SI), Y7, Y1
	VMASKMOVPS  (AX), Y7, Y2
	VFMADD213PS Y2, Y0, Y1
	VMASKMOVPS  Y1, Y7, (R13)

next:
	ADDQ $4, R8
	ADDQ DX, DI
	ADDQ R12, R11
	JMP  row

done:
	VZEROUPPER
	RET

// CONSTANT broadcasts a float32, given by its bits.
#define CONSTANT(bits, x, y) \
	MOVL         $bits, AX  \
	VMOVD        AX, x      \
	VBROADCASTSS x, y

// ERROR adds the squared errors of 8 weights.
#define ERROR(at, inverses, sum) \
	VMULPS at(SI), inverses, Y4  \
	VADDPS Y8, Y4, Y5            \
	VSUBPS Y8, Y5, Y5            \
	VMAXPS Y9, Y5, Y5            \
	VMINPS Y10, Y5, Y5           \
	VSUBPS Y5, Y4, Y4            \
	VMULPS Y4, Y4, Y4            \
	VADDPS Y4, sum, sum

// func errors4AVX2(errors *[quantCols]float32, values *tileValues, inverses *[quantCols]float32)
TEXT ·errors4AVX2(SB), NOSPLIT, $0-24
	MOVQ    errors+0(FP), DI
	MOVQ    values+8(FP), SI
	MOVQ    inverses+16(FP), BX
	VMOVUPS (BX), Y2
	VMOVUPS 32(BX), Y3
	CONSTANT(0x4b400000, X8, Y8)    // 1.5·2²³: see roundEven
	CONSTANT(0xc1000000, X9, Y9)    // −8
	CONSTANT(0x40e00000, X10, Y10)  // 7
	VXORPS  Y0, Y0, Y0
	VXORPS  Y1, Y1, Y1
	MOVQ    $16, CX

inputs:
	ERROR(0, Y2, Y0)
	ERROR(32, Y3, Y1)
	ERROR(64, Y2, Y0)
	ERROR(96, Y3, Y1)
	ADDQ    $128, SI
	DECQ    CX
	JNZ     inputs
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

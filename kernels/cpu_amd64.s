//go:build !purego

#include "textflag.h"

// func pause()
TEXT ·pause(SB), NOSPLIT, $0-0
	PAUSE
	PAUSE
	PAUSE
	PAUSE
	RET

// func isAMD() bool
TEXT ·isAMD(SB), NOSPLIT, $0-1
	XORL AX, AX
	XORL CX, CX
	CPUID
	CMPL BX, $0x68747541 // AuthenticAMD
	SETEQ ret+0(FP)
	RET

// func extendedStates() uint64
TEXT ·extendedStates(SB), NOSPLIT, $0-8
	XORL CX, CX
	XGETBV
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func archPrctl(code, argument uint64) (result int64)
TEXT ·archPrctl(SB), NOSPLIT, $0-24
	MOVQ code+0(FP), DI
	MOVQ argument+8(FP), SI
	MOVL $158, AX
	SYSCALL
	MOVQ AX, result+16(FP)
	RET

// laneMask is eight lanes set and eight clear: eight lanes from byte 32−4n on begin with n that are set.
DATA ·laneMask+0(SB)/8, $-1
DATA ·laneMask+8(SB)/8, $-1
DATA ·laneMask+16(SB)/8, $-1
DATA ·laneMask+24(SB)/8, $-1
DATA ·laneMask+32(SB)/8, $0
DATA ·laneMask+40(SB)/8, $0
DATA ·laneMask+48(SB)/8, $0
DATA ·laneMask+56(SB)/8, $0
GLOBL ·laneMask(SB), RODATA|NOPTR, $64

// turn counts lanes, twice over.
DATA ·turn+0(SB)/8, $0x0000000100000000
DATA ·turn+8(SB)/8, $0x0000000300000002
DATA ·turn+16(SB)/8, $0x0000000500000004
DATA ·turn+24(SB)/8, $0x0000000700000006
DATA ·turn+32(SB)/8, $0x0000000100000000
DATA ·turn+40(SB)/8, $0x0000000300000002
DATA ·turn+48(SB)/8, $0x0000000500000004
DATA ·turn+56(SB)/8, $0x0000000700000006
GLOBL ·turn(SB), RODATA|NOPTR, $64

//go:build !purego

#include "textflag.h"

// func pause()
// YIELD is a no-op on most cores; a barrier on the instruction stream takes some tens of nanoseconds.
TEXT ·pause(SB), NOSPLIT, $0-0
	ISB $15
	ISB $15
	ISB $15
	ISB $15
	RET

// NIBBLES is what takes Q4 weights apart in 512 bits: Z29 masks the lowest four bits of each
// word, Z30 and Z31 are the shifts for even and odd pairs.
#define NIBBLES \
	MOVL         $0x000f000f, AX          \
	VPBROADCASTD AX, Z29                  \
	VPBROADCASTQ ·evenShifts+0(SB), Y30   \
	VPBROADCASTQ ·evenShifts+8(SB), Y31   \
	VINSERTI64X4 $1, Y31, Z30, Z30        \
	VPBROADCASTQ ·oddShifts+0(SB), Y31    \
	VPBROADCASTQ ·oddShifts+8(SB), Y28    \
	VINSERTI64X4 $1, Y28, Z31, Z31

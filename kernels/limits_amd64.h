// What the machine can do at most: twelve sums S0–S11 that do not wait for each other, and ONES and
// ONES2, whose product each step adds to a sum: so each counts itself.

#define EACH(OP) \
	OP(S0)   \
	OP(S1)   \
	OP(S2)   \
	OP(S3)   \
	OP(S4)   \
	OP(S5)   \
	OP(S6)   \
	OP(S7)   \
	OP(S8)   \
	OP(S9)   \
	OP(S10)  \
	OP(S11)

#define ZERO(sum)    VXORPS sum, sum, sum
#define CONVERT(sum) VCVTDQ2PS sum, sum

// PEAK does four steps of each sum an iteration. The sums are added up in S0.
#define PEAK(one, STEP, FLOAT) \
	MOVQ iterations+0(FP), CX  \
	EACH(ZERO)                 \
	MOVL $one, AX              \
	VMOVD AX, X14              \
	VPBROADCASTD X14, ONES     \
	VPBROADCASTD X14, ONES2    \
	JMP  next                  \
loop:                          \
	EACH(STEP)                 \
	EACH(STEP)                 \
	EACH(STEP)                 \
	EACH(STEP)                 \
next:                          \
	SUBQ $1, CX                \
	JGE  loop                  \
	EACH(FLOAT)                \
	VADDPS S1, S0, S0          \
	VADDPS S3, S2, S2          \
	VADDPS S5, S4, S4          \
	VADDPS S7, S6, S6          \
	VADDPS S9, S8, S8          \
	VADDPS S11, S10, S10       \
	VADDPS S2, S0, S0          \
	VADDPS S6, S4, S4          \
	VADDPS S10, S8, S8         \
	VADDPS S4, S0, S0          \
	VADDPS S8, S0, S0

// LANES adds up Y0 and returns.
#define LANES \
	VHADDPS Y0, Y0, Y0         \
	VHADDPS Y0, Y0, Y0         \
	VEXTRACTF128 $1, Y0, X1    \
	VADDSS X1, X0, X0          \
	VMOVSS X0, ret+8(FP)       \
	VZEROUPPER                 \
	RET

#define NOTHING(sum)
#define FMA(sum) VFMADD231PS ONES, ONES2, sum
// DOT adds pairs of products of int16.
#define DOT(sum) VPDPWSSD ONES, ONES2, sum

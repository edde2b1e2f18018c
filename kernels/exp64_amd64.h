// Exp64's operations one for one, on four elements; the numbers are those of logsumexp.go.

#define CONST(name, value) \
	DATA name<>+0(SB)/8, value   \
	DATA name<>+8(SB)/8, value   \
	DATA name<>+16(SB)/8, value  \
	DATA name<>+24(SB)/8, value  \
	GLOBL name<>(SB), RODATA|NOPTR, $32

CONST(min64, $-708.3964185322641)
CONST(log2e64, $1.4426950408889634)
CONST(ln2Hi64, $0.6931471803691238)
CONST(ln2Lo64, $1.9082149292705877e-10)
CONST(round64, $6755399441055744.0)
CONST(one64, $1.0)
CONST(e2, $0.5)
CONST(e3, $0.16666666666666666)
CONST(e4, $0.041666666666666664)
CONST(e5, $0.0083333333333333332)
CONST(e6, $0.0013888888888888889)
CONST(e7, $0.00019841269841269841)
CONST(e8, $2.4801587301587302e-05)
CONST(e9, $2.7557319223985893e-06)
CONST(e10, $2.7557319223985888e-07)
CONST(e11, $2.505210838544172e-08)
CONST(e12, $2.08767569878681e-09)
CONST(e13, $1.6059043836821613e-10)

// EXP sets y to Exp64 of x ≤ 0, not NaN. It uses t, r and u.
#define EXP(x, y, t, r, u) \
	VMOVUPD log2e64<>(SB), t             \
	VFMADD213PD round64<>(SB), x, t      \
	VSUBPD round64<>(SB), t, u           \ // n
	VMOVAPD x, r                         \
	VFNMADD231PD ln2Hi64<>(SB), u, r     \
	VFNMADD231PD ln2Lo64<>(SB), u, r     \
	VMOVUPD e13<>(SB), y                 \
	VFMADD213PD e12<>(SB), r, y          \
	VFMADD213PD e11<>(SB), r, y          \
	VFMADD213PD e10<>(SB), r, y          \
	VFMADD213PD e9<>(SB), r, y           \
	VFMADD213PD e8<>(SB), r, y           \
	VFMADD213PD e7<>(SB), r, y           \
	VFMADD213PD e6<>(SB), r, y           \
	VFMADD213PD e5<>(SB), r, y           \
	VFMADD213PD e4<>(SB), r, y           \
	VFMADD213PD e3<>(SB), r, y           \
	VFMADD213PD e2<>(SB), r, y           \
	VMULPD r, r, u                       \
	VFMADD213PD r, u, y                  \
	VADDPD one64<>(SB), y, y             \
	VPSLLQ $52, t, t                     \
	VPADDQ t, y, y                       \
	VCMPPD $1, min64<>(SB), x, u         \
	VANDNPD y, u, y

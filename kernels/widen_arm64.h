// What the kernels share that read numbers in three formats: how sixteen, eight, four, two or one of them become float32.
//
// at is the address, which moves on. A register is given by name, for the load, and by number, for the conversion.

#define F32x16(at, a, b, c, d, va, vb, vc, vd) \
	FLDPQ.P 32(at), (a, b)     \
	FLDPQ.P 32(at), (c, d)
#define F32x8(at, a, b, va, vb) FLDPQ.P 32(at), (a, b)
#define F32x4(at, a, va) FMOVQ.P 16(at), a
#define F32x2(at, a, va) FMOVD.P 8(at), a
#define F32x1(at, a, va) FMOVS.P 4(at), a

#define F16x16(at, a, b, c, d, va, vb, vc, vd) \
	FLDPQ.P 32(at), (b, d)     \
	FCVTL(vb, va)              \
	FCVTL2(vb, vb)             \
	FCVTL(vd, vc)              \
	FCVTL2(vd, vd)
#define F16x8(at, a, b, va, vb) \
	FMOVQ.P 16(at), b          \
	FCVTL(vb, va)              \
	FCVTL2(vb, vb)
#define F16x4(at, a, va) \
	FMOVD.P 8(at), a           \
	FCVTL(va, va)
#define F16x2(at, a, va) \
	FMOVS.P 4(at), a           \
	FCVTL(va, va)
#define F16x1(at, a, va) \
	MOVHU.P 2(at), R26         \
	FMOVS R26, a               \
	FCVTL(va, va)

#define BF16x16(at, a, b, c, d, va, vb, vc, vd) \
	FLDPQ.P 32(at), (b, d)     \
	SHLL(vb, va)               \
	SHLL2(vb, vb)              \
	SHLL(vd, vc)               \
	SHLL2(vd, vd)
#define BF16x8(at, a, b, va, vb) \
	FMOVQ.P 16(at), b          \
	SHLL(vb, va)               \
	SHLL2(vb, vb)
#define BF16x4(at, a, va) \
	FMOVD.P 8(at), a           \
	SHLL(va, va)
#define BF16x2(at, a, va) \
	FMOVS.P 4(at), a           \
	SHLL(va, va)
#define BF16x1(at, a, va) \
	MOVHU.P 2(at), R26         \
	FMOVS R26, a               \
	SHLL(va, va)

// What the kernels share that read weights in three formats, eight at a time.
//
// WIDEN(at, v) reads eight weights at an address; REST(row, v) reads the BX < 8 that are left of a row, into the lanes of
// the mask in Y15 (the other lanes hold anything); size is the bytes of a weight.

#define F32(at, v) VMOVUPS at, v

#define F16(at, v) VCVTPH2PS at, v

#define BF16(at, v) \
	VPMOVZXWD at, v      \
	VPSLLD $16, v, v

#define F32REST(row, v) VMASKMOVPS (row)(AX*4), Y15, v

// In 16 bits the last eight weights of the row are read, and turned so that the BX that count come first: Y14 is 8 − BX + lane.
#define F16REST(row, v) \
	LEAQ (row)(AX*2), R15     \
	VCVTPH2PS -16(R15)(BX*2), v   \
	VPERMPS v, Y14, v

#define BF16REST(row, v) \
	LEAQ (row)(AX*2), R15     \
	VPMOVZXWD -16(R15)(BX*2), v   \
	VPSLLD $16, v, v          \
	VPERMPS v, Y14, v

// MASK sets Y15 to BX lanes and Y14 to where they lie among the last eight.
#define MASK \
	LEAQ ·laneMask+32(SB), R15  \
	SHLQ $2, BX                 \
	SUBQ BX, R15                \
	VMOVUPS (R15), Y15          \
	LEAQ ·turn+32(SB), R15     \
	SUBQ BX, R15                \
	VMOVUPS (R15), Y14          \
	SHRQ $2, BX

// LANES adds a product to the lanes of the mask; the others keep what they hold.
#define LANES(x, w, t, acc) \
	VMOVAPS acc, t              \
	VFMADD231PS w, x, t         \
	VBLENDVPS Y15, t, acc, acc


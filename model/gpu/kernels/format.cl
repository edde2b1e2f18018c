// Number formats, by the bits. Format numbers are kernels.Format's.

#define F32 0
#define F16 1
#define BF16 2
#define Q8 3
#define Q4 4

// from_half widens binary16, exactly.
FUNCTION float from_half(ushort h) {
#ifdef WIDEN_HALF
	return WIDEN_HALF(h);
#else
	uint sign = (uint)(h & 0x8000) << 16, m = h & 0x7fff;
	if (m >= 0x7c00u) return FLOAT(sign | 0x7f800000u | (m << 13 & 0x7fffffu)); // infinity, NaN
	if (m >= 0x0400u) return FLOAT(sign | ((m << 13) + ((127u - 15u) << 23)));  // normal
	return FLOAT(sign | BITS((float)(int)m * (1.0f / 16777216.0f)));           // a count of 2⁻²⁴
#endif
}

// to_half rounds to binary16, to nearest even, by integers alone. What is then not finite becomes a
// NaN, as a cache in F16 stores it.
FUNCTION ushort to_half(float f) {
	uint sign = BITS(f) >> 16 & 0x8000u, m = BITS(f) & 0x7fffffffu, h;
	if (m >= 0x38800000u) { // from 2⁻¹⁴ on: drop 13 bits, move the exponent's bias
		h = ((m + 0xfffu + (m >> 13 & 1u)) >> 13) - ((127u - 15u) << 10);
		if (m >= 0x47800000u) h = 0x7c00u;
	} else { // a count of 2⁻²⁴
		uint shift = 126u - (m >> 23), whole = (m & 0x7fffffu) | 0x800000u;
		h = shift > 24u ? 0u : (whole + (1u << (shift - 1u)) - 1u + (whole >> shift & 1u)) >> shift;
	}
	if ((h & 0x7c00u) == 0x7c00u) h |= 0x0200u;
	return (ushort)(sign | h);
}

// stored returns the bits of number i of an array in F32, F16 or BF16, and widened the number that
// they are. What is loaded together is widened after the last load: a conversion waits for its
// load.
FUNCTION uint stored(GLOBAL const void *w, ulong i, int format) {
	return format == F32 ? ((GLOBAL const uint *)w)[i] : ((GLOBAL const ushort *)w)[i];
}

FUNCTION float widened(uint bits, int format) {
	if (format == F32) return FLOAT(bits);
	return format == F16 ? from_half((ushort)bits) : FLOAT(bits << 16);
}

// number returns number i of an array in F32, F16 or BF16.
FUNCTION float number(GLOBAL const void *w, ulong i, int format) {
	if (format == F32) return ((GLOBAL const float *)w)[i];
	ushort h = ((GLOBAL const ushort *)w)[i];
	return format == F16 ? from_half(h) : FLOAT((uint)h << 16);
}

// set_number sets number i of an array in F32 or F16.
FUNCTION void set_number(GLOBAL void *w, ulong i, float x, int format) {
	if (format == F32) ((GLOBAL float *)w)[i] = x;
	else ((GLOBAL ushort *)w)[i] = to_half(x);
}

// A tile of Q8 or Q4 is 16 outputs by 32 inputs, then 16 scales: kernels/quant.go.
#define TILE_BYTES(format) ((format) == Q8 ? 544 : 288)

// integer returns the stored integer of output j and input k of a tile, which in Q4 is 8 more than
// it means.
FUNCTION int integer(GLOBAL const uchar *tile, int j, int k, int format) {
	if (format == Q8) return (int)(signed char)tile[k / 2 * 32 + 2 * j + k % 2];
	return tile[k / 4 * 32 + j % 8 * 4 + k % 2 * 2 + k % 4 / 2] >> (j / 8 * 4) & 15;
}

// scale_bits returns the scale of output j of a tile in BF16, and tile_scale as a float.
FUNCTION ushort scale_bits(GLOBAL const uchar *tile, int j, int format) {
	return ((GLOBAL const ushort *)(tile + TILE_BYTES(format) - 32))[j];
}
FUNCTION float tile_scale(GLOBAL const uchar *tile, int j, int format) {
	return FLOAT((uint)scale_bits(tile, j, format) << 16);
}

FUNCTION int min_(int a, int b) { return a < b ? a : b; }

// The lanes' tree.
#define TREE(l) (((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7])))

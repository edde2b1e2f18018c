// Linear layers on Q8 and Q4 weights: kernels/quantleaf.go.

// quantize makes integers of rows of x: q [rows, blocks·32], the sums that Q4 starts from [rows,
// blocks], and scales [rows]. A group of 64 is a row.
KERNEL void quantize(GLOBAL short *q, GLOBAL int *starts, GLOBAL float *scales,
		GLOBAL const float *x, int in, int blocks) {
	SHARED uint peaks[64];
	int r = GROUP(0);
	x += (ulong)r * in, q += (ulong)r * blocks * 32, starts += (ulong)r * blocks;
	uint most = 0;
	for (int i = ITEM; i < in; i += 64) {
		uint u = BITS(x[i]) & 0x7fffffffu;
		most = u > most ? u : most;
	}
	peaks[ITEM] = most;
	BARRIER;
	for (int i = 0; i < 64; i++) most = peaks[i] > most ? peaks[i] : most;
	float peak = FLOAT(most), scale, inverse;
	if (most >= 0x7f800000u) scale = FLOAT(0x7fc00000u), inverse = 0.0f; // NaN or infinite
	else if (most < (127u - 80u) << 23) scale = 0.0f, inverse = 0.0f;    // below 2⁻⁸⁰
	else scale = peak / 32767.0f, inverse = 32767.0f / peak;
	if (ITEM == 0) scales[r] = scale;
	for (int b = ITEM; b < blocks; b += 64) {
		int start = 0;
		for (int i = b * 32; i < b * 32 + 32; i++) {
			int n = 0;
			if (i < in && inverse != 0.0f) n = (int)((x[i] * inverse + 12582912.0f) - 12582912.0f);
			q[i] = (short)n;
			start -= 8 * n;
		}
		starts[b] = start;
	}
}

// integers computes 16 outputs of up to `many` rows, a slab of 16 blocks of inputs at a time: group
// (outputs, rows) of 256 items. First item (b, j) computes the exact sums of block b and output j,
// then item (i, j) continues the chain of row i and output j. bias may be null.
FUNCTION void integers(GLOBAL float *y, GLOBAL const short *q, GLOBAL const int *starts,
		GLOBAL const float *scales, GLOBAL const uchar *w, GLOBAL const float *bias, int rows,
		int blocks, int out, int format, int many, LOCAL float *sums, LOCAL float *by) {
	int r = GROUP(1) * many, count = min_(rows - r, many);
	int n = ITEM / 16, j = ITEM % 16, o = GROUP(0) * 16 + j; // n is a block, or a row
	float chain = 0.0f;
	for (int first = 0; first < blocks; first += 16) {
		int b = first + n, depth = min_(blocks - first, 16);
		if (n < depth) {
			GLOBAL const uchar *tile = w + ((ulong)GROUP(0) * blocks + b) * TILE_BYTES(format);
			by[ITEM] = tile_scale(tile, j, format);
			for (int i = 0; i < count; i++) {
				GLOBAL const short *x = q + ((ulong)(r + i) * blocks + b) * 32;
				int sum = format == Q8 ? 0 : starts[(ulong)(r + i) * blocks + b];
				for (int k = 0; k < 32; k++) sum += (int)x[k] * integer(tile, j, k, format);
				sums[i * 256 + ITEM] = (float)sum;
			}
		}
		BARRIER;
		if (n < count)
			for (int d = 0; d < depth; d++)
				chain = fma(sums[n * 256 + d * 16 + j], by[d * 16 + j], chain);
		BARRIER;
	}
	if (n < count && o < out)
		y[(ulong)(r + n) * out + o] = fma(chain, scales[r + n], bias ? bias[o] : 0.0f);
}

#define INTEGERS(name, format, many)                                                               \
	KERNEL void name(GLOBAL float *y, GLOBAL const short *q, GLOBAL const int *starts,             \
			GLOBAL const float *scales, GLOBAL const uchar *w, GLOBAL const float *bias, int rows, \
			int blocks, int out) {                                                                 \
		SHARED float sums[256 * many];                                                             \
		SHARED float by[256];                                                                      \
		integers(y, q, starts, scales, w, bias, rows, blocks, out, format, many, sums, by);        \
	}
INTEGERS(integers_one_q8, Q8, 1)
INTEGERS(integers_one_q4, Q4, 1)
INTEGERS(integers_few_q8, Q8, 16)
INTEGERS(integers_few_q4, Q4, 16)

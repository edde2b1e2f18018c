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
	if (most >= 0x7f800000u) scale = FLOAT(0x7fc00000u), inverse = 0.0f;        // NaN or infinite
	else if (most < (127u - 80u) << 23) scale = 0.0f, inverse = 0.0f;          // below 2⁻⁸⁰
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

// linear_quant: an item is an output of one row. bias may be null.
FUNCTION void linear_quant(GLOBAL float *y, GLOBAL const short *q, GLOBAL const int *starts,
		GLOBAL const float *scales, GLOBAL const uchar *w, GLOBAL const float *bias, int blocks,
		int out, int after, int format) {
	int o = GROUP(0) * ITEMS + ITEM, r = GROUP(1), j = o % 16;
	if (o >= out) return;
	float chain = 0.0f;
	for (int b = 0; b < blocks; b++) {
		GLOBAL const uchar *tile = w + ((ulong)(o / 16) * blocks + b) * TILE_BYTES(format);
		GLOBAL const short *x = q + ((ulong)r * blocks + b) * 32;
		int sum = format == Q8 ? 0 : starts[r * blocks + b];
		for (int k = 0; k < 32; k++) sum += (int)x[k] * integer(tile, j, k, format);
		chain = fma((float)sum, tile_scale(tile, j, format), chain);
	}
	put(&y[(ulong)r * out + o], fma(chain, scales[r], bias ? bias[o] : 0.0f), after);
}

#define LINEAR_QUANT(name, format)                                                                 \
	KERNEL void name(GLOBAL float *y, GLOBAL const short *q, GLOBAL const int *starts,             \
			GLOBAL const float *scales, GLOBAL const uchar *w, GLOBAL const float *bias,           \
			int blocks, int out, int after) {                                                      \
		linear_quant(y, q, starts, scales, w, bias, blocks, out, after, format);                   \
	}
LINEAR_QUANT(linear_q8, Q8)
LINEAR_QUANT(linear_q4, Q4)

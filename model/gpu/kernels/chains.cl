// Linear layers on float weights, for a few rows.
//
// A group of 256 items computes one segment of 16 rows by 32 outputs; an item has 1 row and 2
// outputs, in registers. A slab of inputs is in local memory while the next one is on its way to
// registers. No multiplication is guarded: see chainstile.cl.

#define ROWS 16
#define OUTS 32
#define DEEP 128                    // inputs of a slab
#define PITCH (DEEP + 4)            // of a row in local memory: two rows are in different banks
#define WEIGHTS (OUTS * DEEP / 256) // that an item fetches for a slab
#define INPUTS (ROWS * DEEP / 256)  // likewise

FUNCTION void chains_few(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,
		GLOBAL const float *bias, int rows, int in, int out, int format, LOCAL float *ws,
		LOCAL float *xs) {
	int c = GROUP(0) * OUTS, s = GROUP(1), r = GROUP(2) * ROWS;
	int row = r + ITEM / 16, col = c + ITEM % 16 * 2, end = min_(in, (s + 1) * SEGMENT);
	// What this item fetches: inputs wk, wk + 256 / OUTS, … of output wc, and input xk of rows xr,
	// xr + 256 / DEEP, …. Past the end the last output, row or input is fetched once more.
	int wk = ITEM / OUTS, wc = min_(c + ITEM % OUTS, out - 1), xk = ITEM % DEEP, xr = ITEM / DEEP;
	float chain[2], u[INPUTS];
	uint v[WEIGHTS];
	UNROLL for (int j = 0; j < 2; j++)
		chain[j] = s == 0 && bias ? bias[min_(col + j, out - 1)] : 0.0f;
	for (int k = s * SEGMENT - DEEP; k < end; k += DEEP) {
		if (k >= s * SEGMENT) {
			BARRIER;
			UNROLL for (int n = 0; n < WEIGHTS; n++)
				ws[n * 256 + ITEM] = k + wk + n * (256 / OUTS) < end ? widened(v[n], format) : 0.0f;
			UNROLL for (int n = 0; n < INPUTS; n++)
				xs[(xr + n * (256 / DEEP)) * PITCH + xk] =
					k + xk < end ? u[n] : FLOAT(0x80000000u);
			BARRIER;
		}
		int next = k + DEEP;
		if (next < end) {
			UNROLL for (int n = 0; n < WEIGHTS; n++)
				v[n] = stored(w, (ulong)min_(next + wk + n * (256 / OUTS), end - 1) * out + wc,
					format);
			UNROLL for (int n = 0; n < INPUTS; n++)
				u[n] = x[(ulong)min_(r + xr + n * (256 / DEEP), rows - 1) * in +
					min_(next + xk, end - 1)];
		}
		if (k < s * SEGMENT || row >= rows) continue;
		LOCAL const float *own = xs + ITEM / 16 * PITCH, *beside = ws + ITEM % 16 * 2;
		UNROLL_4 for (int d = 0; d < DEEP; d += 4) { // inputs by fours: a quarter of the loads
			float a[4], b[4][2];
			load4(a, &own[d]);
			UNROLL for (int i = 0; i < 4; i++) load2(b[i], &beside[(d + i) * OUTS]);
			UNROLL for (int i = 0; i < 4; i++)
				UNROLL for (int j = 0; j < 2; j++) chain[j] = fma(a[i], b[i][j], chain[j]);
		}
	}
	UNROLL for (int j = 0; j < 2; j++)
		if (row < rows && col + j < out) parts[((ulong)s * rows + row) * out + col + j] = chain[j];
}

#define CHAINS_FEW(name, format)                                                                   \
	KERNEL void name(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,             \
			GLOBAL const float *bias, int rows, int in, int out) {                                 \
		SHARED float ws[OUTS * DEEP] ALIGNED;                                                      \
		SHARED float xs[ROWS * PITCH] ALIGNED;                                                     \
		chains_few(parts, x, w, bias, rows, in, out, format, ws, xs);                              \
	}
CHAINS_FEW(chains_few_f32, F32)
CHAINS_FEW(chains_few_f16, F16)
CHAINS_FEW(chains_few_bf16, BF16)
#undef DEEP

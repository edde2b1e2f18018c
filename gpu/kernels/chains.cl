// Linear layers on float weights, for several rows. gpt2.cl includes this file with
//
//	HIGH   rows of an item, whose outputs are in registers
//	WIDE   outputs of each of them: 2 or 4
//	DEEP   inputs of a slab, which is in local memory while the next one is on its way to registers
//	NAMED  the names of the kernels
//
// A group of 256 items computes one segment of 16·HIGH rows by 16·WIDE outputs.

#define ROWS (16 * HIGH)
#define OUTS (16 * WIDE)
#define PITCH (DEEP + 4) // of a row in local memory: two rows are in different banks
#define WEIGHTS (OUTS * DEEP / 256) // that an item fetches for a slab
#define INPUTS (ROWS * DEEP / 256)  // likewise
#undef LOAD
#if WIDE == 4
#define LOAD load4
#else
#define LOAD load2
#endif

FUNCTION void NAMED(of)(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,
		GLOBAL const float *bias, int rows, int in, int out, int format, LOCAL float *ws,
		LOCAL float *xs) {
	int c = GROUP(0) * OUTS, s = GROUP(1), r = GROUP(2) * ROWS;
	int row = ITEM / 16 * HIGH, col = ITEM % 16 * WIDE, end = min_(in, (s + 1) * SEGMENT);
	// What this item fetches: inputs wk, wk + 256 / OUTS, … of output wc, and input xk of rows xr,
	// xr + 256 / DEEP, …. Past the end the last output or row is fetched once more, for nothing.
	int wk = ITEM / OUTS, wc = min_(c + ITEM % OUTS, out - 1), xk = ITEM % DEEP, xr = ITEM / DEEP;
	float chain[HIGH][WIDE], v[WEIGHTS], u[INPUTS];
	UNROLL for (int i = 0; i < HIGH; i++)
		UNROLL for (int j = 0; j < WIDE; j++)
			chain[i][j] = s == 0 && bias && c + col + j < out ? bias[c + col + j] : 0.0f;
	for (int k = s * SEGMENT - DEEP; k < end; k += DEEP) {
		if (k >= s * SEGMENT) {
			BARRIER;
			UNROLL for (int n = 0; n < WEIGHTS; n++) ws[n * 256 + ITEM] = v[n];
			UNROLL for (int n = 0; n < INPUTS; n++) xs[(xr + n * (256 / DEEP)) * PITCH + xk] = u[n];
			BARRIER;
		}
		int next = k + DEEP;
		UNROLL for (int n = 0; n < WEIGHTS; n++)
			if (next + wk + n * (256 / OUTS) < end)
				v[n] = number(w, (ulong)(next + wk + n * (256 / OUTS)) * out + wc, format);
		UNROLL for (int n = 0; n < INPUTS; n++)
			if (next + xk < end)
				u[n] = x[(ulong)min_(r + xr + n * (256 / DEEP), rows - 1) * in + next + xk];
		if (k < s * SEGMENT || r + row >= rows) continue;
		int d = 0, depth = min_(end - k, DEEP);
		for (; d + 4 <= depth; d += 4) { // numbers are read by fours, which takes a quarter as long
			float4 a[HIGH];
			UNROLL for (int i = 0; i < HIGH; i++)
				a[i] = *(LOCAL const float4 *)&xs[(row + i) * PITCH + d];
#define STEP(n, part)                                                                              \
	{                                                                                              \
		float b[WIDE];                                                                             \
		LOAD(b, &ws[(d + n) * OUTS + col]);                                                        \
		UNROLL for (int i = 0; i < HIGH; i++)                                                      \
			UNROLL for (int j = 0; j < WIDE; j++) chain[i][j] = fma(a[i].part, b[j], chain[i][j]); \
	}
			STEP(0, x) STEP(1, y) STEP(2, z) STEP(3, w)
		}
		for (; d < depth; d++)
			UNROLL for (int i = 0; i < HIGH; i++)
				UNROLL for (int j = 0; j < WIDE; j++)
					chain[i][j] = fma(xs[(row + i) * PITCH + d], ws[d * OUTS + col + j],
						chain[i][j]);
	}
	UNROLL for (int i = 0; i < HIGH; i++)
		UNROLL for (int j = 0; j < WIDE; j++)
			if (r + row + i < rows && c + col + j < out)
				parts[((ulong)s * rows + r + row + i) * out + c + col + j] = chain[i][j];
}

#define CHAINS(name, format)                                                                       \
	KERNEL void name(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,             \
			GLOBAL const float *bias, int rows, int in, int out) {                                 \
		SHARED float ws[OUTS * DEEP] ALIGNED;                                                      \
		SHARED float xs[ROWS * PITCH] ALIGNED;                                                     \
		NAMED(of)(parts, x, w, bias, rows, in, out, format, ws, xs);                               \
	}
CHAINS(NAMED(f32), F32)
CHAINS(NAMED(f16), F16)
CHAINS(NAMED(bf16), BF16)

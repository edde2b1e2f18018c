// Linear layers on float weights, for many rows: tiles. gpt2.cl includes this file with
//
//	DOWN   items of a group above each other; 16 are beside each other
//	WIDE   outputs of an item: 4 or 8
//	DEEP   inputs of a slab: 8 or 16
//	NAMED  the names of the kernels
//
// An item computes 8 rows by WIDE outputs, in registers. A group computes 8·DOWN rows by 16·WIDE
// outputs of `each` segments, one after the other: of one, or of all, which it then adds up in
// their order. A slab is in one half of local memory while the items multiply it, and the next one
// is on its way to registers, and from there to the other half.
//
// No multiplication is guarded. Past the last row or output the last one is computed once more, for
// nothing. Past the last input, x is −0 and a weight is +0: their product is −0, and whatever is
// added to that stays as it is, a −0 too.

#undef ROWS
#undef OUTS
#undef PITCH
#undef WEIGHTS
#undef INPUTS
#undef HIGH
#define HIGH 8
#define TEAM (16 * DOWN) // items of a group
#define ROWS (HIGH * DOWN)
#define OUTS (16 * WIDE)
#define PITCH (ROWS + 4)             // of an input's rows in local memory: see put
#define WEIGHTS (OUTS * DEEP / TEAM) // that an item fetches for a slab
#define INPUTS (ROWS * DEEP / TEAM)  // likewise, of 4 rows
#define EIGHTS (DEEP / 8)            // of the inputs of a slab

// fetch loads what an item fetches of a slab of which `left` inputs are there: weights of one
// output, from number `at` on, and inputs of 4 rows. No load waits for another one.
FUNCTION void NAMED(fetch)(uint *v, float *u, GLOBAL const void *w, ulong at, ulong out,
		GLOBAL const float **x, int left, int format) {
	const int step = TEAM / OUTS, wk = ITEM / OUTS, xk = ITEM % 8;
	if (left >= DEEP) {
		UNROLL for (int n = 0; n < WEIGHTS; n++) v[n] = stored(w, at + n * step * out, format);
		UNROLL for (int n = 0; n < INPUTS; n++) u[n] = x[n / EIGHTS][n % EIGHTS * 8];
		return;
	}
	UNROLL for (int n = 0; n < WEIGHTS; n++)
		v[n] = wk + n * step < left ? stored(w, at + n * step * out, format) : 0u;
	UNROLL for (int n = 0; n < INPUTS; n++)
		u[n] = xk + n % EIGHTS * 8 < left ? x[n / EIGHTS][n % EIGHTS * 8] : FLOAT(0x80000000u);
}

// put stores what was fetched in local memory: the outputs of an input lie beside each other, and
// so do its rows. The 32 items of a warp have 8 inputs of 4 rows, which PITCH puts into 32 banks.
FUNCTION void NAMED(put)(LOCAL float *ws, LOCAL float *xs, const uint *v, const float *u,
		int format) {
	UNROLL for (int n = 0; n < WEIGHTS; n++) ws[n * TEAM + ITEM] = widened(v[n], format);
	UNROLL for (int n = 0; n < INPUTS; n++)
		xs[(ITEM % 8 + n % EIGHTS * 8) * PITCH + ITEM / 8 + n / EIGHTS * (TEAM / 8)] = u[n];
}

// OUTPUT_AT is the place of an item's output j behind its first one: with 8 of them there are two
// runs of 4, so that what the items beside each other load lies side by side.
#define OUTPUT_AT(j) ((j) % 4 + (j) / 4 * 64)

// multiply continues the chains of an item by a slab.
FUNCTION void NAMED(multiply)(float (*chain)[WIDE], LOCAL const float *ws, LOCAL const float *xs) {
	UNROLL for (int d = 0; d < DEEP; d++) {
		float a[HIGH], b[WIDE];
		UNROLL for (int i = 0; i < HIGH; i += 4) load4(&a[i], &xs[d * PITCH + i]);
		UNROLL for (int j = 0; j < WIDE; j += 4) load4(&b[j], &ws[d * OUTS + OUTPUT_AT(j)]);
		UNROLL for (int i = 0; i < HIGH; i++)
			UNROLL for (int j = 0; j < WIDE; j++) chain[i][j] = fma(a[i], b[j], chain[i][j]);
	}
}

// finish adds an item's chains over a segment to y, and begins those over the next one. For the
// first segment of a group, y is what they are. Nobody else has these numbers of y: they are sums
// for which an item has no registers, unless a multiprocessor has half as many items. 16 or 32 of
// them are loaded at a time; past the end, another one of the item's, for nothing.
FUNCTION void NAMED(finish)(float (*chain)[WIDE], GLOBAL float *y, int row, int col, int rows,
		int out, int is_first) {
	HIDE(row); // else a compiler keeps 64 addresses in registers all the time
	HIDE(col);
	HIDE(out);
	if (!is_first)
		UNROLL for (int i = 0; i < HIGH; i += 4) {
			float sum[4][WIDE];
			UNROLL for (int n = 0; n < 4; n++)
				UNROLL for (int j = 0; j < WIDE; j++)
					sum[n][j] = y[(ulong)min_(row + i + n, rows - 1) * out + col +
						(col + OUTPUT_AT(j) < out ? OUTPUT_AT(j) : 0)];
			UNROLL for (int n = 0; n < 4; n++)
				UNROLL for (int j = 0; j < WIDE; j++) chain[i + n][j] = sum[n][j] + chain[i + n][j];
		}
	UNROLL for (int i = 0; i < HIGH; i++)
		UNROLL for (int j = 0; j < WIDE; j++) {
			if (row + i < rows && col + OUTPUT_AT(j) < out)
				y[(ulong)(row + i) * out + col + OUTPUT_AT(j)] = chain[i][j];
			chain[i][j] = 0.0f;
		}
}

FUNCTION void NAMED(of)(GLOBAL float *y, GLOBAL const float *x, GLOBAL const void *w,
		GLOBAL const float *bias, int rows, int in, int out, int each, int format, LOCAL float *ws,
		LOCAL float *xs) {
	int c = GROUP(0) * OUTS, first = GROUP(1) * each * SEGMENT, r = GROUP(2) * ROWS;
	int end = min_(in, first + each * SEGMENT);
	y += (ulong)GROUP(1) * rows * out;
	// A warp has 4 by 8 items: of local memory they load few numbers, all in other banks.
	int down = (ITEM / 64 * 4 + ITEM / 8 % 4) * HIGH, row = r + down;
	int right = (ITEM / 32 % 2 * 8 + ITEM % 8) * 4, col = c + right;
	ulong at = (ulong)(first + ITEM / OUTS) * out + min_(c + ITEM % OUTS, out - 1);
	GLOBAL const float *from[4];
	UNROLL for (int n = 0; n < 4; n++)
		from[n] = x + (ulong)min_(r + ITEM / 8 + n * (TEAM / 8), rows - 1) * in + first + ITEM % 8;
	float chain[HIGH][WIDE], u[INPUTS];
	uint v[WEIGHTS];
	UNROLL for (int i = 0; i < HIGH; i++)
		UNROLL for (int j = 0; j < WIDE; j++) chain[i][j] = 0.0f;
	if (first == 0 && bias)
		UNROLL for (int j = 0; j < WIDE; j++) {
			float start = bias[min_(col + OUTPUT_AT(j), out - 1)];
			UNROLL for (int i = 0; i < HIGH; i++) chain[i][j] = start;
		}
	NAMED(fetch)(v, u, w, at, out, from, end - first, format);
	NAMED(put)(ws, xs, v, u, format);
	BARRIER;
	for (int k = first; k < end; k += DEEP) {
		int next = k + DEEP;
		if (next < end) {
			at += (ulong)DEEP * out;
			UNROLL for (int n = 0; n < 4; n++) from[n] += DEEP;
			NAMED(fetch)(v, u, w, at, out, from, end - next, format);
		}
		if (row < rows && col < out) // k & DEEP is 0, or DEEP for the other half of local memory
			NAMED(multiply)(chain, ws + (k & DEEP) * OUTS + right, xs + (k & DEEP) * PITCH + down);
		if (next < end)
			NAMED(put)(ws + (next & DEEP) * OUTS, xs + (next & DEEP) * PITCH, v, u, format);
		if (row < rows && col < out && (next >= end || next % SEGMENT == 0))
			NAMED(finish)(chain, y, row, col, rows, out, k < first + SEGMENT);
		BARRIER;
	}
}

#define CHAINS_TILE(name, format)                                                                  \
	KERNEL_OF(TEAM, 512 / TEAM) void name(GLOBAL float *y, GLOBAL const float *x,                  \
			GLOBAL const void *w, GLOBAL const float *bias, int rows, int in, int out, int each) { \
		SHARED float ws[2 * OUTS * DEEP] ALIGNED;                                                  \
		SHARED float xs[2 * PITCH * DEEP] ALIGNED;                                                 \
		NAMED(of)(y, x, w, bias, rows, in, out, each, format, ws, xs);                             \
	}
CHAINS_TILE(NAMED(f32), F32)
CHAINS_TILE(NAMED(f16), F16)
CHAINS_TILE(NAMED(bf16), BF16)

// Linear layers on float weights.
//
// A layer with weights [in, out] is computed in segments of 256 inputs, each by groups of its own:
// its result is parts [segments, rows, out], which whoever reads them adds up in order. So many
// groups have work even where one token passes through a narrow layer.

#define SEGMENT 256 // inputs of one chain
#define COLS 16     // outputs of a group of chains_one and chains_few

// chains computes one segment of 16 outputs of up to `many` rows: group (outputs, segment, rows) of
// 256 items. All items fetch the weights; then item (i, j) runs the chain of row i and output j.
FUNCTION void chains(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,
		GLOBAL const float *bias, int rows, int in, int out, int format, int many, LOCAL float *ws,
		LOCAL float *xs) {
	int c = GROUP(0) * COLS, s = GROUP(1), r = GROUP(2) * many, first = s * SEGMENT;
	int depth = min_(in - first, SEGMENT);
	int cols = min_(out - c, COLS);
	int count = min_(rows - r, many);
	int i = ITEM / COLS, j = ITEM % COLS; // a row, or an input; and an output
	ulong at = (ulong)(first + i) * out + c + j, step = (ulong)(256 / COLS) * out;
	if (j < cols && depth == SEGMENT) { // each load takes long: all are under way together
		float v[COLS];
		UNROLL for (int n = 0; n < COLS; n++) v[n] = number(w, at + n * step, format);
		UNROLL for (int n = 0; n < COLS; n++) ws[n * 256 + ITEM] = v[n];
	} else if (j < cols) {
		for (int k = i; k < depth; k += 256 / COLS, at += step)
			ws[k * COLS + j] = number(w, at, format);
	}
	if (ITEM < depth)
		for (int n = 0; n < count; n++)
			xs[n * SEGMENT + ITEM] = x[(ulong)(r + n) * in + first + ITEM];
	BARRIER;
	if (i >= count || j >= cols) return;
	float chain = s == 0 && bias ? bias[c + j] : 0.0f;
	xs += i * SEGMENT, ws += j;
	UNROLL_16 for (int k = 0; k < depth; k++) chain = fma(xs[k], ws[k * COLS], chain);
	parts[((ulong)s * rows + r + i) * out + c + j] = chain;
}

// tile computes one segment of 64 rows by 64 outputs: group (outputs, rows, segment) of 64 items,
// each with the chains of 8 rows by 8 outputs in registers.
#define TILE 64
#define EDGE 8
#define SLAB 16 // inputs that are fetched together

FUNCTION void tile(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,
		GLOBAL const float *bias, int rows, int in, int out, int format, LOCAL float *ws,
		LOCAL float *xs) {
	int c = GROUP(0) * TILE, r = GROUP(1) * TILE, s = GROUP(2);
	int row = ITEM / EDGE * EDGE, col = ITEM % EDGE * EDGE;
	int end = min_(in, (s + 1) * SEGMENT);
	float chain[EDGE][EDGE];
	UNROLL for (int i = 0; i < EDGE; i++)
		UNROLL for (int j = 0; j < EDGE; j++)
			chain[i][j] = s == 0 && bias && c + col + j < out ? bias[c + col + j] : 0.0f;
	for (int k = s * SEGMENT; k < end; k += SLAB) {
		int depth = min_(end - k, SLAB);
		for (int d = 0; d < depth; d++) // 64 outputs of one input
			ws[d * TILE + ITEM] = number(w, (ulong)(k + d) * out + min_(c + ITEM, out - 1), format);
		if (ITEM % SLAB < depth)
			for (int i = ITEM / SLAB; i < TILE; i += 64 / SLAB) // 16 inputs of one row
				xs[ITEM % SLAB * TILE + i] = x[(ulong)min_(r + i, rows - 1) * in + k + ITEM % SLAB];
		BARRIER;
		for (int d = 0; d < depth; d++) {
			float a[EDGE], b[EDGE];
			UNROLL for (int i = 0; i < EDGE; i++) a[i] = xs[d * TILE + row + i];
			UNROLL for (int j = 0; j < EDGE; j++) b[j] = ws[d * TILE + col + j];
			UNROLL for (int i = 0; i < EDGE; i++)
				UNROLL for (int j = 0; j < EDGE; j++) chain[i][j] = fma(a[i], b[j], chain[i][j]);
		}
		BARRIER;
	}
	UNROLL for (int i = 0; i < EDGE; i++)
		UNROLL for (int j = 0; j < EDGE; j++)
			if (r + row + i < rows && c + col + j < out)
				parts[((ulong)s * rows + r + row + i) * out + c + col + j] = chain[i][j];
}

// The rows of a group of chains_one_… and chains_few_….
#define ONE 1
#define FEW 16

#define CHAINS(name, format, many)                                                                 \
	KERNEL void name(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,             \
			GLOBAL const float *bias, int rows, int in, int out) {                                 \
		SHARED float ws[SEGMENT * COLS];                                                           \
		SHARED float xs[SEGMENT * many];                                                           \
		chains(parts, x, w, bias, rows, in, out, format, many, ws, xs);                            \
	}
CHAINS(chains_one_f32, F32, ONE)
CHAINS(chains_one_f16, F16, ONE)
CHAINS(chains_one_bf16, BF16, ONE)
CHAINS(chains_few_f32, F32, FEW)
CHAINS(chains_few_f16, F16, FEW)
CHAINS(chains_few_bf16, BF16, FEW)

#define CHAINS_TILE(name, format)                                                                  \
	KERNEL void name(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,             \
			GLOBAL const float *bias, int rows, int in, int out) {                                 \
		SHARED float ws[SLAB * TILE];                                                              \
		SHARED float xs[SLAB * TILE];                                                              \
		tile(parts, x, w, bias, rows, in, out, format, ws, xs);                                    \
	}
CHAINS_TILE(chains_tile_f32, F32)
CHAINS_TILE(chains_tile_f16, F16)
CHAINS_TILE(chains_tile_bf16, BF16)

// activate_parts: y [n] is the activation of the sums of parts [segments, n]. An item is a number.
KERNEL void activate_parts(GLOBAL float *y, GLOBAL const float *parts, int segments, int n, int a) {
	int i = GROUP(0) * ITEMS + ITEM;
	if (i < n) y[i] = activation(sum_parts(parts, i, segments, n), a);
}

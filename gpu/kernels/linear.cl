// Linear layers on float weights.
//
// A layer with weights [in, out] is computed in segments of 256 inputs, each by groups of its own:
// its result is parts [segments, rows, out], which whoever reads them adds up in order. So many
// groups have work even where one token passes through a narrow layer.

#define SEGMENT 256 // inputs of one chain
#define COLS 16     // outputs of a group of chains_one

// chains_one computes one segment of 16 outputs of one row: group (outputs, segment, row) of 256
// items. All items fetch the weights; then 16 run a chain each.
FUNCTION void chains_one(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,
		GLOBAL const float *bias, int rows, int in, int out, int format, LOCAL float *ws,
		LOCAL float *xs) {
	int c = GROUP(0) * COLS, s = GROUP(1), r = GROUP(2), first = s * SEGMENT;
	int depth = min_(in - first, SEGMENT), cols = min_(out - c, COLS);
	int i = ITEM / COLS, j = ITEM % COLS; // an input and an output
	ulong at = (ulong)(first + i) * out + c + j, step = (ulong)(256 / COLS) * out;
	if (j < cols && depth == SEGMENT) { // each load takes long: all are under way together
		float v[COLS];
		UNROLL for (int n = 0; n < COLS; n++) v[n] = number(w, at + n * step, format);
		UNROLL for (int n = 0; n < COLS; n++) ws[n * 256 + ITEM] = v[n];
	} else if (j < cols) {
		for (int k = i; k < depth; k += 256 / COLS, at += step)
			ws[k * COLS + j] = number(w, at, format);
	}
	if (ITEM < depth) xs[ITEM] = x[(ulong)r * in + first + ITEM];
	BARRIER;
	if (ITEM >= cols) return;
	float chain = s == 0 && bias ? bias[c + j] : 0.0f;
	UNROLL_16 for (int k = 0; k < depth; k++) chain = fma(xs[k], ws[k * COLS + j], chain);
	parts[((ulong)s * rows + r) * out + c + j] = chain;
}

// load2 and load4 read so many numbers of local memory together.
FUNCTION void load2(float *to, LOCAL const float *from) {
	float2 v = *(LOCAL const float2 *)from;
	to[0] = v.x, to[1] = v.y;
}

FUNCTION void load4(float *to, LOCAL const float *from) {
	float4 v = *(LOCAL const float4 *)from;
	to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

#define CHAINS_ONE(name, format)                                                                   \
	KERNEL void name(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,             \
			GLOBAL const float *bias, int rows, int in, int out) {                                 \
		SHARED float ws[SEGMENT * COLS];                                                           \
		SHARED float xs[SEGMENT];                                                                  \
		chains_one(parts, x, w, bias, rows, in, out, format, ws, xs);                              \
	}
CHAINS_ONE(chains_one_f32, F32)
CHAINS_ONE(chains_one_f16, F16)
CHAINS_ONE(chains_one_bf16, BF16)

// activate_parts: y [n] is the activation of the sums of parts [segments, n]. An item is a number.
KERNEL void activate_parts(GLOBAL float *y, GLOBAL const float *parts, int segments, int n, int a) {
	int i = GROUP(0) * ITEMS + ITEM;
	if (i < n) y[i] = activation(sum_parts(parts, i, segments, n), a);
}

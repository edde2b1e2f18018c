// Linear layers on float weights.
//
// A layer with weights [in, out] is computed in segments of 256 inputs, each by groups of its own:
// its result is parts [segments, rows, out], which whoever reads them adds up in order. So many
// groups have work even where one token passes through a narrow layer. Of many rows by many outputs
// groups may add up all segments themselves, in the same order: then there is one part.

#define SEGMENT 256 // inputs of one chain
#define COLS 16     // outputs of a group of chains_one

// chains_one computes one segment of 16 outputs of one row: group (outputs, segment) of 256 items.
// All items fetch the weights; then 16 run a chain each. If segments is not 0, x is the parts
// [segments, in] of another layer, and the inputs are activations of their sums: each group
// computes those of its segment while its weights are on their way.
FUNCTION void chains_one(GLOBAL float *parts, GLOBAL const float *x, GLOBAL const void *w,
		GLOBAL const float *bias, int segments, int a, int in, int out, int format, LOCAL float *ws,
		LOCAL float *xs) {
	int c = GROUP(0) * COLS, s = GROUP(1), first = s * SEGMENT;
	int depth = min_(in - first, SEGMENT), cols = min_(out - c, COLS);
	int i = ITEM / COLS, j = ITEM % COLS; // an input and an output
	ulong at = (ulong)(first + i) * out + c + j, step = (ulong)(256 / COLS) * out;
	uint v[COLS];
	if (j < cols && depth == SEGMENT) // each load takes long: all are under way together
		UNROLL for (int n = 0; n < COLS; n++) v[n] = stored(w, at + n * step, format);
	else if (j < cols) // the last segment: past its end, its last input again
		UNROLL for (int n = 0; n < COLS; n++)
			v[n] = stored(w, (ulong)(first + min_(i + n * (256 / COLS), depth - 1)) * out + c + j,
				format);
	ulong input = first + min_(ITEM, depth - 1);
	if (segments > 0) {
		float sum[1];
		sum_1(sum, x, &input, segments, in);
		xs[ITEM] = activation(sum[0], a);
	} else {
		xs[ITEM] = x[input];
	}
	if (j < cols)
		UNROLL for (int n = 0; n < COLS; n++) ws[n * 256 + ITEM] = widened(v[n], format);
	BARRIER;
	if (ITEM >= cols) return;
	float chain = s == 0 && bias ? bias[c + j] : 0.0f;
	int k = 0;
#define FETCH(n) float a##n = xs[k + n], b##n = ws[(k + n) * COLS + j];
	for (; k + 16 <= depth; k += 16) {
#define ADD(n) chain = fma(a##n, b##n, chain);
		EACH_16(FETCH) EACH_16(ADD)
#undef ADD
	}
	for (; k < depth; k += 16) { // local memory has all 256 inputs, whatever the depth
#define ADD(n) chain = k + n < depth ? fma(a##n, b##n, chain) : chain;
		EACH_16(FETCH) EACH_16(ADD)
#undef ADD
	}
#undef FETCH
	parts[(ulong)s * out + c + j] = chain;
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
			GLOBAL const float *bias, int segments, int a, int in, int out) {                      \
		SHARED float ws[SEGMENT * COLS];                                                           \
		SHARED float xs[SEGMENT];                                                                  \
		chains_one(parts, x, w, bias, segments, a, in, out, format, ws, xs);                       \
	}
CHAINS_ONE(chains_one_f32, F32)
CHAINS_ONE(chains_one_f16, F16)
CHAINS_ONE(chains_one_bf16, BF16)

// activate_parts: y [n] is the activation of the sums of parts [segments, n]. An item is a number.
KERNEL void activate_parts(GLOBAL float *y, GLOBAL const float *parts, int segments, int n, int a) {
	ulong i = GROUP(0) * ITEMS + ITEM;
	float sum[1];
	if (i >= n) return;
	sum_1(sum, parts, &i, segments, n);
	y[i] = activation(sum[0], a);
}

// Operations on whole rows: the embedding, and layer norm.

// The plan is what the host says of a pass: four ints for each row; then the groups of attention,
// two ints each, which attention.cl reads; then the lists of pages.
#define TOKEN(plan, r) ((plan)[4 * (r)])
#define POSITION(plan, r) ((plan)[4 * (r) + 1])
#define PAGE(plan, r, block) ((plan)[(plan)[4 * (r) + 2] + (block)]) // of the row's text
#define WANTED(plan, i) ((plan)[4 * (i) + 3]) // the i-th row whose logits are wanted

// embed: x[r] = wte[token] + wpe[position]. A group is a row.
FUNCTION void embed(GLOBAL float *x, GLOBAL const void *wte, GLOBAL const float *wpe,
		GLOBAL const int *plan, int n, int format) {
	int r = GROUP(0);
	ulong token = TOKEN(plan, r), position = POSITION(plan, r);
	for (int i = ITEM; i < n; i += ITEMS) {
		float e;
		if (format < Q8) {
			e = number(wte, token * n + i, format);
		} else {
			GLOBAL const uchar *tile = (GLOBAL const uchar *)wte +
				(token / 16 * ((n + 31) / 32) + i / 32) * TILE_BYTES(format);
			int v = integer(tile, token % 16, i % 32, format) - (format == Q4 ? 8 : 0);
			e = (float)v * tile_scale(tile, token % 16, format);
		}
		x[r * n + i] = e + wpe[position * n + i];
	}
}

#define EMBED(name, format)                                                                        \
	KERNEL void name(GLOBAL float *x, GLOBAL const void *wte, GLOBAL const float *wpe,             \
			GLOBAL const int *plan, int n) {                                                       \
		embed(x, wte, wpe, plan, n, format);                                                       \
	}
EMBED(embed_f32, F32)
EMBED(embed_f16, F16)
EMBED(embed_bf16, BF16)
EMBED(embed_q8, Q8)
EMBED(embed_q4, Q4)

// sum_parts adds up the segments of number i, which lie apart numbers from each other.
FUNCTION float sum_parts(GLOBAL const float *parts, ulong i, int segments, ulong apart) {
	float sum = parts[i];
	for (int s = 1; s < segments; s++) sum = sum + parts[i + s * apart];
	return sum;
}

// layer_norm: a group is a row of dst, which is a row of x, normalized: the same row or, from first
// ≥ 0 on, the next whose logits are wanted. What a linear layer has computed for the row, parts
// [segments, rows, n], is added to x before; segments may be 0.
KERNEL void layer_norm(GLOBAL float *dst, GLOBAL float *x, GLOBAL const float *parts, int segments,
		int rows, GLOBAL const int *plan, int first, GLOBAL const float *gain,
		GLOBAL const float *bias, int n, float eps) {
	SHARED float lanes[8];
	SHARED float mean_inverse[2];
	ulong row = first < 0 ? GROUP(0) : WANTED(plan, first + GROUP(0));
	x += row * n, dst += (ulong)GROUP(0) * n;
	if (segments > 0)
		for (int i = ITEM; i < n; i += ITEMS)
			x[i] = x[i] + sum_parts(parts, row * n + i, segments, (ulong)rows * n);
	BARRIER_GLOBAL;
	if (ITEM < 8) {
		float sum = 0.0f;
		for (int i = ITEM; i < n; i += 8) sum = sum + x[i];
		lanes[ITEM] = sum;
	}
	BARRIER;
	if (ITEM == 0) mean_inverse[0] = TREE(lanes) / (float)n;
	BARRIER;
	float mean = mean_inverse[0];
	if (ITEM < 8) {
		float sum = 0.0f;
		for (int i = ITEM; i < n; i += 8) {
			float d = x[i] - mean;
			sum = fma(d, d, sum);
		}
		lanes[ITEM] = sum;
	}
	BARRIER;
	if (ITEM == 0) {
		float spread = TREE(lanes) / (float)n + eps;
		mean_inverse[1] = 1.0f / sqrt(spread) + (spread - spread); // NaN where spread is infinite
	}
	BARRIER;
	float inverse = mean_inverse[1];
	for (int i = ITEM; i < n; i += ITEMS) dst[i] = fma((x[i] - mean) * inverse, gain[i], bias[i]);
}

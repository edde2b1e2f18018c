// Causal attention over pages of keys and values, by blocks of 64 positions. The blocks of a text
// are computed side by side, and put together in their order: the bits are those of one after the
// other.
//
// A page has one block, for all layers: [n_layer, 2], of which the first are the keys [n_head,
// head_dim, 64] and the second the values [n_head, 64, head_dim], in F32 or F16. The pool is all
// pages; a text's list says which are its own.

#define BLOCK 64

// page_at returns where the keys of a layer and head begin in a page of the pool. The values begin
// heads·dim·BLOCK numbers further on.
FUNCTION ulong page_at(int page, int layers, int layer, int heads, int head, int dim) {
	return (((ulong)page * layers + layer) * 2 * heads + head) * dim * BLOCK;
}

// store puts the keys and values of each row into its page. A group is a row; qkv is [rows, 3,
// heads, dim].
FUNCTION void store(GLOBAL void *pool, GLOBAL const int *plan,
		GLOBAL const float *qkv, int heads, int dim, int layers, int layer, int format) {
	int r = GROUP(0), n = heads * dim, p = POSITION(plan, r);
	int page = PAGE(plan, r, p / BLOCK);
	qkv += (ulong)r * 3 * n;
	for (int i = ITEM; i < n; i += ITEMS) {
		int d = i % dim;
		ulong at = page_at(page, layers, layer, heads, i / dim, dim);
		set_number(pool, at + d * BLOCK + p % BLOCK, qkv[n + i], format);
		set_number(pool, at + n * BLOCK + p % BLOCK * dim + d, qkv[2 * n + i], format);
	}
}

// scores: group (block, head, row) of 64 items, one for each key. s is [rows, heads, blocks, 64],
// maxima [rows, heads, blocks]. A NaN is no maximum.
FUNCTION void scores(GLOBAL float *s, GLOBAL float *maxima, GLOBAL const void *pool,
		GLOBAL const int *plan, GLOBAL const float *qkv, int heads, int dim,
		int layers, int layer, int blocks, float scale, int format, LOCAL float *all) {
	int b = GROUP(0), h = GROUP(1), r = GROUP(2);
	int seen = POSITION(plan, r) + 1 - b * BLOCK;
	if (seen <= 0) return;
	ulong at = ((ulong)r * heads + h) * blocks + b;
	float score = -INFINITE;
	if (ITEM < seen) {
		int page = PAGE(plan, r, b);
		ulong k = page_at(page, layers, layer, heads, h, dim) + ITEM;
		GLOBAL const float *q = qkv + ((ulong)r * 3 * heads + h) * dim;
		float chain = 0.0f;
		for (int d = 0; d < dim; d++) chain = fma(q[d], number(pool, k + d * BLOCK, format), chain);
		score = chain * scale;
		s[at * BLOCK + ITEM] = score;
	}
	all[ITEM] = score;
	BARRIER;
	if (ITEM == 0) {
		float most = -INFINITE;
		for (int i = 0; i < BLOCK; i++) most = all[i] > most ? all[i] : most;
		maxima[at] = most;
	}
}

// weigh: group (block, head, row) of 64 items. What the block adds to the output, part [rows,
// heads, blocks, dim], and to the sum of weights, sums [rows, heads, blocks]: exponentials are those
// of scores less the greatest up to this block.
FUNCTION void weigh(GLOBAL float *part, GLOBAL float *sums, GLOBAL const float *s,
		GLOBAL const float *maxima, GLOBAL const void *pool, GLOBAL const int *plan, int heads, int dim, int layers, int layer, int blocks, int format,
		LOCAL float *e, LOCAL float *lanes) {
	int b = GROUP(0), h = GROUP(1), r = GROUP(2);
	int seen = POSITION(plan, r) + 1 - b * BLOCK;
	if (seen <= 0) return;
	seen = seen > BLOCK ? BLOCK : seen;
	ulong at = ((ulong)r * heads + h) * blocks;
	float most = -INFINITE;
	for (int i = 0; i <= b; i++) most = maxima[at + i] > most ? maxima[at + i] : most;
	most = most == -INFINITE ? 0.0f : most; // all scores are −Inf, whose weight is 0, or NaN
	if (ITEM < seen) e[ITEM] = exp_(s[(at + b) * BLOCK + ITEM] - most);
	BARRIER;
	if (ITEM < 8) {
		float lane = 0.0f;
		for (int i = ITEM; i < seen; i += 8) lane = lane + e[i];
		lanes[ITEM] = lane;
	}
	BARRIER;
	if (ITEM == 0) sums[at + b] = TREE(lanes);
	int page = PAGE(plan, r, b);
	ulong v = page_at(page, layers, layer, heads, h, dim) + (ulong)heads * dim * BLOCK;
	for (int d = ITEM; d < dim; d += ITEMS) {
		float chain = 0.0f;
		for (int i = 0; i < seen; i++) chain = fma(e[i], number(pool, v + i * dim + d, format), chain);
		part[(at + b) * dim + d] = chain;
	}
}

// combine: group (head, row). It adds up what the blocks gave, in their order, and brings the sums
// to a new maximum where a block has one.
KERNEL void combine(GLOBAL float *out, GLOBAL const float *part, GLOBAL const float *sums,
		GLOBAL const float *maxima, GLOBAL const int *plan, int heads, int dim, int blocks) {
	int h = GROUP(0), r = GROUP(1), seen = POSITION(plan, r) / BLOCK + 1;
	ulong at = ((ulong)r * heads + h) * blocks;
	for (int d = ITEM; d < dim; d += ITEMS) {
		float y = 0.0f, sum = 0.0f, most = -INFINITE;
		for (ulong b = at; b < at + seen; b++) {
			float m = maxima[b] > most ? maxima[b] : most;
			if (m != most && sum != 0.0f) {
				float by = exp_(most - m);
				sum = sum * by;
				y = y * by;
			}
			most = m;
			sum = sum + sums[b];
			y = y + part[b * dim + d];
		}
		if (most == -INFINITE) sum = FLOAT(0x7fc00000u);
		if (sum != 0.0f) y = y * (1.0f / sum);
		out[((ulong)r * heads + h) * dim + d] = y;
	}
}

#define ATTENTION(store_, scores_, weigh_, format)                                                 \
	KERNEL void store_(GLOBAL void *pool, GLOBAL const int *plan,         \
			GLOBAL const float *qkv, int heads, int dim, int layers, int layer) {                  \
		store(pool, plan, qkv, heads, dim, layers, layer, format);                          \
	}                                                                                              \
	KERNEL void scores_(GLOBAL float *s, GLOBAL float *maxima, GLOBAL const void *pool,            \
			GLOBAL const int *plan, GLOBAL const float *qkv, int heads,   \
			int dim, int layers, int layer, int blocks, float scale) {                             \
		SHARED float all[BLOCK];                                                                   \
		scores(s, maxima, pool, plan, qkv, heads, dim, layers, layer, blocks, scale,        \
			format, all);                                                                          \
	}                                                                                              \
	KERNEL void weigh_(GLOBAL float *part, GLOBAL float *sums, GLOBAL const float *s,              \
			GLOBAL const float *maxima, GLOBAL const void *pool, GLOBAL const int *plan, int heads, int dim, int layers, int layer, int blocks) {      \
		SHARED float e[BLOCK];                                                                     \
		SHARED float lanes[8];                                                                     \
		weigh(part, sums, s, maxima, pool, plan, heads, dim, layers, layer, blocks, format, \
			e, lanes);                                                                             \
	}
ATTENTION(store_f32, scores_f32, weigh_f32, F32)
ATTENTION(store_f16, scores_f16, weigh_f16, F16)

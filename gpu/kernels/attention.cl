// Causal attention over pages of keys and values, by blocks of 64 positions. What blocks give is
// put together in their order: the bits are those of one block after the other.
//
// A page has one block, for all layers: [n_layer, 2], of which the first are the keys [n_head,
// head_dim, 64] and the second the values [n_head, 64, head_dim], in F32 or F16. The pool is all
// pages; the plan says which are a text's own. qkv is [rows, 3, n_head, head_dim].

#define BLOCK 64
#define SIDE 16    // blocks that attend_one works on side by side
#define QUERIES 16 // rows of attend_tile

// page_at returns where the keys of a layer and head begin in a page of the pool. The values begin
// heads·dim·BLOCK numbers further on.
FUNCTION ulong page_at(int page, int layers, int layer, int heads, int head, int dim) {
	return (((ulong)page * layers + layer) * 2 * heads + head) * dim * BLOCK;
}

// store adds up the parts of qkv, and puts keys and values into the pages. A group is a row.
FUNCTION void store(GLOBAL float *qkv, GLOBAL const float *parts, int segments, GLOBAL void *pool,
		GLOBAL const int *plan, int rows, int heads, int dim, int layers, int layer, int format) {
	int r = GROUP(0), n = heads * dim, p = POSITION(plan, r), page = PAGE(plan, r, p / BLOCK);
	ulong row = (ulong)r * 3 * n, apart = (ulong)rows * 3 * n;
	for (int i = ITEM; i < n; i += ITEMS) {
		int d = i % dim;
		ulong at = page_at(page, layers, layer, heads, i / dim, dim);
		qkv[row + i] = sum_parts(parts, row + i, segments, apart);
		set_number(pool, at + d * BLOCK + p % BLOCK, sum_parts(parts, row + n + i, segments, apart),
			format);
		set_number(pool, at + n * BLOCK + p % BLOCK * dim + d,
			sum_parts(parts, row + 2 * n + i, segments, apart), format);
	}
}

// score returns the product of a query with key j of a block, times scale.
FUNCTION float score(GLOBAL const float *q, GLOBAL const void *pool, ulong keys, int j, int dim,
		float scale, int format) {
	float chain = 0.0f;
	for (int d = 0; d < dim; d++)
		chain = fma(q[d], number(pool, keys + d * BLOCK + j, format), chain);
	return chain * scale;
}

// greatest returns the greatest of most and of a block's scores, which begin at from and end at end
// or earlier. A NaN is no maximum.
FUNCTION float greatest(LOCAL const float *s, int from, int end, float most) {
	end = min_(end, from + BLOCK);
	for (int i = from; i < end; i++) most = s[i] > most ? s[i] : most;
	return most;
}

// shift returns what is subtracted from the scores: 0 where all are −Inf, whose weight is 0, or
// NaN.
FUNCTION float shift(float most) { return most == -INFINITE ? 0.0f : most; }

// shrink returns what the sums so far are multiplied by where a block has raised the maximum.
FUNCTION float shrink(float before, float most, float sum) {
	return most != before && sum != 0.0f ? exp_(before - most) : 1.0f;
}

// lane_sum returns one lane of a block's weights, which begin at from and end at end or earlier.
FUNCTION float lane_sum(LOCAL const float *e, int from, int end, int lane) {
	float sum = 0.0f;
	end = min_(end, from + BLOCK);
	for (int i = from + lane; i < end; i += 8) sum = sum + e[i];
	return sum;
}

// finished divides an output by the sum of its weights. A row all of whose scores are −Inf gives
// NaN.
FUNCTION float finished(float y, float sum, float most) {
	if (most == -INFINITE) sum = FLOAT(0x7fc00000u);
	return sum != 0.0f ? y * (1.0f / sum) : y;
}

// The plan lists the rows that one group of attention is for: the first, and how many.
#define FIRST_ROW(plan, list, i) ((plan)[(list) + 2 * (i)])
#define ROW_COUNT(plan, list, i) ((plan)[(list) + 2 * (i) + 1])

// attend_one: group (head, entry of the list) of 256 items for one row. 16 blocks at a time are
// side by side. part is [rows, heads, 16, dim], e [16, 64], lanes [16, 8], maxima [16].
FUNCTION void attend_one(GLOBAL float *out, GLOBAL float *part, GLOBAL const float *qkv,
		GLOBAL const void *pool, GLOBAL const int *plan, int list, int heads, int dim, int layers,
		int layer, float scale, int format, LOCAL float *e, LOCAL float *lanes,
		LOCAL float *maxima) {
	int h = GROUP(0), r = FIRST_ROW(plan, list, GROUP(1)), seen = POSITION(plan, r) + 1;
	ulong at = (ulong)r * heads + h, values = (ulong)heads * dim * BLOCK;
	GLOBAL const float *q = qkv + ((ulong)r * 3 * heads + h) * dim;
	out += at * dim, part += at * SIDE * dim;
	float most = -INFINITE, sum = 0.0f; // of the blocks so far, the same for all items
	for (int d = ITEM; d < dim; d += 256) out[d] = 0.0f;
	for (int first = 0; first < seen; first += SIDE * BLOCK) {
		int keys = min_(seen - first, SIDE * BLOCK);
		int blocks = (keys + BLOCK - 1) / BLOCK;
		for (int j = ITEM; j < keys; j += 256) {
			ulong k = page_at(PAGE(plan, r, (first + j) / BLOCK), layers, layer, heads, h, dim);
			e[j] = score(q, pool, k, j % BLOCK, dim, scale, format);
		}
		BARRIER;
		if (ITEM < blocks) maxima[ITEM] = greatest(e, ITEM * BLOCK, keys, -INFINITE);
		BARRIER;
		if (ITEM == 0) // from here on, the maxima so far
			for (int b = 0; b < blocks; b++) {
				float before = b == 0 ? most : maxima[b - 1];
				maxima[b] = maxima[b] > before ? maxima[b] : before;
			}
		BARRIER;
		for (int j = ITEM; j < keys; j += 256) e[j] = exp_(e[j] - shift(maxima[j / BLOCK]));
		BARRIER;
		if (ITEM < blocks * 8) lanes[ITEM] = lane_sum(e, ITEM / 8 * BLOCK, keys, ITEM % 8);
		for (int i = ITEM; i < blocks * dim; i += 256) {
			int b = i / dim, end = min_(keys, (b + 1) * BLOCK);
			ulong v = values + i % dim +
				page_at(PAGE(plan, r, first / BLOCK + b), layers, layer, heads, h, dim);
			float chain = 0.0f;
			for (int j = b * BLOCK; j < end; j++)
				chain = fma(e[j], number(pool, v + j % BLOCK * dim, format), chain);
			part[i] = chain;
		}
		BARRIER_GLOBAL;
		for (int b = 0; b < blocks; b++) { // in their order
			LOCAL float *l = &lanes[b * 8];
			float by = shrink(most, maxima[b], sum);
			most = maxima[b];
			sum = sum * by + TREE(l);
			for (int d = ITEM; d < dim; d += 256) out[d] = out[d] * by + part[b * dim + d];
		}
	}
	for (int d = ITEM; d < dim; d += 256) out[d] = finished(out[d], sum, most);
}

// attend_tile: group (head, entry of the list) of 256 items for up to 16 rows of one text, one
// block after the other. Each item has four of the rows. e is [16, 64], lanes [16, 8], state
// [3, 16].
FUNCTION void attend_tile(GLOBAL float *out, GLOBAL const float *qkv, GLOBAL const void *pool,
		GLOBAL const int *plan, int list, int heads, int dim, int layers, int layer, float scale,
		int format, LOCAL float *e, LOCAL float *lanes, LOCAL float *state) {
	int h = GROUP(0), r = FIRST_ROW(plan, list, GROUP(1)), count = ROW_COUNT(plan, list, GROUP(1));
	int position = POSITION(plan, r), mine = ITEM / 64 * 4, n = heads * dim;
	LOCAL float *most = state, *sum = state + QUERIES, *by = state + 2 * QUERIES;
	if (ITEM < QUERIES) most[ITEM] = -INFINITE, sum[ITEM] = 0.0f;
	out += (ulong)r * n + h * dim, qkv += (ulong)r * 3 * n + h * dim;
	for (int i = mine; i < mine + 4 && i < count; i++)
		for (int d = ITEM % 64; d < dim; d += 64) out[i * n + d] = 0.0f;
	for (int b = 0; b * BLOCK < position + count; b++) {
		ulong k = page_at(PAGE(plan, r, b), layers, layer, heads, h, dim);
		ulong v = k + (ulong)n * BLOCK;
		int seen = position + 1 - b * BLOCK; // keys of it that row 0 sees; row i sees i more
		float chain[4] = {0.0f, 0.0f, 0.0f, 0.0f};
		for (int d = 0; d < dim; d++) {
			float key = number(pool, k + d * BLOCK + ITEM % 64, format);
			UNROLL for (int i = 0; i < 4; i++) {
				float query = mine + i < count ? qkv[(mine + i) * 3 * n + d] : 0.0f;
				chain[i] = fma(query, key, chain[i]);
			}
		}
		UNROLL for (int i = 0; i < 4; i++) e[(mine + i) * BLOCK + ITEM % 64] = chain[i] * scale;
		BARRIER;
		if (ITEM < count) {
			int first = ITEM * BLOCK;
			float m = greatest(e, first, first + min_(seen + ITEM, BLOCK), most[ITEM]);
			by[ITEM] = shrink(most[ITEM], m, sum[ITEM]);
			most[ITEM] = m;
		}
		BARRIER;
		for (int i = mine; i < mine + 4 && i < count; i++) {
			int j = i * BLOCK + ITEM % 64;
			e[j] = exp_(e[j] - shift(most[i]));
		}
		BARRIER;
		if (ITEM < count * 8) {
			int i = ITEM / 8;
			lanes[ITEM] = lane_sum(e, i * BLOCK, i * BLOCK + min_(seen + i, BLOCK), ITEM % 8);
		}
		for (int d = ITEM % 64; d < dim; d += 64) {
			float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
			int keys = min_(seen + mine + 3, BLOCK);
			for (int j = 0; j < keys; j++) {
				float value = number(pool, v + j * dim + d, format);
				UNROLL for (int i = 0; i < 4; i++)
					if (j < seen + mine + i)
						part[i] = fma(e[(mine + i) * BLOCK + j], value, part[i]);
			}
			UNROLL for (int i = 0; i < 4; i++)
				if (mine + i < count && seen + mine + i > 0)
					out[(mine + i) * n + d] = out[(mine + i) * n + d] * by[mine + i] + part[i];
		}
		BARRIER;
		if (ITEM < count && seen + ITEM > 0) {
			LOCAL float *l = &lanes[ITEM * 8];
			sum[ITEM] = sum[ITEM] * by[ITEM] + TREE(l);
		}
	}
	BARRIER;
	for (int i = mine; i < mine + 4 && i < count; i++)
		for (int d = ITEM % 64; d < dim; d += 64)
			out[i * n + d] = finished(out[i * n + d], sum[i], most[i]);
}

#define ATTENTION(store_, attend_one_, attend_tile_, format)                                       \
	KERNEL void store_(GLOBAL float *qkv, GLOBAL const float *parts, int segments,                 \
			GLOBAL void *pool, GLOBAL const int *plan, int rows, int heads, int dim, int layers,   \
			int layer) {                                                                           \
		store(qkv, parts, segments, pool, plan, rows, heads, dim, layers, layer, format);          \
	}                                                                                              \
	KERNEL void attend_one_(GLOBAL float *out, GLOBAL float *part, GLOBAL const float *qkv,        \
			GLOBAL const void *pool, GLOBAL const int *plan, int list, int heads, int dim,         \
			int layers, int layer, float scale) {                                                  \
		SHARED float e[SIDE * BLOCK];                                                              \
		SHARED float lanes[SIDE * 8];                                                              \
		SHARED float maxima[SIDE];                                                                 \
		attend_one(out, part, qkv, pool, plan, list, heads, dim, layers, layer, scale, format, e,  \
			lanes, maxima);                                                                        \
	}                                                                                              \
	KERNEL void attend_tile_(GLOBAL float *out, GLOBAL const float *qkv, GLOBAL const void *pool,  \
			GLOBAL const int *plan, int list, int heads, int dim, int layers, int layer,           \
			float scale) {                                                                         \
		SHARED float e[QUERIES * BLOCK];                                                           \
		SHARED float lanes[QUERIES * 8];                                                           \
		SHARED float state[3 * QUERIES];                                                           \
		attend_tile(out, qkv, pool, plan, list, heads, dim, layers, layer, scale, format, e,       \
			lanes, state);                                                                         \
	}
ATTENTION(store_f32, attend_one_f32, attend_tile_f32, F32)
ATTENTION(store_f16, attend_one_f16, attend_tile_f16, F16)

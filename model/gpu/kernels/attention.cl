// Causal attention over pages of keys and values, by blocks of 64 positions. What blocks give is
// put together in their order: the bits are those of one block after the other.
//
// A page has one block, for all layers: [n_layer, 2], of which the first are the keys [n_head,
// head_dim, 64] and the second the values [n_head, 64, head_dim], in F32 or F16. The pool is all
// pages; the plan says which are a text's own. qkv is [rows, 3, n_head, head_dim].

#define BLOCK 64
#define SIDE 16    // blocks that attend_one works on side by side
#define SPAN 64    // dimensions of a group of attend_one, at most
#define QUERIES 16 // rows of attend_tile

// page_at returns where the keys of a layer and head begin in a page of the pool. The values begin
// heads·dim·BLOCK numbers further on.
FUNCTION ulong page_at(int page, int layers, int layer, int heads, int head, int dim) {
	return (((ulong)page * layers + layer) * 2 * heads + head) * dim * BLOCK;
}

// sums_of adds up the parts of number i of row r: of the query, the key and the value. There are n
// of each.
FUNCTION void sums_of(float *sum, GLOBAL const float *parts, int segments, int rows, int r, int i,
		int n) {
	ulong row = (ulong)r * 3 * n, of[3] = {row + i, row + n + i, row + 2 * n + i};
	sum_3(sum, parts, of, segments, (ulong)rows * 3 * n);
}

// store adds up the parts of qkv, and puts keys and values into the pages. Group (row, items) has
// one dimension of a head for each item.
FUNCTION void store(GLOBAL float *qkv, GLOBAL const float *parts, int segments, GLOBAL void *pool,
		GLOBAL const int *plan, int rows, int heads, int dim, int layers, int layer, int format) {
	int r = GROUP(0), n = heads * dim, p = POSITION(plan, r);
	int i = GROUP(1) * ITEMS + ITEM, d = i % dim;
	float sum[3];
	if (i >= n || NO_PAGES(plan, r)) return;
	sums_of(sum, parts, segments, rows, r, i, n);
	ulong at = page_at(PAGE(plan, r, p / BLOCK), layers, layer, heads, i / dim, dim);
	qkv[(ulong)r * 3 * n + i] = sum[0];
	set_number(pool, at + d * BLOCK + p % BLOCK, sum[1], format);
	set_number(pool, at + n * BLOCK + p % BLOCK * dim + d, sum[2], format);
}

// score returns the product of a query with a key, times scale. The key's numbers are those of an
// array at `at`, at + step, ….
FUNCTION float score(GLOBAL const float *q, GLOBAL const void *keys, ulong at, int step, int dim,
		float scale, int format) {
	float chain = 0.0f;
	int d = 0;
	for (; d + 16 <= dim; d += 16) {
#define FETCH(n)                                                                                   \
	uint b##n = stored(keys, at + (d + n) * step, format);                                         \
	float a##n = q[d + n];
#define ADD(n) chain = fma(a##n, widened(b##n, format), chain);
		EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
#undef ADD
	}
	for (; d < dim; d += 8) { // the rest; past the end, the last dimension again
#define FETCH(n)                                                                                   \
	int d##n = min_(d + n, dim - 1);                                                               \
	uint b##n = stored(keys, at + d##n * step, format); float a##n = q[d##n];
#define ADD(n)                                                                                     \
	float next##n = fma(a##n, widened(b##n, format), chain);                                       \
	chain = d + n < dim ? next##n : chain;
		EACH_8(FETCH) EACH_8(ADD)
#undef FETCH
#undef ADD
	}
	return chain * scale;
}

// value returns the sum of a dimension's values times weights e, over the first keys of a block.
FUNCTION float value(LOCAL const float *e, GLOBAL const void *pool, ulong values, int keys,
		int dim, int format) {
	float chain = 0.0f;
	int j = 0;
	for (; j + 16 <= keys; j += 16) {
#define FETCH(n) uint b##n = stored(pool, values + (j + n) * dim, format); float a##n = e[j + n];
#define ADD(n) chain = fma(a##n, widened(b##n, format), chain);
		EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
#undef ADD
	}
	for (; j < keys; j += 16) { // the rest; past the end, the last key again
#define FETCH(n)                                                                                   \
	int j##n = min_(j + n, keys - 1);                                                              \
	uint b##n = stored(pool, values + j##n * dim, format); float a##n = e[j##n];
#define ADD(n)                                                                                     \
	float next##n = fma(a##n, widened(b##n, format), chain);                                       \
	chain = j + n < keys ? next##n : chain;
		EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
#undef ADD
	}
	return chain;
}

// greater returns the greater of two numbers. A NaN is no maximum.
FUNCTION float greater(float x, float most) { return x > most ? x : most; }

// shift returns what is subtracted from the scores: 0 where all are −Inf, whose weight is 0, or
// NaN.
FUNCTION float shift(float most) { return most == -INFINITE ? 0.0f : most; }

// shrink returns what the sums so far are multiplied by where a block has raised the maximum.
FUNCTION float shrink(float before, float most, float sum) {
	return most != before && sum != 0.0f ? exp_(before - most) : 1.0f;
}

// lane_sum returns one lane of a block's weights: of the first `keys`, `step` numbers apart.
FUNCTION float lane_sum(LOCAL const float *e, int step, int keys, int lane) {
	float sum = 0.0f;
#define FETCH(i) float v##i = e[min_(lane + 8 * i, keys - 1) * step];
#define ADD(i) sum = lane + 8 * i < keys ? sum + v##i : sum;
	EACH_8(FETCH) EACH_8(ADD)
#undef FETCH
#undef ADD
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

// attend_one: group (head, entry of the list, slice) of 256 items for one row, and `span`
// dimensions of its output, SPAN at most: where few groups have work, several share a head, and
// each computes all of its weights. 16 blocks at a time are side by side; past the last key, scores
// are −Inf, which changes no maximum.
//
// If segments is not 0, each text has one row in the pass, and what `store` does is left to do.
// Each group adds up the query and the key of its head, which it stores for itself at a place of its
// own in qkv, as other groups may not see yet what one stores; one of a head puts the key into the
// page, and each its own dimensions of the value.
FUNCTION void attend_one(GLOBAL float *out, GLOBAL float *qkv, GLOBAL const float *parts,
		int segments, GLOBAL void *pool, GLOBAL const int *plan, int list, int rows, int heads,
		int dim, int span, int layers, int layer, float scale, int format, LOCAL float *e,
		LOCAL float *part, LOCAL float *lanes, LOCAL float *of, LOCAL int *page) {
	int h = GROUP(0), r = FIRST_ROW(plan, list, GROUP(1)), p = POSITION(plan, r);
	int seen = NO_PAGES(plan, r) ? 0 : p + 1, own = -1; // the position whose key is at own_key
	int d = GROUP(2) * span, dims = min_(dim - d, span); // this group's
	ulong values = (ulong)heads * dim * BLOCK + d;
	GLOBAL float *q = qkv + ((ulong)r * 3 * heads + h) * dim;
	GLOBAL void *own_key = q;
	LOCAL float *most = of, *by = of + SIDE, *sums = of + 2 * SIDE; // of blocks
	float before = -INFINITE, sum = 0.0f, y = 0.0f;                 // of the blocks so far
	if (segments > 0) {
		int slices = (dim + span - 1) / span;
		q = qkv + (((ulong)GROUP(1) * heads + h) * slices + GROUP(2)) * 2 * dim;
		own_key = q + dim, own = p;
		for (int i = ITEM; i < dim && seen > 0; i += 256) {
			float sum[3];
			sums_of(sum, parts, segments, rows, r, h * dim + i, heads * dim);
			ulong at = page_at(PAGE(plan, r, p / BLOCK), layers, layer, heads, h, dim);
			q[i] = sum[0];
			set_number(own_key, i, sum[1], format);
			if (d == 0) set_number(pool, at + i * BLOCK + p % BLOCK, sum[1], format);
			if (i >= d && i < d + dims)
				set_number(pool, at + values - d + p % BLOCK * dim + i, sum[2], format);
		}
	}
	for (int first = 0; first < seen; first += SIDE * BLOCK) {
		int keys = min_(seen - first, SIDE * BLOCK);
		int blocks = (keys + BLOCK - 1) / BLOCK;
		if (ITEM < blocks)
			page[ITEM] = PAGE(plan, r, first / BLOCK + ITEM);
		BARRIER_GLOBAL; // q, own_key and value are stored
		ROLLED for (int j = ITEM; j < SIDE * BLOCK; j += 256) {
			int is_own = first + j == own; // no branch: a warp would wait for two keys
			ulong at = page_at(page[j / BLOCK], layers, layer, heads, h, dim) + j % BLOCK;
			GLOBAL const void *key = is_own ? own_key : (GLOBAL const void *)pool;
			e[j] = j < keys ? score(q, key, is_own ? 0 : at, is_own ? 1 : BLOCK, dim, scale, format)
			                : -INFINITE;
		}
		BARRIER;
		float m = -INFINITE; // of every 16th score of block ITEM / 16
		UNROLL for (int i = 0; i < BLOCK / 16; i++)
			m = greater(e[ITEM / 16 * BLOCK + ITEM % 16 + i * 16], m);
		lanes[ITEM] = m;
		BARRIER;
		if (ITEM < SIDE) {
			UNROLL for (int i = 0; i < 16; i++) m = greater(lanes[ITEM * 16 + i], m);
			sums[ITEM] = m; // of the block
		}
		BARRIER;
		if (ITEM < SIDE) {
			m = before;
			UNROLL for (int b = 0; b < SIDE; b++) m = greater(sums[min_(b, ITEM)], m);
			most[ITEM] = m; // of the blocks so far
		}
		BARRIER;
		float weight[SIDE * BLOCK / 256], top[SIDE * BLOCK / 256];
		UNROLL for (int n = 0; n < SIDE * BLOCK / 256; n++)
			weight[n] = e[n * 256 + ITEM], top[n] = most[(n * 256 + ITEM) / BLOCK];
		UNROLL for (int n = 0; n < SIDE * BLOCK / 256; n++)
			if (n * 256 + ITEM < keys) e[n * 256 + ITEM] = exp_(weight[n] - shift(top[n]));
		if (ITEM < blocks) { // what shrink gives for a sum other than 0
			float earlier = ITEM == 0 ? before : most[ITEM - 1];
			by[ITEM] = shrink(earlier, most[ITEM], 1.0f);
		}
		BARRIER;
		if (ITEM < blocks * 8) {
			int from = ITEM / 8 * BLOCK;
			lanes[ITEM] = lane_sum(e + from, 1, min_(keys - from, BLOCK), ITEM % 8);
		}
		for (int i = ITEM; i < blocks * dims; i += 256) {
			int b = i / dims;
			ulong v = values + i % dims + page_at(page[b], layers, layer, heads, h, dim);
			part[i] = value(e + b * BLOCK, pool, v, min_(keys - b * BLOCK, BLOCK), dim, format);
		}
		BARRIER;
		if (ITEM < blocks) {
			LOCAL float *l = &lanes[ITEM * 8];
			sums[ITEM] = TREE(l);
		}
		BARRIER;
		if (ITEM < dims)
			ROLLED for (int b = 0; b < blocks; b += 4) { // in their order
#define FETCH(n)                                                                                   \
	int b##n = min_(b + n, blocks - 1); /* past the end, the last block again */                   \
	float by##n = by[b##n], s##n = sums[b##n], y##n = part[b##n * dims + ITEM];
				FETCH(0) FETCH(1) FETCH(2) FETCH(3)
#undef FETCH
#define ADD(n)                                                                                     \
	{                                                                                              \
		float shrunk = sum != 0.0f ? by##n : 1.0f;                                                 \
		float longer = sum * shrunk + s##n, more = y * shrunk + y##n;                              \
		sum = b + n < blocks ? longer : sum, y = b + n < blocks ? more : y;                        \
	}
				ADD(0) ADD(1) ADD(2) ADD(3)
#undef ADD
			}
		before = most[blocks - 1];
	}
	if (ITEM < dims && seen > 0)
		out[((ulong)r * heads + h) * dim + d + ITEM] = finished(y, sum, before);
}

// fma4 is fma of each of four numbers with y.
FUNCTION float4 fma4(float4 x, float y, float4 z) {
	float4 sum = {fma(x.x, y, z.x), fma(x.y, y, z.y), fma(x.z, y, z.z), fma(x.w, y, z.w)};
	return sum;
}

// select4 returns one of two.
FUNCTION float4 select4(int first, float4 x, float4 y) {
	float4 v = {first ? x.x : y.x, first ? x.y : y.y, first ? x.z : y.z, first ? x.w : y.w};
	return v;
}

// load_queries puts dimensions of a query for each row into local memory, SPAN from `from` on:
// [SPAN, 16]. Past the last dimension or row the last is loaded again, for nothing.
FUNCTION void load_queries(LOCAL float *q, GLOBAL const float *qkv, int rows, int apart, int from,
		int dim) {
	int d = ITEM % SPAN;
	UNROLL for (int n = 0; n < QUERIES; n += 256 / SPAN) {
		int i = n + ITEM / SPAN;
		q[d * QUERIES + i] = qkv[min_(i, rows - 1) * apart + min_(from + d, dim - 1)];
	}
}

// attend_tile: group (head, entry of the list, slice) of 256 items for up to 16 rows of one text
// and SPAN dimensions of the output, one block after the other. Each item has four of the rows, and
// of them first a key, then a dimension. q is [SPAN, 16], e [64, 16], lanes [16, 16] and state
// [3, 16].
FUNCTION void attend_tile(GLOBAL float *out, GLOBAL const float *qkv, GLOBAL const void *pool,
		GLOBAL const int *plan, int list, int heads, int dim, int layers, int layer, float scale,
		int format, LOCAL float *q, LOCAL float *e, LOCAL float *lanes, LOCAL float *state) {
	int h = GROUP(0), r = FIRST_ROW(plan, list, GROUP(1)), count = ROW_COUNT(plan, list, GROUP(1));
	int position = POSITION(plan, r), mine = ITEM / 64 * 4, n = heads * dim;
	int key = ITEM % 64, d = GROUP(2) * SPAN + ITEM % 64, row = ITEM % QUERIES;
	LOCAL float *most = state, *sum = state + QUERIES, *by = state + 2 * QUERIES;
	float4 y = {0.0f, 0.0f, 0.0f, 0.0f};
	if (ITEM < QUERIES) most[ITEM] = -INFINITE, sum[ITEM] = 0.0f;
	out += (ulong)r * n + h * dim, qkv += (ulong)r * 3 * n + h * dim;
	for (int b = 0; b * BLOCK < position + count; b++) {
		ulong k = page_at(PAGE(plan, r, b), layers, layer, heads, h, dim);
		ulong v = k + (ulong)n * BLOCK;
		int seen = position + 1 - b * BLOCK; // keys of it that row 0 sees; row i sees i more
		float4 chain = {0.0f, 0.0f, 0.0f, 0.0f};
		for (int from = 0; from < dim; from += SPAN) {
			int dims = min_(dim - from, SPAN), c = 0;
			BARRIER;
			if (b == 0 || dim > SPAN) load_queries(q, qkv, count, 3 * n, from, dim);
			BARRIER;
			for (; c + 16 <= dims; c += 16) {
#define FETCH(i) uint a##i = stored(pool, k + (from + c + i) * BLOCK + key, format);
#define ADD(i)                                                                                     \
	{                                                                                              \
		float4 u = *(LOCAL const float4 *)&q[(c + i) * QUERIES + mine];                            \
		chain = fma4(u, widened(a##i, format), chain);                                             \
	}
				EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
#undef ADD
			}
			for (; c < dims; c += 8) { // the rest; past the end, the last dimension again
#define FETCH(i) uint a##i = stored(pool, k + min_(from + c + i, dim - 1) * BLOCK + key, format);
#define ADD(i)                                                                                     \
	{                                                                                              \
		float4 u = *(LOCAL const float4 *)&q[(c + i) * QUERIES + mine];                            \
		chain = select4(c + i < dims, fma4(u, widened(a##i, format), chain), chain);               \
	}
				EACH_8(FETCH) EACH_8(ADD)
#undef FETCH
#undef ADD
			}
		}
		chain.x = chain.x * scale, chain.y = chain.y * scale;
		chain.z = chain.z * scale, chain.w = chain.w * scale;
		*(LOCAL float4 *)&e[key * QUERIES + mine] = chain;
		BARRIER;
		int keys = min_(seen + row, BLOCK); // that this item's row sees
		float m = -INFINITE;
		UNROLL for (int i = 0; i < BLOCK; i += 16) {
			float score = e[(i + ITEM / QUERIES) * QUERIES + row];
			m = i + ITEM / QUERIES < keys ? greater(score, m) : m;
		}
		lanes[ITEM] = m;
		BARRIER;
		if (ITEM < QUERIES) {
			m = most[ITEM];
			UNROLL for (int i = 0; i < 16; i++) m = greater(lanes[i * QUERIES + ITEM], m);
			by[ITEM] = shrink(most[ITEM], m, sum[ITEM]);
			most[ITEM] = m;
		}
		BARRIER;
		chain.x = exp_(chain.x - shift(most[mine]));
		chain.y = exp_(chain.y - shift(most[mine + 1]));
		chain.z = exp_(chain.z - shift(most[mine + 2]));
		chain.w = exp_(chain.w - shift(most[mine + 3]));
		*(LOCAL float4 *)&e[key * QUERIES + mine] = chain;
		BARRIER;
		if (ITEM < QUERIES * 8 && keys > 0)
			lanes[row * 8 + ITEM / QUERIES] = lane_sum(e + row, QUERIES, keys, ITEM / QUERIES);
		if (d < dim && seen + mine + 3 > 0) {
			float4 part = {0.0f, 0.0f, 0.0f, 0.0f};
			int j = 0, all = min_(seen + mine, BLOCK), end = min_(seen + mine + 3, BLOCK);
			for (; j + 16 <= all; j += 16) { // that each of the four rows sees
#define FETCH(i) uint a##i = stored(pool, v + (j + i) * dim + d, format);
#define ADD(i)                                                                                     \
	{                                                                                              \
		float4 u = *(LOCAL const float4 *)&e[(j + i) * QUERIES + mine];                            \
		part = fma4(u, widened(a##i, format), part);                                               \
	}
				EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
#undef ADD
			}
			for (; j < end; j += 8) { // the rest; past the end, the last key again
#define FETCH(i) uint a##i = stored(pool, v + min_(j + i, end - 1) * dim + d, format);
#define ADD(i)                                                                                     \
	{                                                                                              \
		float4 u = *(LOCAL const float4 *)&e[(j + i) * QUERIES + mine];                            \
		float4 next = fma4(u, widened(a##i, format), part);                                        \
		int rows = j + i < end ? j + i - (seen + mine) : 4; /* without it, less one */             \
		part.x = rows < 0 ? next.x : part.x, part.y = rows < 1 ? next.y : part.y;                  \
		part.z = rows < 2 ? next.z : part.z, part.w = rows < 3 ? next.w : part.w;                  \
	}
				EACH_8(FETCH) EACH_8(ADD)
#undef FETCH
#undef ADD
			}
			if (seen + mine > 0) y.x = y.x * by[mine] + part.x;
			if (seen + mine + 1 > 0) y.y = y.y * by[mine + 1] + part.y;
			if (seen + mine + 2 > 0) y.z = y.z * by[mine + 2] + part.z;
			y.w = y.w * by[mine + 3] + part.w;
		}
		BARRIER;
		if (ITEM < QUERIES && seen + ITEM > 0) {
			LOCAL float *l = &lanes[ITEM * 8];
			sum[ITEM] = sum[ITEM] * by[ITEM] + TREE(l);
		}
	}
	BARRIER;
	if (d >= dim) return;
	float all[4] = {y.x, y.y, y.z, y.w};
	UNROLL for (int i = 0; i < 4; i++)
		if (mine + i < count)
			out[(mine + i) * n + d] = finished(all[i], sum[mine + i], most[mine + i]);
}

#define ATTENTION(store_, attend_one_, attend_tile_, format)                                       \
	KERNEL void store_(GLOBAL float *qkv, GLOBAL const float *parts, int segments,                 \
			GLOBAL void *pool, GLOBAL const int *plan, int rows, int heads, int dim, int layers,   \
			int layer) {                                                                           \
		store(qkv, parts, segments, pool, plan, rows, heads, dim, layers, layer, format);          \
	}                                                                                              \
	KERNEL void attend_one_(GLOBAL float *out, GLOBAL float *qkv, GLOBAL const float *parts,       \
			int segments, GLOBAL void *pool, GLOBAL const int *plan, int list, int rows,           \
			int heads, int dim, int span, int layers, int layer, float scale) {                    \
		SHARED float e[SIDE * BLOCK];                                                              \
		SHARED float part[SIDE * SPAN];                                                            \
		SHARED float lanes[256];                                                                   \
		SHARED float of[3 * SIDE];                                                                 \
		SHARED int page[SIDE];                                                                     \
		attend_one(out, qkv, parts, segments, pool, plan, list, rows, heads, dim, span, layers,    \
			layer, scale, format, e, part, lanes, of, page);                                       \
	}                                                                                              \
	KERNEL void attend_tile_(GLOBAL float *out, GLOBAL const float *qkv, GLOBAL const void *pool,  \
			GLOBAL const int *plan, int list, int heads, int dim, int layers, int layer,           \
			float scale) {                                                                         \
		SHARED float q[QUERIES * SPAN] ALIGNED;                                                    \
		SHARED float e[QUERIES * BLOCK] ALIGNED;                                                   \
		SHARED float lanes[256];                                                                   \
		SHARED float state[3 * QUERIES];                                                           \
		attend_tile(out, qkv, pool, plan, list, heads, dim, layers, layer, scale, format, q, e,    \
			lanes, state);                                                                         \
	}
ATTENTION(store_f32, attend_one_f32, attend_tile_f32, F32)
ATTENTION(store_f16, attend_one_f16, attend_tile_f16, F16)

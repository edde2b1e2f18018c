// Operations on whole rows: the embedding, layer norm, and the integers of a row.

// The plan is what the host says of a pass: four ints for each row; then the groups of attention,
// two ints each, which attention.cl reads; then the lists of pages.
#define TOKEN(plan, r) ((plan)[4 * (r)])
#define POSITION(plan, r) ((plan)[4 * (r) + 1])
#define PAGE(plan, r, block) ((plan)[(plan)[4 * (r) + 2] + (block)]) // of the row's text
#define NO_PAGES(plan, r) ((plan)[4 * (r) + 2] < 0)                  // it has no text
#define WANTED(plan, i) ((plan)[4 * (i) + 3]) // the i-th row whose logits are wanted

// Loads take long: 35 cycles on a GPU's chip, 270 from its cache, 700 from its memory. So every
// loop over a row loads at least eight numbers before it uses the first. Past the end it loads a
// number again, for nothing: a load that is guarded would wait for those before it.

// embed: x[r] = wte[token] + wpe[position]. Group (row, items) has one number for each item.
FUNCTION void embed(GLOBAL float *x, GLOBAL const void *wte, GLOBAL const float *wpe,
		GLOBAL const int *plan, int n, int format) {
	int r = GROUP(0), i = GROUP(1) * ITEMS + ITEM;
	ulong token = TOKEN(plan, r), position = POSITION(plan, r);
	if (i >= n) return;
	float e;
	if (format < Q8) {
		e = number(wte, token * n + i, format);
	} else {
		GLOBAL const uchar *tile = (GLOBAL const uchar *)wte +
			(token / 16 * ((n + 31) / 32) + i / 32) * TILE_BYTES(format);
		int v = integer(tile, token % 16, i % 32, format) - (format == Q4 ? 8 : 0);
		e = (float)v * tile_scale(tile, token % 16, format);
	}
	x[(ulong)r * n + i] = e + wpe[position * n + i];
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

// SUM_PARTS declares a function that adds up the segments of `count` numbers, `deep` segments at a
// time: number j is the one at i[j]. Segments lie `apart` numbers from each other; there is at
// least one.
#define SUM_PARTS(name, count, deep)                                                               \
	FUNCTION void name(float *sum, GLOBAL const float *parts, const ulong *i, int segments,        \
			ulong apart) {                                                                         \
		for (int s = 0; s < segments; s += deep) {                                                 \
			float v[deep][count];                                                                  \
			UNROLL for (int d = 0; d < deep; d++) {                                                \
				GLOBAL const float *part = parts + min_(s + d, segments - 1) * apart;              \
				UNROLL for (int j = 0; j < count; j++) v[d][j] = part[i[j]];                       \
			}                                                                                      \
			UNROLL for (int d = 0; d < deep; d++)                                                  \
				UNROLL for (int j = 0; j < count; j++) {                                           \
					float next = s + d == 0 ? v[d][j] : sum[j] + v[d][j];                          \
					sum[j] = s + d < segments ? next : sum[j];                                     \
				}                                                                                  \
		}                                                                                          \
	}
SUM_PARTS(sum_1, 1, 8)
SUM_PARTS(sum_3, 3, 8)
SUM_PARTS(sum_8, 8, 4)

// AT is where number j of what an item works on at a time lies, from its own number i on; past the
// end it is i.
#define STRIP 8
#define AT(i, j, end) ((i) + (j) * ITEMS < (end) ? (i) + (j) * ITEMS : (i))

#define ROW 4096 // numbers of a row that local memory has at a time

// row_lane continues one lane of a sum over n numbers in local memory: of the numbers or, if
// squares, of the squares of their distances from mean.
FUNCTION float row_lane(LOCAL const float *x, int n, float sum, float mean, int squares) {
	int i = ITEM;
#define MORE(v) (squares ? fma((v) - mean, (v) - mean, sum) : sum + (v))
#define ADD(j) sum = MORE(v##j);
	for (; i + 8 * 15 < n; i += 8 * 16) {
#define FETCH(j) float v##j = x[i + 8 * j];
		EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
	}
#undef ADD
	for (; i < n; i += 8 * 16) { // the rest; past the end, the last number again
#define FETCH(j) float v##j = x[min_(i + 8 * j, n - 1)];
#define ADD(j) sum = i + 8 * j < n ? MORE(v##j) : sum;
		EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
#undef ADD
	}
#undef MORE
	return sum;
}

// Inputs of Q8 and Q4 weights are integers of 16 bits, with a scale for each row. These functions
// are for a group of 256 items.

// peak_of returns the greatest of what the items have. peaks is [256 + 16].
FUNCTION uint peak_of(uint most, LOCAL uint *peaks) {
	LOCAL uint *few = peaks + 256;
	peaks[ITEM] = most;
	BARRIER;
	if (ITEM < 16) {
#define FETCH(n) uint u##n = peaks[ITEM + 16 * n];
#define MORE(n) most = u##n > most ? u##n : most;
		EACH_16(FETCH) EACH_16(MORE)
#undef FETCH
#undef MORE
		few[ITEM] = most;
	}
	BARRIER;
	UNROLL for (int n = 0; n < 16; n++) most = few[n] > most ? few[n] : most;
	return most;
}

// greatest returns the bits of the greatest magnitude of an item's numbers of a row.
FUNCTION uint greatest(GLOBAL const float *x, int n) {
	uint most = 0;
	for (int i = ITEM; i < n; i += 8 * 256) { // past the end an item's first number again
#define FETCH(j) float v##j = x[i + j * 256 < n ? i + j * 256 : i];
#define MORE(j) most = (BITS(v##j) & 0x7fffffffu) > most ? BITS(v##j) & 0x7fffffffu : most;
		EACH_8(FETCH) EACH_8(MORE)
#undef FETCH
#undef MORE
	}
	return most;
}

// scale_of returns the scale of a row whose greatest magnitude has these bits, and sets its
// inverse, which is 0 if all integers are 0.
FUNCTION float scale_of(uint most, float *inverse) {
	*inverse = 0.0f;
	if (most >= 0x7f800000u) return FLOAT(0x7fc00000u); // NaN or infinite
	if (most < (127u - 80u) << 23) return 0.0f;         // below 2⁻⁸⁰
	*inverse = 32767.0f / FLOAT(most);
	return FLOAT(most) / 32767.0f;
}

// INTEGERS_OF makes integers q, in whatever memory, of the numbers of a row from `from` to `end`: 0
// past the last of its n numbers.
#define INTEGERS_OF(q, x, n, from, end, inverse)                                                   \
	for (int i = (from) + ITEM; i < (end); i += 8 * 256) {                                         \
		float v[8];                                                                                \
		UNROLL for (int j = 0; j < 8; j++) v[j] = (x)[min_(i + j * 256, (n) - 1)];                 \
		UNROLL for (int j = 0; j < 8; j++) {                                                       \
			float y = v[j] * (inverse);                                                            \
			if (i + j * 256 >= (n) || (inverse) == 0.0f) y = 0.0f;                                 \
			if (i + j * 256 < (end))                                                               \
				(q)[i + j * 256 - (from)] = (short)(int)((y + 12582912.0f) - 12582912.0f);         \
		}                                                                                          \
	}

// quantize_row makes integers q [⌈n/32⌉·32] of a row of x, and their scale. An item reads no number
// that counts but those at ITEM + 256·j.
FUNCTION void quantize_row(GLOBAL short *q, GLOBAL float *scale, GLOBAL const float *x, int n,
		LOCAL uint *peaks) {
	float inverse, by = scale_of(peak_of(greatest(x, n), peaks), &inverse);
	if (ITEM == 0) *scale = by;
	INTEGERS_OF(q, x, n, 0, (n + 31) / 32 * 32, inverse)
}

// layer_norm: a group is a row of dst, which is a row of x, normalized: the same row or, from first
// ≥ 0 on, the next whose logits are wanted. What a linear layer has computed for the row, parts
// [segments, rows, n], is added to x before; segments may be 0. If q is not null, it and scales get
// the integers of dst. A group has 256 items.
KERNEL void layer_norm(GLOBAL float *dst, GLOBAL short *q, GLOBAL float *scales, GLOBAL float *x,
		GLOBAL const float *parts, int segments, int rows, GLOBAL const int *plan, int first,
		GLOBAL const float *gain, GLOBAL const float *bias, int n, float eps) {
	SHARED float own[ROW];
	SHARED float lanes[2][8]; // of the numbers, and of the squares
	SHARED uint peaks[256 + 16];
	ulong row = first < 0 ? GROUP(0) : WANTED(plan, first + GROUP(0));
	x += row * n, dst += (ulong)GROUP(0) * n, parts += row * n;
	float sum = 0.0f;
	for (int from = 0; from < n; from += ROW) {
		int end = min_(n, from + ROW);
		if (from > 0) BARRIER;
		for (int i = from + ITEM; i < end; i += STRIP * ITEMS) {
			float v[STRIP], add[STRIP];
			ulong at[STRIP];
			UNROLL for (int j = 0; j < STRIP; j++) at[j] = AT(i, j, end), v[j] = x[at[j]];
			if (segments > 0) {
				sum_8(add, parts, at, segments, (ulong)rows * n);
				UNROLL for (int j = 0; j < STRIP; j++) v[j] = v[j] + add[j];
				UNROLL for (int j = 0; j < STRIP; j++)
					if (i + j * ITEMS < end) x[i + j * ITEMS] = v[j];
			}
			UNROLL for (int j = 0; j < STRIP; j++)
				if (i + j * ITEMS < end) own[i + j * ITEMS - from] = v[j];
		}
		BARRIER;
		if (ITEM < 8) sum = row_lane(own, end - from, sum, 0.0f, 0);
	}
	if (ITEM < 8) lanes[0][ITEM] = sum;
	BARRIER;
	float mean = TREE(lanes[0]) / (float)n;
	sum = 0.0f;
	for (int from = 0; from < n; from += ROW) {
		int end = min_(n, from + ROW);
		if (n > ROW) { // each item has written to x what it reads
			BARRIER;
			for (int i = from + ITEM; i < end; i += STRIP * ITEMS) {
				float v[STRIP];
				UNROLL for (int j = 0; j < STRIP; j++) v[j] = x[AT(i, j, end)];
				UNROLL for (int j = 0; j < STRIP; j++)
					if (i + j * ITEMS < end) own[i + j * ITEMS - from] = v[j];
			}
			BARRIER;
		}
		if (ITEM < 8) sum = row_lane(own, end - from, sum, mean, 1);
	}
	if (ITEM < 8) lanes[1][ITEM] = sum;
	BARRIER;
	float spread = TREE(lanes[1]) / (float)n + eps;
	float inverse = 1.0f / sqrt(spread) + (spread - spread); // NaN where spread is infinite
	for (int i = ITEM; i < n; i += STRIP * ITEMS) {
		float v[STRIP], g[STRIP], b[STRIP];
		UNROLL for (int j = 0; j < STRIP; j++) {
			int at = AT(i, j, n);
			v[j] = x[at], g[j] = gain[at], b[j] = bias[at];
		}
		UNROLL for (int j = 0; j < STRIP; j++)
			if (i + j * ITEMS < n) dst[i + j * ITEMS] = fma((v[j] - mean) * inverse, g[j], b[j]);
	}
	if (q) // each item reads what it has written
		quantize_row(q + GROUP(0) * (ulong)((n + 31) / 32 * 32), &scales[GROUP(0)], dst, n, peaks);
}

// Linear layers on Q8 and Q4 weights: kernels/quantleaf.go. Here are those of one row and of a few;
// quanttile.cl has those of many.
//
// The sum of a block of 32 inputs is an exact integer, so that its products may be added in any
// order, by whatever instruction the device has. Only the chain over the blocks has an order.

// quantize makes integers of rows of x: q [rows, ⌈in/32⌉·32], and scales [rows]. A group of 256
// items is a row.
KERNEL void quantize(GLOBAL short *q, GLOBAL float *scales, GLOBAL const float *x, int in) {
	SHARED uint peaks[256 + 16];
	ulong r = GROUP(0);
	quantize_row(q + r * ((in + 31) / 32 * 32), &scales[r], x + r * in, in, peaks);
}

// A column of a tile is two outputs, and what an item multiplies. Outputs past the end are zeros.
#define OUTPUT(column, second, format)                                                             \
	((format) == Q8 ? 2 * (column) + (second) : (column) + 8 * (second))

// load_quarter loads a quarter of a column, the inputs from 8·quarter to 8·quarter + 7: four words
// in Q8, two in Q4.
FUNCTION void load_quarter(uint *stored, GLOBAL const uchar *tile, int column, int quarter,
		int format) {
	GLOBAL const uint *words = (GLOBAL const uint *)tile + column;
	if (format == Q8)
		UNROLL for (int i = 0; i < 4; i++) stored[i] = words[(4 * quarter + i) * 8];
	else
		UNROLL for (int i = 0; i < 2; i++) stored[i] = words[(2 * quarter + i) * 8];
}

// pairs_of makes four words of a quarter, each the int8s of two inputs: of the first output in the
// lower half, of the second in the upper. In Q4 an int8 is 16 times what it means: its four bits,
// less 8, are the upper half of a byte. So its scale is divided by 16, which is exact.
FUNCTION void pairs_of(uint *pairs, const uint *stored, int format) {
	if (format == Q8) {
		UNROLL for (int i = 0; i < 4; i++) pairs[i] = stored[i];
	} else {
		UNROLL for (int i = 0; i < 4; i++) { // a stored word has inputs 0, 2, 1 and 3
			uint w = stored[i / 2];
			pairs[i] = (bytes(w << 4, w, i % 2 == 0 ? 0x6420 : 0x7531) ^ 0x80808080u) & 0xf0f0f0f0u;
		}
	}
}
#define PAIR_SCALE(scale, format) ((format) == Q8 ? (scale) : (scale) * 0.0625f)

// load_words loads four words together.
FUNCTION void load_words(uint *to, GLOBAL const uint *from) {
	uint4 v = *(GLOBAL const uint4 *)from;
	to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

// read_words and put_words do so in local memory.
FUNCTION void read_words(uint *to, LOCAL const uint *from) {
	uint4 v = *(LOCAL const uint4 *)from;
	to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

FUNCTION void put_words(LOCAL uint *to, const uint *from) {
	uint4 v;
	v.x = from[0], v.y = from[1], v.z = from[2], v.w = from[3];
	*(LOCAL uint4 *)to = v;
}

// load_inputs loads the 16 pairs of a block of a row.
FUNCTION void load_inputs(uint *x, GLOBAL const short *q, ulong block) {
	UNROLL for (int t = 0; t < 16; t += 4)
		load_words(&x[t], (GLOBAL const uint *)q + block * 16 + t);
}

// load_rows loads the block b of four rows from r on, or where there are fewer, the last once more.
FUNCTION void load_rows(uint (*x)[16], GLOBAL const short *q, int r, int count, int blocks,
		ulong b) {
	UNROLL for (int i = 0; i < 4; i++)
		load_inputs(x[i], q, (ulong)(r + min_(i, count - 1)) * blocks + b);
}

// load_column loads a column and its two scales.
FUNCTION void load_column(uint *stored, float *scales, GLOBAL const uchar *tile, int column,
		int format) {
	UNROLL for (int t = 0; t < 4; t++) load_quarter(&stored[4 * t], tile, column, t, format);
	UNROLL for (int n = 0; n < 2; n++)
		scales[n] = tile_scale(tile, OUTPUT(column, n, format), format);
}

// put_sums multiplies a column and a block of a row, and stores the sums of the two outputs.
FUNCTION void put_sums(LOCAL float *sums, const uint *pairs, const uint *x, int column,
		int format) {
	int first = 0, second = 0;
	UNROLL for (int k = 0; k < 16; k++) {
		first = dot_low(x[k], pairs[k], first);
		second = dot_high(x[k], pairs[k], second);
	}
	sums[OUTPUT(column, 0, format)] = (float)first;
	sums[OUTPUT(column, 1, format)] = (float)second;
}

// put_scales stores the scales of a column.
FUNCTION void put_scales(LOCAL float *by, const float *scales, int column, int format) {
	UNROLL for (int n = 0; n < 2; n++)
		by[OUTPUT(column, n, format)] = PAIR_SCALE(scales[n], format);
}

// chain_of continues a chain over the blocks of a slab, whose sums and scales lie 16 numbers apart.
FUNCTION float chain_of(float chain, LOCAL const float *sums, LOCAL const float *by, int depth) {
	int d = 0;
	for (; d + 8 <= depth; d += 8) {
#define FETCH(n) float s##n = sums[(d + n) * 16], b##n = by[(d + n) * 16];
#define ADD(n) chain = fma(s##n, b##n, chain);
		EACH_8(FETCH) EACH_8(ADD)
#undef FETCH
#undef ADD
	}
	if (d < depth) { // the rest; past the end, the last block again
#define FETCH(n)                                                                                   \
	int d##n = min_(d + n, depth - 1) * 16;                                                        \
	float s##n = sums[d##n], b##n = by[d##n];
#define ADD(n)                                                                                     \
	float next##n = fma(s##n, b##n, chain);                                                        \
	chain = d + n < depth ? next##n : chain;
		EACH_8(FETCH) EACH_8(ADD)
#undef FETCH
#undef ADD
	}
	return chain;
}

// activated applies an activation, or none if a is negative.
FUNCTION float activated(float x, int a) { return a < 0 ? x : activation(x, a); }

// integers_one computes 16 outputs of one row, a slab of 128 blocks at a time: group (outputs) of
// 256 items. First all items load up to four columns each, and, while these are on their way, the
// inputs; then they compute the sums of the columns; then 16 items continue a chain each. The
// inputs are q, or, if x is not null, those numbers: each group then makes the row's integers, which
// takes less time than a launch that makes them once.
#define ONE_SLAB 128

FUNCTION void integers_one(GLOBAL float *y, GLOBAL const short *q, GLOBAL const float *scales,
		GLOBAL const float *x, GLOBAL const uchar *w, GLOBAL const float *bias, int in, int blocks,
		int out, int a, int format, LOCAL float *sums, LOCAL float *by, LOCAL uint *xs,
		LOCAL uint *peaks) {
	int d = (uint)ITEM / 8, column = (uint)ITEM % 8, o = GROUP(0) * 16 + ITEM;
	float chain = 0.0f, inverse = 0.0f, by_row = x ? 0.0f : scales[0];
	w += ((ulong)GROUP(0) * blocks + d) * TILE_BYTES(format);
	LOCAL float *own_sums = &sums[d * 16], *own_by = &by[d * 16];
	LOCAL uint *own_xs = &xs[d * 16];
	for (int first = 0; first < blocks; first += ONE_SLAB) {
		int depth = min_(blocks - first, ONE_SLAB);
		uint stored[4][16], pairs[16], inputs[16];
		float scale[4][2];
		UNROLL for (int n = 0; n < 4; n++)
			if (d + n * 32 < depth)
				load_column(stored[n], scale[n], w + n * 32 * TILE_BYTES(format), column, format);
		w += ONE_SLAB * TILE_BYTES(format);
		if (x) {
			if (first == 0) by_row = scale_of(peak_of(greatest(x, in), peaks), &inverse);
			INTEGERS_OF((LOCAL short *)xs, x, in, first * 32, (first + depth) * 32, inverse)
		} else {
			UNROLL for (int n = 0; n < ONE_SLAB * 4; n += 256)
				if (n + ITEM < depth * 4) {
					uint four[4];
					load_words(four, (GLOBAL const uint *)q + (first * 4 + n + ITEM) * 4);
					put_words(&xs[(n + ITEM) * 4], four);
				}
		}
		BARRIER;
		UNROLL for (int n = 0; n < 4; n++) {
			if (d + n * 32 >= depth) continue;
			UNROLL for (int t = 0; t < 16; t += 4) {
				read_words(&inputs[t], &own_xs[n * 512 + t]);
				pairs_of(&pairs[t], &stored[n][t], format);
			}
			put_sums(&own_sums[n * 512], pairs, inputs, column, format);
			put_scales(&own_by[n * 512], scale[n], column, format);
		}
		BARRIER;
		if (ITEM < 16) chain = chain_of(chain, &sums[ITEM], &by[ITEM], depth);
	}
	if (ITEM < 16 && o < out) y[o] = activated(fma(chain, by_row, bias ? bias[o] : 0.0f), a);
}

// integers_few computes 16 outputs of up to 8 rows, a slab of 32 blocks at a time: group (outputs,
// rows) of 256 items. First an item loads a column and multiplies it with all rows, of which the
// inputs of four are under way together; then items (row, output) continue a chain each.
#define FEW_SLAB 32
#define FEW_ROWS 8

FUNCTION void integers_few(GLOBAL float *y, GLOBAL const short *q, GLOBAL const float *scales,
		GLOBAL const uchar *w, GLOBAL const float *bias, int rows, int blocks, int out, int a,
		int format, LOCAL float *sums, LOCAL float *by) {
	int r = GROUP(1) * FEW_ROWS, count = min_(rows - r, FEW_ROWS);
	int d = ITEM / 8, column = ITEM % 8;                     // block and column of a sum
	int n = ITEM / 16, j = ITEM % 16, o = GROUP(0) * 16 + j; // row and output of a chain
	float chain = 0.0f;
	w += (ulong)GROUP(0) * blocks * TILE_BYTES(format);
	for (int first = 0; first < blocks; first += FEW_SLAB) {
		int depth = min_(blocks - first, FEW_SLAB);
		if (d < depth) {
			uint stored[16], pairs[16], x[4][16];
			float scale[2];
			ulong b = first + d;
			load_column(stored, scale, w + b * TILE_BYTES(format), column, format);
			load_rows(x, q, r, count, blocks, b);
			UNROLL for (int t = 0; t < 16; t += 4) pairs_of(&pairs[t], &stored[t], format);
			put_scales(&by[d * 16], scale, column, format);
			for (int i = 0; i < count; i += 4) {
				if (i > 0) load_rows(x, q, r + i, count - i, blocks, b);
				UNROLL for (int c = 0; c < 4; c++)
					if (i + c < count)
						put_sums(&sums[((i + c) * FEW_SLAB + d) * 16], pairs, x[c], column, format);
			}
		}
		BARRIER;
		if (n < count) chain = chain_of(chain, &sums[n * FEW_SLAB * 16 + j], &by[j], depth);
		BARRIER;
	}
	if (n < count && o < out)
		y[(ulong)(r + n) * out + o] =
			activated(fma(chain, scales[r + n], bias ? bias[o] : 0.0f), a);
}

#define INTEGERS(one, few, format)                                                                 \
	KERNEL void one(GLOBAL float *y, GLOBAL const short *q, GLOBAL const float *scales,            \
			GLOBAL const float *x, GLOBAL const uchar *w, GLOBAL const float *bias, int in,        \
			int blocks, int out, int a) {                                                          \
		SHARED float sums[ONE_SLAB * 16];                                                          \
		SHARED float by[ONE_SLAB * 16];                                                            \
		SHARED uint xs[ONE_SLAB * 16] ALIGNED;                                                     \
		SHARED uint peaks[256 + 16];                                                               \
		integers_one(y, q, scales, x, w, bias, in, blocks, out, a, format, sums, by, xs, peaks);   \
	}                                                                                              \
	KERNEL void few(GLOBAL float *y, GLOBAL const short *q, GLOBAL const float *scales,            \
			GLOBAL const uchar *w, GLOBAL const float *bias, int rows, int blocks, int out,        \
			int a) {                                                                               \
		SHARED float sums[FEW_ROWS * FEW_SLAB * 16];                                               \
		SHARED float by[FEW_SLAB * 16];                                                            \
		integers_few(y, q, scales, w, bias, rows, blocks, out, a, format, sums, by);               \
	}
INTEGERS(integers_one_q8, integers_few_q8, Q8)
INTEGERS(integers_one_q4, integers_few_q4, Q4)

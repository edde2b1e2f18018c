// Linear layers on Q8 and Q4 weights, for many rows: tiles of 64 rows by 64 outputs.
//
// A group of 256 items computes a tile, a slab of 4 blocks of inputs at a time, which is in local
// memory while the next one is on its way to registers.

#define TILE_ROWS 64
#define TILES 4 // of weights: 64 outputs
#define SLAB 4
#define WORDS 144 // of a tile of weights in local memory, so that two tiles are in different banks

// An item computes 16 chains, of 4 rows and 4 outputs, which are 2 columns. For the two ways to
// multiply:
//
//	row_of, output_of     the place of the chain [i][j] in the group's tile
//	COLUMN, QUARTER       of the n-th of the 32 quarters of columns of a tile in local memory
//	inputs_to, pairs_to   a quarter of a block of a row, or of a column, as local memory has it
//	multiply              continues the chains with block d of a slab

#ifdef MATRICES
// A warp computes 32 rows by the 16 outputs of a tile, as 2 by 2 products of matrices: 16 rows by
// the 8 first or second outputs of the columns. An input is 256·high + low, so that a block is two
// products: of the high parts, and of the low parts, which is added to the first times 256. The
// order of a block's inputs is another one in both matrices, which changes no sum: those of quarter
// t are inputs 4·t to 4·t + 3 and 16 + 4·t to 19 + 4·t.

#define COLUMN(n) ((n) / 4)
#define QUARTER(n) ((n) % 4)

FUNCTION int row_of(int i) { return ITEM / 32 % 2 * 32 + i * 8 + ITEM % 32 / 4; }
FUNCTION int output_of(int j, int format) {
	return ITEM / 64 * 16 + OUTPUT(ITEM % 4 * 2 + j % 2, j / 2, format);
}

FUNCTION void inputs_to(LOCAL uint *to, const uint *x) {
	uint parts[4] = { bytes(x[0], x[1], 0x7531), bytes(x[2], x[3], 0x7531), // high
		bytes(x[0], x[1], 0x6420), bytes(x[2], x[3], 0x6420) };             // low
	put_words(to, parts);
}

FUNCTION void pairs_to(LOCAL uint *to, const uint *pairs) {
	uint outputs[4] = { bytes(pairs[0], pairs[1], 0x5410), bytes(pairs[2], pairs[3], 0x5410),
		bytes(pairs[0], pairs[1], 0x7632), bytes(pairs[2], pairs[3], 0x7632) }; // the second one
	put_words(to, outputs);
}

FUNCTION void multiply(float (*chain)[4], LOCAL const uint *xs, LOCAL const uint *ws,
		LOCAL const float *by, int d) {
	int tile = d * TILES + ITEM / 64, row = d * TILE_ROWS + row_of(0), t = ITEM % 4;
	uint w[4], x[2][4];
	float scale[4]; // of the first and second output of two columns
	read_words(w, &ws[tile * WORDS + ITEM % 32 * 4]);
	load4(scale, &by[tile * 16 + t * 4]);
	UNROLL for (int i = 0; i < 4; i += 2) {
		read_words(x[0], &xs[((row + i * 8) * 4 + t) * 4]);
		read_words(x[1], &xs[((row + i * 8 + 8) * 4 + t) * 4]);
		UNROLL for (int j = 0; j < 4; j += 2) {
			int sum[4] = { 0, 0, 0, 0 };
			add_product(sum, x[0][0], x[1][0], x[0][1], x[1][1], &w[j], 1);
			UNROLL for (int n = 0; n < 4; n++) sum[n] *= 256;
			add_product(sum, x[0][2], x[1][2], x[0][3], x[1][3], &w[j], 0);
			UNROLL for (int n = 0; n < 4; n++)
				chain[i + n / 2][j + n % 2] = fma((float)sum[n], scale[n % 2 * 2 + j / 2],
					chain[i + n / 2][j + n % 2]);
		}
	}
}

#else
#define COLUMN(n) ((n) % 8)
#define QUARTER(n) ((n) / 8)

FUNCTION int row_of(int i) { return ITEM / 16 + i * 16; }
FUNCTION int output_of(int j, int format) {
	return ITEM % 16 / 4 * 16 + OUTPUT(ITEM % 4 + j / 2 * 4, j % 2, format);
}

FUNCTION void inputs_to(LOCAL uint *to, const uint *x) { put_words(to, x); }
FUNCTION void pairs_to(LOCAL uint *to, const uint *pairs) { put_words(to, pairs); }

FUNCTION void multiply(float (*chain)[4], LOCAL const uint *xs, LOCAL const uint *ws,
		LOCAL const float *by, int d) {
	int tile = d * TILES + ITEM % 16 / 4, column = ITEM % 4, row = d * TILE_ROWS + ITEM / 16;
	int sum[4][4];
	UNROLL for (int n = 0; n < 16; n++) sum[n / 4][n % 4] = 0;
	UNROLL for (int t = 0; t < 4; t++) {
		uint first[4], second[4], x[4];
		read_words(first, &ws[tile * WORDS + (t * 8 + column) * 4]);
		read_words(second, &ws[tile * WORDS + (t * 8 + column + 4) * 4]);
		UNROLL for (int i = 0; i < 4; i++) {
			read_words(x, &xs[((row + i * 16) * 4 + t) * 4]);
			UNROLL for (int k = 0; k < 4; k++) {
				sum[i][0] = dot_low(x[k], first[k], sum[i][0]);
				sum[i][1] = dot_high(x[k], first[k], sum[i][1]);
				sum[i][2] = dot_low(x[k], second[k], sum[i][2]);
				sum[i][3] = dot_high(x[k], second[k], sum[i][3]);
			}
		}
	}
	UNROLL for (int j = 0; j < 4; j++) {
		float scale = by[tile * 16 + column * 2 + j / 2 * 8 + j % 2];
		UNROLL for (int i = 0; i < 4; i++)
			chain[i][j] = fma((float)sum[i][j], scale, chain[i][j]);
	}
}
#endif

// tile_of returns tile n of the slab from block first on, of a group whose first tile is t.
FUNCTION GLOBAL const uchar *tile_of(GLOBAL const uchar *w, int t, int first, int n, int blocks,
		int out, int format) {
	ulong of = min_(t + n % TILES, (out - 1) / 16), b = min_(first + n / TILES, blocks - 1);
	return w + (of * blocks + b) * TILE_BYTES(format);
}

FUNCTION void integers_many(GLOBAL float *y, GLOBAL const short *q, GLOBAL const float *scales,
		GLOBAL const uchar *w, GLOBAL const float *bias, int rows, int blocks, int out, int a,
		int format, LOCAL uint *xs, LOCAL uint *ws, LOCAL float *by) {
	int r = GROUP(1) * TILE_ROWS, t = GROUP(0) * TILES, o = t * 16;
	// What this item fetches of a slab: a quarter of block xb of rows xr, xr + 16, …; a quarter of
	// a column of tiles wt and wt + 8, which are numbered block by block; and a scale. Past the end
	// the last row, block or tile is fetched once more, for nothing.
	int xr = ITEM / 16, xb = ITEM % 16 / 4, quarter = ITEM % 4, wt = ITEM / 32, wc = ITEM % 32;
	uint x[4][4], stored[2][4], pairs[4];
	ushort scale = 0;
	float chain[4][4];
	UNROLL for (int n = 0; n < 16; n++) chain[n / 4][n % 4] = 0.0f;
	for (int first = -SLAB; first < blocks; first += SLAB) {
		if (first >= 0) {
			BARRIER;
			UNROLL for (int n = 0; n < 4; n++)
				inputs_to(&xs[((xb * TILE_ROWS + xr + n * 16) * 4 + quarter) * 4], x[n]);
			UNROLL for (int n = 0; n < 2; n++) {
				pairs_of(pairs, stored[n], format);
				pairs_to(&ws[(wt + n * 8) * WORDS + wc * 4], pairs);
			}
			by[ITEM] = PAIR_SCALE(FLOAT((uint)scale << 16), format);
			BARRIER;
		}
		int next = first + SLAB; // from here to the next barrier nothing waits for what is loaded
		if (next < blocks) {
			UNROLL for (int n = 0; n < 4; n++) {
				ulong row = min_(r + xr + n * 16, rows - 1);
				ulong b = row * blocks + min_(next + xb, blocks - 1);
				load_words(x[n], (GLOBAL const uint *)q + b * 16 + quarter * 4);
			}
			UNROLL for (int n = 0; n < 2; n++)
				load_quarter(stored[n], tile_of(w, t, next, wt + n * 8, blocks, out, format),
					COLUMN(wc), QUARTER(wc), format);
			scale = scale_bits(tile_of(w, t, next, ITEM / 16, blocks, out, format),
				OUTPUT(ITEM % 16 / 2, ITEM % 2, format), format);
		}
		if (first < 0) continue;
		int depth = min_(blocks - first, SLAB);
		for (int d = 0; d < depth; d++) multiply(chain, xs, ws, by, d);
	}
	float from[4];
	UNROLL for (int j = 0; j < 4; j++)
		from[j] = bias ? bias[min_(o + output_of(j, format), out - 1)] : 0.0f;
	UNROLL for (int i = 0; i < 4; i++) {
		float by_row = scales[min_(r + row_of(i), rows - 1)];
		UNROLL for (int j = 0; j < 4; j++) chain[i][j] = fma(chain[i][j], by_row, from[j]);
	}
	if (a >= 0) { // by way of local memory, so that the code has one activation, and not 16
		BARRIER;
		UNROLL for (int n = 0; n < 16; n++) xs[n * 256 + ITEM] = BITS(chain[n / 4][n % 4]);
		ROLLED for (int n = 0; n < 16; n++)
			xs[n * 256 + ITEM] = BITS(activation(FLOAT(xs[n * 256 + ITEM]), a));
		UNROLL for (int n = 0; n < 16; n++) chain[n / 4][n % 4] = FLOAT(xs[n * 256 + ITEM]);
	}
	UNROLL for (int i = 0; i < 4; i++)
		UNROLL for (int j = 0; j < 4; j++)
			if (r + row_of(i) < rows && o + output_of(j, format) < out)
				y[(ulong)(r + row_of(i)) * out + o + output_of(j, format)] = chain[i][j];
}

#define INTEGERS_MANY(name, format)                                                                \
	KERNEL void name(GLOBAL float *y, GLOBAL const short *q, GLOBAL const float *scales,           \
			GLOBAL const uchar *w, GLOBAL const float *bias, int rows, int blocks, int out,        \
			int a) {                                                                               \
		SHARED uint xs[SLAB * TILE_ROWS * 16] ALIGNED;                                             \
		SHARED uint ws[SLAB * TILES * WORDS] ALIGNED;                                              \
		SHARED float by[SLAB * TILES * 16] ALIGNED;                                                \
		integers_many(y, q, scales, w, bias, rows, blocks, out, a, format, xs, ws, by);            \
	}
INTEGERS_MANY(integers_many_q8, Q8)
INTEGERS_MANY(integers_many_q4, Q4)

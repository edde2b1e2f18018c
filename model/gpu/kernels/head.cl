// The logits: a linear layer with weights [out, in], in lanes. Eight items are an output's lanes.

// dots_one computes 8 outputs of one row: group (outputs, row) of 64 items.
FUNCTION void dots_one(GLOBAL float *y, GLOBAL const float *x, GLOBAL const void *w, int in,
		int out, int format, LOCAL float *lanes) {
	int o = GROUP(0) * 8 + ITEM / 8, r = GROUP(1);
	float lane = 0.0f;
	ulong xr = (ulong)r * in, wo = (ulong)min_(o, out - 1) * in;
	int k = ITEM % 8;
	for (; k + 8 * 15 < in; k += 8 * 16) {
#define FETCH(n) uint v##n = stored(w, wo + k + 8 * n, format); float u##n = x[xr + k + 8 * n];
#define ADD(n) lane = fma(u##n, widened(v##n, format), lane);
		EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
#undef ADD
	}
	for (; k < in; k += 8 * 16) { // the rest; past the end, the last input again
#define FETCH(n)                                                                                   \
	int k##n = min_(k + 8 * n, in - 1);                                                            \
	uint v##n = stored(w, wo + k##n, format); float u##n = x[xr + k##n];
#define ADD(n)                                                                                     \
	float next##n = fma(u##n, widened(v##n, format), lane);                                        \
	lane = k + 8 * n < in ? next##n : lane;
		EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
#undef ADD
	}
	lanes[ITEM] = lane;
	BARRIER;
	if (ITEM % 8 == 0 && o < out) {
		LOCAL float *l = &lanes[ITEM];
		y[(ulong)r * out + o] = TREE(l);
	}
}

// dots_tile computes 32 outputs of 8 rows: group (outputs, rows) of 64 items, each with lanes of 4
// outputs and 8 rows in registers.
#define HEAD_OUTS 4
#define HEAD_ROWS 8

FUNCTION void dots_tile(GLOBAL float *y, GLOBAL const float *x, GLOBAL const void *w, int rows,
		int in, int out, int format, LOCAL float *lanes) {
	int o = (GROUP(0) * 8 + ITEM / 8) * HEAD_OUTS, r = GROUP(1) * HEAD_ROWS, l = ITEM % 8;
	float lane[HEAD_OUTS][HEAD_ROWS];
	UNROLL for (int j = 0; j < HEAD_OUTS; j++)
		UNROLL for (int i = 0; i < HEAD_ROWS; i++) lane[j][i] = 0.0f;
	// Past the end, the last output or row is computed once more, and not stored.
	for (int k = l; k < in; k += 8) {
		float u[HEAD_ROWS];
		UNROLL for (int i = 0; i < HEAD_ROWS; i++)
			u[i] = x[(ulong)min_(r + i, rows - 1) * in + k];
		UNROLL for (int j = 0; j < HEAD_OUTS; j++) {
			float v = number(w, (ulong)min_(o + j, out - 1) * in + k, format);
			UNROLL for (int i = 0; i < HEAD_ROWS; i++) lane[j][i] = fma(u[i], v, lane[j][i]);
		}
	}
	UNROLL for (int j = 0; j < HEAD_OUTS; j++)
		UNROLL for (int i = 0; i < HEAD_ROWS; i++)
			lanes[(j * HEAD_ROWS + i) * 64 + ITEM] = lane[j][i];
	BARRIER;
	for (int n = l; n < HEAD_OUTS * HEAD_ROWS; n += 8) {
		LOCAL float *of = &lanes[n * 64 + ITEM - l];
		int j = o + n / HEAD_ROWS, i = r + n % HEAD_ROWS;
		if (j < out && i < rows) y[(ulong)i * out + j] = TREE(of);
	}
}

#define DOTS(one, tile_, format)                                                                   \
	KERNEL void one(GLOBAL float *y, GLOBAL const float *x, GLOBAL const void *w, int rows,        \
			int in, int out) {                                                                     \
		SHARED float lanes[64];                                                                    \
		dots_one(y, x, w, in, out, format, lanes);                                                 \
	}                                                                                              \
	KERNEL void tile_(GLOBAL float *y, GLOBAL const float *x, GLOBAL const void *w, int rows,      \
			int in, int out) {                                                                     \
		SHARED float lanes[64 * HEAD_OUTS * HEAD_ROWS];                                            \
		dots_tile(y, x, w, rows, in, out, format, lanes);                                          \
	}
DOTS(dots_one_f32, dots_tile_f32, F32)
DOTS(dots_one_f16, dots_tile_f16, F16)
DOTS(dots_one_bf16, dots_tile_bf16, BF16)

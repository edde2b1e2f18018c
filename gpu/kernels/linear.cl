// Linear layers on float weights.

#define SEGMENT 256 // inputs of one chain

// What becomes of an output: it is stored, added to what is there, or goes through activation
// number after − ACTIVATE.
#define STORE 0
#define ADD 1
#define ACTIVATE 2

FUNCTION void put(GLOBAL float *y, float v, int after) {
	if (after == ADD) v = *y + v;
	if (after >= ACTIVATE) v = activation(v, after - ACTIVATE);
	*y = v;
}

// linear, weights [in, out]: segments. An item is an output of one row.
FUNCTION void linear(GLOBAL float *y, GLOBAL const float *x, GLOBAL const void *w,
		GLOBAL const float *bias, int in, int out, int after, int format) {
	int j = GROUP(0) * ITEMS + ITEM, r = GROUP(1);
	if (j >= out) return;
	float sum = bias[j];
	for (int k = 0; k < in; k += SEGMENT) {
		float chain = k == 0 ? sum : 0.0f;
		for (int i = k; i < k + SEGMENT && i < in; i++)
			chain = fma(x[r * in + i], number(w, (ulong)i * out + j, format), chain);
		sum = k == 0 ? chain : sum + chain;
	}
	put(&y[(ulong)r * out + j], sum, after);
}

#define LINEAR(name, format)                                                                       \
	KERNEL void name(GLOBAL float *y, GLOBAL const float *x, GLOBAL const void *w,                 \
			GLOBAL const float *bias, int in, int out, int after) {                                \
		linear(y, x, w, bias, in, out, after, format);                                             \
	}
LINEAR(linear_f32, F32)
LINEAR(linear_f16, F16)
LINEAR(linear_bf16, BF16)

// head, weights [out, in]: lanes. Eight items are an output, so that a group of 64 has eight.
FUNCTION void head(GLOBAL float *y, GLOBAL const float *x, GLOBAL const void *w, int in, int out,
		int format, LOCAL float *lanes) {
	int j = GROUP(0) * 8 + ITEM / 8, r = GROUP(1);
	float lane = 0.0f;
	if (j < out)
		for (int k = ITEM % 8; k < in; k += 8)
			lane = fma(x[r * in + k], number(w, (ulong)j * in + k, format), lane);
	lanes[ITEM] = lane;
	BARRIER;
	if (ITEM % 8 == 0 && j < out) {
		LOCAL float *l = &lanes[ITEM];
		y[(ulong)r * out + j] = TREE(l);
	}
}

#define HEAD(name, format)                                                                         \
	KERNEL void name(GLOBAL float *y, GLOBAL const float *x, GLOBAL const void *w, int in,         \
			int out) {                                                                             \
		SHARED float lanes[64];                                                                    \
		head(y, x, w, in, out, format, lanes);                                                     \
	}
HEAD(head_f32, F32)
HEAD(head_f16, F16)
HEAD(head_bf16, BF16)

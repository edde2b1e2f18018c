// What the device can do with nothing else to do: for gpt bench.

// read_peak reads n words, a run of consecutive ones for each group. It writes nothing, but a
// compiler does not know.
KERNEL void read_peak(GLOBAL uint *dst, GLOBAL const uint *data, int n) {
	uint a = 0u, b = 0u, c = 0u, d = 0u;
	int each = n / 1024, end = (GROUP(0) + 1) * each;
	for (int i = GROUP(0) * each + ITEM; i + 768 < end; i += 1024) { // 256 items, 4 words
		a ^= data[i];
		b ^= data[i + 256];
		c ^= data[i + 512];
		d ^= data[i + 768];
	}
	if ((a ^ b ^ c ^ d) == 0x5eedu) dst[0] = a;
}

// fma_peak runs n steps of eight chains in each item.
KERNEL void fma_peak(GLOBAL float *dst, int n, float x) {
	float chain[8];
	UNROLL for (int i = 0; i < 8; i++) chain[i] = (float)(ITEM + i);
	for (int k = 0; k < n; k++) {
		UNROLL for (int i = 0; i < 8; i++) chain[i] = fma(chain[i], x, x);
	}
	float sum = 0.0f;
	UNROLL for (int i = 0; i < 8; i++) sum = sum + chain[i];
	if (sum == 12345.0f) dst[0] = sum;
}

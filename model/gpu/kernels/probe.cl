// Single operations, by which a device is probed when it is opened, and kernels are tested.

// probe: dst[i] = operation number op of a[i], b[i] and c[i].
KERNEL void probe(GLOBAL float *dst, GLOBAL const float *a, GLOBAL const float *b,
		GLOBAL const float *c, int n, int op) {
	int i = GROUP(0) * ITEMS + ITEM;
	if (i >= n) return;
	float x = a[i], y = b[i], z = c[i], v = 0.0f;
	switch (op) {
	case 0: v = fma(x, y, z); break;
	case 1: v = x * y; break;
	case 2: v = x + z; break;
	case 3: v = x / y; break;
	case 4: v = sqrt(x); break;
	case 5: v = x * y + z; break; // two roundings
	case 6: v = (float)(int)BITS(x); break;
	case 7: v = from_half((ushort)BITS(x)); break;
	case 8: v = FLOAT((uint)to_half(x)); break;
	case 9: v = exp_(x); break;
	default: v = activation(x, op - 10); break;
	}
	dst[i] = v;
}

#ifdef DOUBLES
// probe_double: the same in float64, of numbers that have all of its digits. dst has the two words
// of the result folded into one.
KERNEL void probe_double(GLOBAL uint *dst, GLOBAL const float *a, GLOBAL const float *b,
		GLOBAL const float *c, int n, int op) {
	int i = GROUP(0) * ITEMS + ITEM;
	if (i >= n) return;
	double x = (double)a[i] * 1.0000000001, y = (double)b[i] * 0.9999999999;
	double z = op == 1 ? (double)c[i] : -(x * y); // what a fused product leaves of the product
	double v = op == 2 ? x + (double)c[i] : FMA64(x, y, z);
	ulong bits = BITS64(v);
	dst[i] = (uint)bits ^ (uint)(bits >> 32);
}
#endif

// activate is activation number a of the floats whose bits are first, first + step, ….
KERNEL void activate(GLOBAL float *dst, uint first, uint step, int n, int a) {
	int i = GROUP(0) * ITEMS + ITEM;
	if (i < n) dst[i] = activation(FLOAT(first + (uint)i * step), a);
}

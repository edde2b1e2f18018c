// The leaves of the variant simd128: float32 chains in a browser, on the memory of the program that
// calls them. WebAssembly has no fused multiply-add, so each step is done in float64, as fma.go does
// it: the product is exact, and the sum, rounded to float32, is right unless it was itself rounded to
// the middle between two float32s, or is below float32's normal numbers. Both are rare. They are noted
// for a whole chain, and the chain is then computed again, by steps that are always right.
//
// There is no stack and no data here: the memory is the caller's. make wasm compiles this file.

#include <wasm_simd128.h>

typedef v128_t v;

// A watch notes what the steps of some chains have met: in seen, sums in the middle between two
// float32s; in least, the least magnitude of a sum. The sum 0 counts as small too.
typedef struct { v seen, least; } watch;

#define FRESH {wasm_i64x2_const(0, 0), wasm_f64x2_const(1, 1)}

static inline v round32(v sums) {
	return wasm_f64x2_promote_low_f32x4(wasm_f32x4_demote_f64x2_zero(sums));
}

// step returns fma(x, w, acc) in two lanes, all of them float32s in float64.
static inline v step(v acc, v x, v w, watch *met) {
	v s = wasm_f64x2_add(wasm_f64x2_mul(x, w), acc);
	v low = wasm_v128_and(s, wasm_i64x2_const(0x1fffffff, 0x1fffffff));
	met->seen = wasm_v128_or(met->seen, wasm_i64x2_eq(low, wasm_i64x2_const(1 << 28, 1 << 28)));
	met->least = wasm_f64x2_pmin(met->least, wasm_f64x2_abs(s));
	return round32(s);
}

// wrong reports whether a step may have been rounded twice.
static inline int wrong(watch met) {
	v small = wasm_f64x2_lt(met.least, wasm_f64x2_const(0x1p-126, 0x1p-126));
	return wasm_v128_any_true(wasm_v128_or(met.seen, small));
}

// fma1 is fma of fma.go, whatever its arguments: Boldo and Melquiond's rounding to odd.
static inline float fma1(float a, float b, float c) {
	double p = (double)a * b, s = p + c, t = s - p, e = (p - (s - t)) + (c - t);
	if (e != 0 && e == e) {
		union { double d; unsigned long long bits; } u = {s};
		if (!(u.bits & 1)) {
			u.bits += (e > 0) == (s > 0) ? 1 : -1;
			s = u.d;
		}
	}
	return s;
}

// pair returns two float32s from memory in float64.
static inline v pair(const float *p) {
	return wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(p));
}

static inline void store(float *p, v low, v high) {
	v a = wasm_f32x4_demote_f64x2_zero(low), b = wasm_f32x4_demote_f64x2_zero(high);
	wasm_v128_store(p, wasm_i64x2_shuffle(a, b, 0, 2));
}

// exact is chain, one column and step after the other.
static void exact(float *y, const float *x, int kx, const float *w, int ldw, int n, int cols) {
	for (int j = 0; j < cols; j++) {
		float acc = y[j];
		for (int k = 0; k < n; k++) acc = fma1(x[k * kx], w[k * ldw + j], acc);
		y[j] = acc;
	}
}

// chain continues cols sums: y[j] = fma(x[k·kx], w[k·ldw+j], y[j]) for each k < n in order.
__attribute__((export_name("chain")))
void chain(float *y, const float *x, int kx, const float *w, int ldw, int n, int cols) {
	int j = 0;
	for (; j + 8 <= cols; j += 8) {
		watch met = FRESH;
		v a = pair(y + j), b = pair(y + j + 2), c = pair(y + j + 4), d = pair(y + j + 6);
		const float *at = w + j, *in = x;
		for (int k = 0; k < n; k++, at += ldw, in += kx) {
			v xk = wasm_f64x2_splat(*in);
			a = step(a, xk, pair(at), &met);
			b = step(b, xk, pair(at + 2), &met);
			c = step(c, xk, pair(at + 4), &met);
			d = step(d, xk, pair(at + 6), &met);
		}
		if (wrong(met)) {
			exact(y + j, x, kx, w + j, ldw, n, 8);
			continue;
		}
		store(y + j, a, b);
		store(y + j + 4, c, d);
	}
	for (; j + 2 <= cols; j += 2) {
		watch met = FRESH;
		v a = pair(y + j);
		for (int k = 0; k < n; k++) a = step(a, wasm_f64x2_splat(x[k * kx]), pair(w + k * ldw + j), &met);
		if (wrong(met)) {
			exact(y + j, x, kx, w + j, ldw, n, 2);
			continue;
		}
		wasm_v128_store64_lane(y + j, wasm_f32x4_demote_f64x2_zero(a), 0);
	}
	exact(y + j, x, kx, w + j, ldw, n, cols - j);
}

// lanes returns the product of x and w, k long, by the tree of eight lanes, each step always right.
static float lanes(const float *x, const float *w, int k) {
	float l0 = 0, l1 = 0, l2 = 0, l3 = 0, l4 = 0, l5 = 0, l6 = 0, l7 = 0;
	for (int n = 0; n < k; n += 8, x += 8, w += 8) {
		int m = k - n;
		l0 = fma1(x[0], w[0], l0);
		if (m > 1) l1 = fma1(x[1], w[1], l1);
		if (m > 2) l2 = fma1(x[2], w[2], l2);
		if (m > 3) l3 = fma1(x[3], w[3], l3);
		if (m > 4) l4 = fma1(x[4], w[4], l4);
		if (m > 5) l5 = fma1(x[5], w[5], l5);
		if (m > 6) l6 = fma1(x[6], w[6], l6);
		if (m > 7) l7 = fma1(x[7], w[7], l7);
	}
	return ((l0 + l1) + (l2 + l3)) + ((l4 + l5) + (l6 + l7));
}

// dot sets dst[j] to the product of x and row j of w, k long: lanes, as doc.go of kernels has them.
__attribute__((export_name("dot")))
void dot(float *dst, const float *x, const float *w, int ldw, int outs, int k) {
	for (int j = 0; j < outs; j++, w += ldw) {
		v zero = wasm_f64x2_const(0, 0), a = zero, b = zero, c = zero, d = zero;
		watch met = FRESH;
		for (int n = 0; n < (k & ~7); n += 8) {
			a = step(a, pair(x + n), pair(w + n), &met);
			b = step(b, pair(x + n + 2), pair(w + n + 2), &met);
			c = step(c, pair(x + n + 4), pair(w + n + 4), &met);
			d = step(d, pair(x + n + 6), pair(w + n + 6), &met);
		}
		if ((k & 7) || wrong(met)) {
			dst[j] = lanes(x, w, k);
			continue;
		}
		v l = wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(a), wasm_f32x4_demote_f64x2_zero(b), 0, 2);
		v h = wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(c), wasm_f32x4_demote_f64x2_zero(d), 0, 2);
		v even = wasm_i32x4_shuffle(l, h, 0, 2, 4, 6), odd = wasm_i32x4_shuffle(l, h, 1, 3, 5, 7);
		v two = wasm_f32x4_add(even, odd); // l0+l1, l2+l3, l4+l5, l6+l7
		dst[j] = (wasm_f32x4_extract_lane(two, 0) + wasm_f32x4_extract_lane(two, 1)) +
			(wasm_f32x4_extract_lane(two, 2) + wasm_f32x4_extract_lane(two, 3));
	}
}

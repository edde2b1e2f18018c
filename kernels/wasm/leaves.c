// The leaves of the variant simd128: float32 chains in a browser, on the memory of the program that
// calls them. WebAssembly has no fused multiply-add, so each step is done in float64, as fma.go does
// it: the product is exact, and the sum, rounded to float32, is right unless it was itself rounded to
// the middle between two float32s, or is below float32's normal numbers. Eight steps are tested at
// once, and where it may be so their sums are rounded to odd, which to round again does no harm (Boldo
// and Melquiond, 2008).
//
// There is no stack and no data here: the memory is the caller's. make wasm compiles this file.

#include <wasm_simd128.h>

typedef v128_t v;

// Eight float32s, in float64.
typedef struct { v a, b, c, d; } eight;

static inline v f64(double x) { return wasm_f64x2_splat(x); }
static inline v plus(v a, v b) { return wasm_f64x2_add(a, b); }
static inline v minus(v a, v b) { return wasm_f64x2_sub(a, b); }
static inline v times(v a, v b) { return wasm_f64x2_mul(a, b); }

// lost returns what a + b = sum has lost: Knuth's TwoSum.
static inline v lost(v a, v b, v sum) {
	v t = minus(sum, a);
	return plus(minus(a, minus(sum, t)), minus(b, t));
}

static inline v round32(v sums) {
	return wasm_f64x2_promote_low_f32x4(wasm_f32x4_demote_f64x2_zero(sums));
}

// toOdd returns s, to which a sum was rounded, rounded to odd instead: e is what it lost, where inexact.
static inline v toOdd(v s, v e, v inexact) {
	v even = wasm_i64x2_eq(wasm_v128_and(s, wasm_i64x2_const(1, 1)), wasm_i64x2_const(0, 0));
	v away = wasm_i64x2_shr(wasm_v128_xor(e, s), 63); // 0, or −1 where e points to 0
	v one = wasm_v128_or(away, wasm_i64x2_const(1, 1));
	return wasm_i64x2_add(s, wasm_v128_and(one, wasm_v128_and(inexact, even)));
}

// doubtful says of which sums the rounding may not be right. 0 is among them.
static inline v doubtful(v s) {
	v low = wasm_v128_and(s, wasm_i64x2_const(0x1fffffff, 0x1fffffff));
	v middle = wasm_i64x2_eq(low, wasm_i64x2_const(1 << 28, 1 << 28));
	return wasm_v128_or(middle, wasm_f64x2_lt(wasm_f64x2_abs(s), f64(0x1p-126)));
}

// odd returns the sum s of p and acc, rounded to odd.
static inline v odd(v p, v acc, v s) {
	v e = lost(p, acc, s);
	return toOdd(s, e, wasm_v128_or(wasm_f64x2_lt(e, f64(0)), wasm_f64x2_gt(e, f64(0)))); // no NaN
}

// step returns fma(x, w, acc).
static inline eight step(eight acc, eight x, eight w) {
	eight p = {times(x.a, w.a), times(x.b, w.b), times(x.c, w.c), times(x.d, w.d)};
	eight s = {plus(p.a, acc.a), plus(p.b, acc.b), plus(p.c, acc.c), plus(p.d, acc.d)};
	v any = wasm_v128_or(wasm_v128_or(doubtful(s.a), doubtful(s.b)),
		wasm_v128_or(doubtful(s.c), doubtful(s.d)));
	if (__builtin_expect(wasm_v128_any_true(any), 0))
		s = (eight){odd(p.a, acc.a, s.a), odd(p.b, acc.b, s.b), odd(p.c, acc.c, s.c),
			odd(p.d, acc.d, s.d)};
	return (eight){round32(s.a), round32(s.b), round32(s.c), round32(s.d)};
}

// pair returns two float32s from memory in float64, load and store eight.
static inline v pair(const float *p) {
	return wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(p));
}

static inline eight load(const float *p) {
	return (eight){pair(p), pair(p + 2), pair(p + 4), pair(p + 6)};
}

static inline v four(v low, v high) {
	v a = wasm_f32x4_demote_f64x2_zero(low), b = wasm_f32x4_demote_f64x2_zero(high);
	return wasm_i64x2_shuffle(a, b, 0, 2);
}

// chain continues cols sums: y[j] = fma(x[k·kx], w[k·ldw+j], y[j]) for each k < n in order. cols is a
// multiple of 8.
__attribute__((export_name("chain")))
void chain(float *y, const float *x, int kx, const float *w, int ldw, int n, int cols) {
	for (int j = 0; j < cols; j += 8) {
		eight sums = load(y + j);
		const float *in = x, *at = w + j;
		for (int k = 0; k < n; k++, in += kx, at += ldw) {
			v xk = wasm_f64x2_splat(*in);
			sums = step(sums, (eight){xk, xk, xk, xk}, load(at));
		}
		wasm_v128_store(y + j, four(sums.a, sums.b));
		wasm_v128_store(y + j + 4, four(sums.c, sums.d));
	}
}

// tree adds eight lanes as reduce of leaf.go does.
static inline float tree(eight l) {
	v low = four(l.a, l.b), high = four(l.c, l.d);
	v two = wasm_f32x4_add(wasm_i32x4_shuffle(low, high, 0, 2, 4, 6),
		wasm_i32x4_shuffle(low, high, 1, 3, 5, 7)); // l0+l1, l2+l3, l4+l5, l6+l7
	return (wasm_f32x4_extract_lane(two, 0) + wasm_f32x4_extract_lane(two, 1)) +
		(wasm_f32x4_extract_lane(two, 2) + wasm_f32x4_extract_lane(two, 3));
}

// dot sets dst[j] to the product of x and row j of w, k long, a multiple of 8: lanes, as doc.go of
// kernels has them. Two rows at a time: the steps of one need not wait for those of the other.
__attribute__((export_name("dot")))
void dot(float *dst, const float *x, const float *w, int ldw, int outs, int k) {
	for (int j = 0; j < outs; j += 2, w += 2 * ldw) {
		int more = j + 1 < outs;
		eight l = {f64(0), f64(0), f64(0), f64(0)}, l2 = l;
		for (int n = 0; n < k; n += 8) {
			eight xn = load(x + n);
			l = step(l, xn, load(w + n));
			l2 = step(l2, xn, load(w + more * ldw + n));
		}
		dst[j] = tree(l);
		dst[j + more] = tree(l2);
	}
}

// The exponential in float64 is Exp64 of logsumexp.go, two at a time, operation for operation.

// fma2 returns a·b + c, rounded once, where nothing overflows and no part of a product is subnormal:
// Dekker's product, and a sum of three by rounding to odd (Boldo and Melquiond).
static inline v fma2(v a, v b, v c) {
	v ta = times(a, f64(134217729)), tb = times(b, f64(134217729)); // 2²⁷ + 1
	v ah = minus(ta, minus(ta, a)), bh = minus(tb, minus(tb, b)), al = minus(a, ah), bl = minus(b, bh);
	v p = times(a, b);
	v e = plus(plus(plus(minus(times(ah, bh), p), times(ah, bl)), times(al, bh)), times(al, bl));
	v u = plus(c, e), ul = lost(c, e, u), t = plus(p, u), tl = lost(p, u, t);
	v s = plus(tl, ul), rest = lost(tl, ul, s);
	return plus(t, toOdd(s, rest, wasm_f64x2_ne(rest, f64(0))));
}

static inline v exp2lanes(v x) {
	const double round = 6755399441055744.0, series[] = {1.0 / 479001600, 1.0 / 39916800,
		1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6,
		1.0 / 2};
	v t = fma2(x, f64(1.4426950408889634), f64(round)), n = minus(t, f64(round));
	v r = fma2(n, f64(-1.9082149292705877e-10), fma2(n, f64(-0.6931471803691238), x));
	v q = f64(1.0 / 6227020800);
#pragma clang loop unroll(full)
	for (int i = 0; i < 11; i++) q = fma2(q, r, f64(series[i]));
	v p = plus(fma2(q, times(r, r), r), f64(1));
	v y = wasm_i64x2_add(p, wasm_i64x2_shl(t, 52));
	y = wasm_v128_bitselect(f64(__builtin_inf()), y, wasm_f64x2_gt(x, f64(709.782712893384)));
	y = wasm_v128_andnot(y, wasm_f64x2_lt(x, f64(-708.3964185322641)));
	return wasm_v128_bitselect(y, x, wasm_f64x2_eq(x, x));
}

// sumexp adds exp(x[i] − max) to lanes[i mod 8], for n numbers, a multiple of 8.
__attribute__((export_name("sumexp")))
void sumexp(double *lanes, const float *x, int n, double max) {
	for (int j = 0; j < 8; j += 2) {
		v sum = wasm_v128_load(lanes + j);
		for (int i = j; i < n; i += 8) sum = plus(sum, exp2lanes(minus(pair(x + i), f64(max))));
		wasm_v128_store(lanes + j, sum);
	}
}

// exps sets y to exp((x − max)/by), for n numbers, a multiple of 2.
__attribute__((export_name("exps")))
void exps(double *y, const double *x, int n, double max, double by) {
	for (int i = 0; i < n; i += 2)
		wasm_v128_store(y + i, exp2lanes(wasm_f64x2_div(minus(wasm_v128_load(x + i), f64(max)), f64(by))));
}

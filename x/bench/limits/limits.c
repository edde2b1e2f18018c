// The machine's limits in C, to hold `gpt bench` against: how fast threads read memory, and how fast they multiply and add.
//
//	cc -O3 -march=native -pthread limits.c -o limits && ./limits 2
//
// It prints two numbers under the names that gpt bench --json gives them in "limits", each the best of several runs, and what
// 256-bit registers reach: fma_gflops is with the widest registers that the processor has. int16_gops is for the products of 16-bit
// integers that Q8 and Q4 are made of, a product and its addition being two operations: 0 where there is no AVX-512 VNNI.

#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 1 << 29, ITERATIONS = 4000000, RUNS = 10, MAX_THREADS = 256 };

static char *memory;
static int threads;
static volatile float sink;

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

// Each thread reads a share once, as four streams: one stream gets a fifth to a third less.
static void *read_share(void *arg) {
	size_t share = BYTES / threads, quarter = share / 4;
	const char *p = memory + (size_t)(intptr_t)arg * share;
	__m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
	for (const char *end = p + quarter; p < end; p += 64) {
		for (int half = 0; half < 64; half += 32) {
			a = _mm256_add_epi64(a, _mm256_loadu_si256((const __m256i *)(p + half)));
			b = _mm256_add_epi64(b, _mm256_loadu_si256((const __m256i *)(p + quarter + half)));
			c = _mm256_add_epi64(c, _mm256_loadu_si256((const __m256i *)(p + 2 * quarter + half)));
			d = _mm256_add_epi64(d, _mm256_loadu_si256((const __m256i *)(p + 3 * quarter + half)));
		}
	}
	a = _mm256_add_epi64(_mm256_add_epi64(a, b), _mm256_add_epi64(c, d));
	sink += (float)_mm256_extract_epi64(a, 0) + (float)_mm256_extract_epi64(a, 3);
	return NULL;
}

// Twelve independent chains keep two FMA units of latency four or five busy, 8 or 16 lanes wide.
#define FMA_SHARE(name, type, set1, fmadd, add, first)                            \
	static void *name(void *arg) {                                                \
		type x[12], m = set1(0.5f), one = set1(1 + (float)(intptr_t)arg);         \
		for (int i = 0; i < 12; i++) x[i] = set1((float)i);                       \
		for (int n = 0; n < ITERATIONS; n++)                                      \
			for (int i = 0; i < 12; i++) x[i] = fmadd(x[i], m, one);              \
		for (int i = 1; i < 12; i++) x[0] = add(x[0], x[i]);                      \
		sink += first(x[0]);                                                      \
		return NULL;                                                              \
	}

FMA_SHARE(fma_256, __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_cvtss_f32)
#ifdef __AVX512F__
FMA_SHARE(fma_512, __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_cvtss_f32)
#endif

#ifdef __AVX512VNNI__
static void *int16_512(void *arg) {
	__m512i x[12], m = _mm512_set1_epi16(3), one = _mm512_set1_epi16(1 + (short)(intptr_t)arg);
	for (int i = 0; i < 12; i++) x[i] = _mm512_set1_epi32(i);
	for (int n = 0; n < ITERATIONS; n++)
		for (int i = 0; i < 12; i++) x[i] = _mm512_dpwssd_epi32(x[i], m, one);
	for (int i = 1; i < 12; i++) x[0] = _mm512_add_epi32(x[0], x[i]);
	sink += (float)_mm512_reduce_add_epi32(x[0]);
	return NULL;
}
#endif

static double best(void *(*share)(void *)) {
	double least = 1e9;
	for (int run = 0; run < RUNS; run++) {
		pthread_t ids[MAX_THREADS];
		double start = now();
		for (int i = 1; i < threads; i++) pthread_create(&ids[i], NULL, share, (void *)(intptr_t)i);
		share(0);
		for (int i = 1; i < threads; i++) pthread_join(ids[i], NULL);
		double took = now() - start;
		if (took < least) least = took;
	}
	return least;
}

int main(int argc, char **argv) {
	threads = argc > 1 ? atoi(argv[1]) : 1;
	if (threads < 1 || threads > MAX_THREADS) return 2;
	memory = aligned_alloc(4096, BYTES);
	memset(memory, 1, BYTES);
	double read = BYTES / best(read_share);
	double fma256 = 2.0 * 8 * 12 * ITERATIONS * threads / best(fma_256), fma = fma256;
#ifdef __AVX512F__
	double fma512 = 2.0 * 16 * 12 * ITERATIONS * threads / best(fma_512);
	if (fma512 > fma) fma = fma512;
#endif
	double int16 = 0;
#ifdef __AVX512VNNI__
	int16 = 2.0 * 32 * 12 * ITERATIONS * threads / best(int16_512);
#endif
	printf("{\"threads\":%d,\"read_gbps\":%.1f,\"fma_gflops\":%.1f,\"fma_gflops_256\":%.1f,\"int16_gops\":%.1f}\n",
		threads, read / 1e9, fma / 1e9, fma256 / 1e9, int16 / 1e9);
	return 0;
}

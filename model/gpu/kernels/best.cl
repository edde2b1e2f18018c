// The best of a row of logits: what the host has to know of it where its greatest logits decide,
// which is far less than a vocabulary of numbers.
//
// A row is cut into runs of up to 64 logits: of each chunk of 2048, run r has the logits r, r + 32,
// r + 64, …. The k runs with the greatest maxima hold every logit that is greater than the maximum
// of the run after them. So the host gets these runs and that maximum, and the sum of exponentials.

#define CHUNK 2048
#define RUNS 32      // of a chunk
#define RUN 64       // logits of a run
#define MOST_RUNS 4096 // of a row: a vocabulary of 262,144

// What a row has in best, as words of 32 bits.
#define BEST_SUM 0      // of exp(logit − greatest), in float64: two words
#define BEST_GREATEST 2 // logit; +Inf where one is not finite
#define BEST_NEXT 3     // the maximum of the run after the k
#define BEST_RUN 4      // k times the number of a run, and its 64 logits
#define BEST_WORDS(k) (BEST_RUN + (k) * (1 + RUN))

// best_maxima: maxima [rows, runs] of the runs, +Inf of one that has what is not finite. Group
// (chunk, row) of 256 items.
KERNEL void best_maxima(GLOBAL float *maxima, GLOBAL const float *logits, int vocab, int runs) {
	SHARED float of[256];
	int first = GROUP(0) * CHUNK, end = min_(first + CHUNK, vocab);
	logits += (ulong)GROUP(1) * vocab, maxima += (ulong)GROUP(1) * runs;
	float most = -INFINITE;
	float x[CHUNK / 256];
	UNROLL for (int i = 0; i < CHUNK / 256; i++) // past the end, the last logit
		x[i] = logits[min_(first + i * 256 + ITEM, end - 1)];
	UNROLL for (int i = 0; i < CHUNK / 256; i++) {
		if ((BITS(x[i]) & 0x7f800000u) == 0x7f800000u) x[i] = INFINITE;
		if (first + i * 256 + ITEM < end) most = x[i] > most ? x[i] : most;
	}
	of[ITEM] = most;
	BARRIER;
	if (ITEM >= RUNS) return;
	UNROLL for (int i = 0; i < 256 / RUNS; i++) x[i] = of[i * RUNS + ITEM];
	UNROLL for (int i = 0; i < 256 / RUNS; i++) most = x[i] > most ? x[i] : most;
	maxima[GROUP(0) * RUNS + ITEM] = most;
}

// best_runs ranks the runs by their maxima, of equal ones the first first, and copies the k first.
// Group (chunk, row) of 256 items: eight for each of its runs.
KERNEL void best_runs(GLOBAL uint *best, GLOBAL const float *maxima, GLOBAL const float *logits,
		int vocab, int runs, int k) {
	SHARED float all[MOST_RUNS];
	SHARED int before[256]; // how many runs of an eighth come before
	SHARED int rank[RUNS];
	int first = GROUP(0) * CHUNK, r = ITEM % RUNS, run = GROUP(0) * RUNS + r;
	logits += (ulong)GROUP(1) * vocab, maxima += (ulong)GROUP(1) * runs;
	best += (ulong)GROUP(1) * BEST_WORDS(k);
	for (int i = ITEM; i < runs; i += 8 * 256) { // past the end, the last run again
		float v[8];
		UNROLL for (int j = 0; j < 8; j++) v[j] = maxima[min_(i + j * 256, runs - 1)];
		UNROLL for (int j = 0; j < 8; j++)
			if (i + j * 256 < runs) all[i + j * 256] = v[j];
	}
	BARRIER;
	float x = all[run];
	int n = 0;
	for (int i = ITEM / RUNS; i < runs; i += 8 * 8) { // likewise
		float v[8];
		UNROLL for (int j = 0; j < 8; j++) v[j] = all[min_(i + j * 8, runs - 1)];
		UNROLL for (int j = 0; j < 8; j++)
			n += (i + j * 8 < runs) & ((v[j] > x) | ((v[j] == x) & (i + j * 8 < run)));
	}
	before[ITEM] = n;
	BARRIER;
	if (ITEM < RUNS) {
		int of[256 / RUNS];
		UNROLL for (int i = 1; i < 256 / RUNS; i++) of[i] = before[i * RUNS + ITEM];
		UNROLL for (int i = 1; i < 256 / RUNS; i++) n += of[i];
		rank[ITEM] = n;
		if (n == 0) best[BEST_GREATEST] = BITS(x);
		if (n == k) best[BEST_NEXT] = BITS(x);
		if (n < k) best[BEST_RUN + n * (1 + RUN)] = (uint)run;
	}
	BARRIER;
	if (rank[r] >= k) return;
	best += BEST_RUN + rank[r] * (1 + RUN) + 1;
	float v[RUN / 8];
	UNROLL for (int i = 0; i < RUN / 8; i++)
		v[i] = logits[min_(first + r + (i * 8 + ITEM / RUNS) * RUNS, vocab - 1)];
	UNROLL for (int i = 0; i < RUN / 8; i++) {
		int at = i * 8 + ITEM / RUNS;
		best[at] = first + r + at * RUNS < vocab ? BITS(v[i]) : BITS(-INFINITE);
	}
}

#ifdef DOUBLES
// exp64 is Exp64 of kernels/logsumexp.go, for x of 0 or less.
FUNCTION double exp64(double x) {
	double t = FMA64(x, 1.4426950408889634, 6755399441055744.0);
	double n = t - 6755399441055744.0;
	double r = FMA64(n, -1.9082149292705877e-10, FMA64(n, -0.6931471803691238, x));
	double q = FMA64(1.0 / 6227020800.0, r, 1.0 / 479001600.0);
	q = FMA64(q, r, 1.0 / 39916800.0);
	q = FMA64(q, r, 1.0 / 3628800.0);
	q = FMA64(q, r, 1.0 / 362880.0);
	q = FMA64(q, r, 1.0 / 40320.0);
	q = FMA64(q, r, 1.0 / 5040.0);
	q = FMA64(q, r, 1.0 / 720.0);
	q = FMA64(q, r, 1.0 / 120.0);
	q = FMA64(q, r, 1.0 / 24.0);
	q = FMA64(q, r, 1.0 / 6.0);
	q = FMA64(q, r, 0.5);
	double p = FMA64(q, r * r, r) + 1.0;
	double y = DOUBLE(BITS64(p) + (BITS64(t) << 52)); // p·2ⁿ
	return x < -708.3964185322641 ? 0.0 : y;
}

// best_terms: terms [rows, chunks·2048] = exp(logit − greatest), and 0 after the last logit. Group
// (chunk, row) of 256 items.
KERNEL void best_terms(GLOBAL double *terms, GLOBAL const float *maxima,
		GLOBAL const float *logits, int vocab, int runs) {
	SHARED float of[256];
	int first = GROUP(0) * CHUNK;
	logits += (ulong)GROUP(1) * vocab, maxima += (ulong)GROUP(1) * runs;
	terms += (ulong)GROUP(1) * (runs * RUN);
	float most = -INFINITE;
	for (int i = ITEM; i < runs; i += 8 * 256) { // past the end, the last run again
		float v[8];
		UNROLL for (int j = 0; j < 8; j++) v[j] = maxima[min_(i + j * 256, runs - 1)];
		UNROLL for (int j = 0; j < 8; j++) most = v[j] > most ? v[j] : most;
	}
	of[ITEM] = most;
	BARRIER;
	for (int i = 0; i < 256; i += 16) {
#define FETCH(n) float v##n = of[i + n];
#define ADD(n) most = v##n > most ? v##n : most;
		EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
#undef ADD
	}
	float x[CHUNK / 256];
	UNROLL for (int i = 0; i < CHUNK / 256; i++) // past the end, the last logit
		x[i] = logits[min_(first + i * 256 + ITEM, vocab - 1)];
	UNROLL for (int i = 0; i < CHUNK / 256; i++) {
		int id = first + i * 256 + ITEM;
		terms[id] = id < vocab ? exp64((double)x[i] - (double)most) : 0.0;
	}
}

// best_sum adds a row's terms up, in lanes. Group (row) of 256 items: all fetch a chunk while eight
// add up the one before.
KERNEL void best_sum(GLOBAL uint *best, GLOBAL const double *terms, int runs, int k) {
	SHARED double slab[CHUNK];
	double next[CHUNK / 256], lane = 0.0;
	best += (ulong)GROUP(0) * BEST_WORDS(k), terms += (ulong)GROUP(0) * (runs * RUN);
	UNROLL for (int i = 0; i < CHUNK / 256; i++) next[i] = terms[i * 256 + ITEM];
	for (int first = CHUNK; first <= runs * RUN; first += CHUNK) {
		BARRIER;
		UNROLL for (int i = 0; i < CHUNK / 256; i++) slab[i * 256 + ITEM] = next[i];
		BARRIER;
		if (first < runs * RUN)
			UNROLL for (int i = 0; i < CHUNK / 256; i++) next[i] = terms[first + i * 256 + ITEM];
		if (ITEM < 8)
			for (int i = ITEM; i < ITEM + CHUNK; i += 8 * 16) {
#define FETCH(n) double v##n = slab[i + 8 * n];
#define ADD(n) lane = lane + v##n;
				EACH_16(FETCH) EACH_16(ADD)
#undef FETCH
#undef ADD
			}
	}
	if (ITEM < 8) slab[ITEM] = lane; // where only this item has read
	BARRIER;
	if (ITEM > 0) return;
	ulong sum = BITS64(TREE(slab));
	best[BEST_SUM] = (uint)sum, best[BEST_SUM + 1] = (uint)(sum >> 32);
}
#endif

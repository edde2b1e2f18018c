// The last block of a pass of which few rows are read.

// take_rows takes rows of norm [rows, n] and of x [rows, n]: those that the plan lists from list
// on, count of them. to is [2, count, n]. A group is a row.
KERNEL void take_rows(GLOBAL float *to, GLOBAL const float *norm, GLOBAL const float *x,
		GLOBAL const int *plan, int list, int count, int n) {
	ulong from = (ulong)plan[list + GROUP(0)] * n, at = (ulong)GROUP(0) * n;
	for (int i = ITEM; i < n; i += STRIP * ITEMS) {
		float u[STRIP], v[STRIP];
		UNROLL for (int j = 0; j < STRIP; j++)
			u[j] = norm[from + AT(i, j, n)], v[j] = x[from + AT(i, j, n)];
		UNROLL for (int j = 0; j < STRIP; j++)
			if (i + j * ITEMS < n) {
				to[at + i + j * ITEMS] = u[j];
				to[at + (ulong)count * n + i + j * ITEMS] = v[j];
			}
	}
}

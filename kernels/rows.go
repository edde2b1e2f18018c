package kernels

// Operations on whole rows, split over the workers.

// LayerNorm sets each of dst's rows to the normalized row of x: (x − mean)/√(variance + eps)·gain +
// bias, with the mean squared deviation as variance. dst and x are [rows, len(gain)] and may be the
// same. It ends with a barrier.
func LayerNorm(w *Worker, dst, x []float32, rows int, gain, bias []float32, eps float32) {
	n := len(gain)
	for i := w.Next(); i < rows; i = w.Next() {
		w.team.variant.layerNorm(dst[i*n:(i+1)*n], x[i*n:(i+1)*n], gain, bias, eps)
	}
	w.Sync()
}

// AddLayerNorm adds sum to x, and then is LayerNorm of x. It needs one barrier less than both
// calls.
func AddLayerNorm(w *Worker, dst, x, sum []float32, rows int, gain, bias []float32, eps float32) {
	n, v := len(gain), w.team.variant
	for i := w.Next(); i < rows; i = w.Next() {
		v.add(x[i*n:(i+1)*n], sum[i*n:(i+1)*n])
		v.layerNorm(dst[i*n:(i+1)*n], x[i*n:(i+1)*n], gain, bias, eps)
	}
	w.Sync()
}

// Activate applies an activation to each element of x in place. It ends with a barrier.
func Activate(w *Worker, x []float32, a Activation) {
	each := w.share(len(x), 8, elementsPerTask)
	for i := w.Next() * each; i < len(x); i = w.Next() * each {
		w.team.variant.activate(x[i:min(i+each, len(x))], a)
	}
	w.Sync()
}

// Add adds x to dst, element by element. It ends with a barrier.
func Add(w *Worker, dst, x []float32) {
	each := w.share(len(dst), 8, elementsPerTask)
	for i := w.Next() * each; i < len(dst); i = w.Next() * each {
		end := min(i+each, len(dst))
		w.team.variant.add(dst[i:end], x[i:end])
	}
	w.Sync()
}

// elementsPerTask is so large that a task of cheap arithmetic takes longer than fetching it.
const elementsPerTask = 8192

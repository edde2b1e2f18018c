package kernels

func linearQuant(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) { panic("q") }

func (m *Matrix) quantRow(dst []float32, i int) { panic("q") }

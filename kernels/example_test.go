package kernels_test

import (
	"fmt"
	"log"

	"picogpt/kernels"
)

// A linear layer, a norm and an activation on all workers. Each call is for all of them together,
// and ends when they are done.
func Example() {
	team, err := kernels.NewTeam(0, "") // a worker for each processor, the fastest variant
	if err != nil {
		log.Fatal(err)
	}
	defer team.Close()
	const rows, in, out = 2, 3, 2
	m := kernels.Matrix{Format: kernels.F32, Layout: kernels.InOut, In: in, Out: out,
		F32: []float32{1, 2, 3, 4, 5, 6}} // [in, out]
	x := []float32{1, 0, -1, 0.5, 0.5, 0.5} // [rows, in]
	y := make([]float32, rows*out)
	team.Run(func(w *kernels.Worker) {
		kernels.Linear(w, y, x, rows, &m, []float32{1, 1})
		kernels.Activate(w, y, kernels.ReLU)
	})
	fmt.Println(y)
	// Output: [0 0 5.5 7]
}

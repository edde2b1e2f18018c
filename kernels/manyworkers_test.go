package kernels

// Barriers and task counters among more workers than processors: what a machine of 16, 64 or 128
// cores does, on two.

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

// Every task is given once, and no worker passes a barrier before all tasks are done.
func TestManyWorkersShareTasks(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, workers := range []int{16, 64, 128} {
		for _, tasks := range []int{1, workers - 1, 3*workers + 1} {
			const operations = 20
			given := make([][]int32, operations) // the race detector sees a task given twice
			var done [operations]atomic.Int32
			for o := range given {
				given[o] = make([]int32, tasks)
			}
			newTeam(t, workers, "").Run(func(w *Worker) {
				for o := range operations {
					for i := w.Next(); i < tasks; i = w.Next() {
						given[o][i]++
						done[o].Add(1)
					}
					w.Sync()
					if n := done[o].Load(); int(n) != tasks {
						t.Errorf("%d workers, %d tasks: %d done at barrier %d", workers, tasks, n, o)
					}
				}
			})
			for o := range given {
				for i, n := range given[o] {
					if n != 1 {
						t.Errorf("%d workers: task %d of %d, operation %d, was given %d times", workers, i,
							tasks, o, n)
					}
				}
			}
		}
	}
}

// BenchmarkBarrierOfMany is the time of a barrier, and of an operation with four tasks for each
// worker. Oversubscribed, it is the time to run each worker once; on a machine with as many
// processors it is that of the cache lines that the workers exchange.
func BenchmarkBarrierOfMany(b *testing.B) {
	for _, workers := range []int{16, 64, 128} {
		for _, each := range []int{0, 4} {
			b.Run(fmt.Sprintf("workers=%d/tasks=%d", workers, each*workers), func(b *testing.B) {
				team := newTeam(b, workers, "")
				b.ResetTimer()
				team.Run(func(w *Worker) {
					for range b.N {
						for i := w.Next(); i < each*workers; i = w.Next() {
						}
						w.Sync()
					}
				})
			})
		}
	}
}

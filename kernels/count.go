package kernels

// Counting the tasks of operations, for tests of how many workers an operation can use.

import (
	"runtime"
	"strings"
)

// Count makes later Runs call f at each barrier, on one of the workers, with the name of the
// function that ended with it and the number of tasks that the workers have taken since the
// previous barrier. Count(nil) ends that. Count must not be called during a Run.
func (t *Team) Count(f func(operation string, tasks int)) { t.count = f }

// tally counts the tasks when all workers have reached the barrier. Each worker has asked for one
// task more than there were, if there were any.
func (t *Team) tally() {
	const callers = 3 // tally, Sync, and the caller of Sync
	name := "Run"
	if pc, _, _, ok := runtime.Caller(callers - 1); ok {
		name = runtime.FuncForPC(pc).Name()
		name = name[strings.LastIndex(name, "/")+1:]
	}
	t.count(name, max(0, int(t.task.Load())-len(t.workers)))
}

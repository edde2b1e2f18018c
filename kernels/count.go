package kernels

// What an operation shares out: for tests of how many workers it feeds.

import (
	"runtime"
	"strings"
)

// Count makes later Runs call f at each barrier, on one of the workers, with the name of the
// function that ended with it and the number of tasks that the workers have taken since the barrier
// before. A nil f ends that. Count must not be called during a Run.
func (t *Team) Count(f func(operation string, tasks int)) { t.count = f }

// tally counts for the barrier that all workers have come to. Each has asked for a task once more
// than there were, if there were any.
func (t *Team) tally() {
	const callers = 3 // tally, Sync, and who called it
	name := "Run"
	if pc, _, _, ok := runtime.Caller(callers - 1); ok {
		name = runtime.FuncForPC(pc).Name()
		name = name[strings.LastIndex(name, "/")+1:]
	}
	t.count(name, max(0, int(t.task.Load())-len(t.workers)))
}

// Package watchdog ends tests that hang, or whose work grows out of all bounds. It decides nothing:
// no machine is so busy that what takes seconds takes as long as it waits.
package watchdog

import (
	"fmt"
	"testing"
	"time"
)

// Wait is how long a test may take for one thing.
const Wait = 3 * time.Minute

// Start ends the program with all stacks, unless stop is called, or the test ends, within Wait.
func Start(t testing.TB, format string, args ...any) (stop func()) {
	name := t.Name()
	timer := time.AfterFunc(Wait, func() {
		panic(fmt.Sprintf("%s: not done after %v: %s", name, Wait, fmt.Sprintf(format, args...)))
	})
	t.Cleanup(func() { timer.Stop() })
	return func() { timer.Stop() }
}

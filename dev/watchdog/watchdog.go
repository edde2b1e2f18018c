// Package watchdog ends tests that hang, or whose work grows without bound. It does not decide
// whether a test passes: on no machine does work of seconds take as long as Wait.
package watchdog

import (
	"fmt"
	"testing"
	"time"
)

// Wait is the longest time that a test may take for one thing.
const Wait = 3 * time.Minute

// Start ends the program with all stacks, unless stop is called or the test ends within Wait.
func Start(t testing.TB, format string, args ...any) (stop func()) {
	name := t.Name()
	timer := time.AfterFunc(Wait, func() {
		panic(fmt.Sprintf("%s: not done after %v: %s", name, Wait, fmt.Sprintf(format, args...)))
	})
	t.Cleanup(func() { timer.Stop() })
	return func() { timer.Stop() }
}

package turns

// The order in which forms are compiled, by counts of pauses.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// A compiling counts the pauses of forms in the turns.
type compiling struct {
	*testing.T
	q     *Turns
	mu    sync.Mutex
	total int      // pauses of all forms
	ended []string // the forms in the order in which they ended
	begun map[string]bool
	most  int // the most forms in progress at a time, after the first pauses
}

// compile computes a form of so many pauses in a goroutine.
func (c *compiling) compile(client, form string, bytes, pauses int) {
	go func() {
		t, err := c.q.Enter(c.Context(), client, bytes)
		if err != nil {
			c.Error(err)
			return
		}
		defer c.q.Leave(t)
		for i := range pauses {
			if err := c.q.Pause(c.Context(), t); err != nil {
				c.Error(err)
			}
			c.mu.Lock()
			if c.total++; i == levels[0] {
				c.begun[form] = true
				c.most = max(c.most, len(c.begun))
			}
			c.mu.Unlock()
		}
		c.mu.Lock()
		delete(c.begun, form)
		c.ended = append(c.ended, form)
		c.mu.Unlock()
	}()
}

// inTurns runs f, waits until all forms have been compiled, and checks that nothing is left.
func inTurns(t *testing.T, f func(c *compiling)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &compiling{T: t, q: New(), begun: map[string]bool{}}
		f(c)
		synctest.Wait()
		q := c.q
		if len(q.clients) > 0 || len(q.waiting) > 0 || q.running != nil ||
			slices.ContainsFunc(q.under[:], func(under []*Turn) bool { return len(under) > 0 }) {
			t.Errorf("left: %+v", q)
		}
	})
}

// hold keeps a turn until release is called, so that a test can set the order of arrival.
func (c *compiling) hold() (release func()) {
	t, err := c.q.Enter(c.Context(), "the test", 0)
	if err != nil {
		c.Fatal(err)
	}
	return func() { c.q.Leave(t) }
}

// TestAShortFormOvertakesLongOnes, of any client and any number.
func TestAShortFormOvertakesLongOnes(t *testing.T) {
	for _, client := range []string{"a", "b"} {
		inTurns(t, func(c *compiling) {
			release := c.hold()
			for i := range 50 {
				c.compile("a", fmt.Sprintf("long %d", i), 5000, 2000)
				synctest.Wait()
			}
			c.compile(client, "short", 6, 0)
			synctest.Wait()
			release()
			synctest.Wait()
			if c.ended[0] != "short" {
				t.Errorf("%s: %q came before the short one", client, c.ended[0])
			}
		})
	}
}

// TestAFormWaitsForAPauseOnly: a form that arrives while a long one computes has its turn at the
// next pause of that.
func TestAFormWaitsForAPauseOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, ctx := New(), t.Context()
		long, err := q.Enter(ctx, "a", 5000)
		if err != nil {
			t.Fatal(err)
		}
		for range 5000 {
			if err := q.Pause(ctx, long); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 3 * afterShort {
			computed := false
			go func() {
				short, err := q.Enter(ctx, "b", 6)
				if err != nil {
					t.Error(err)
					return
				}
				computed = true
				q.Leave(short)
			}()
			synctest.Wait()
			pauses := 0
			for ; !computed && pauses <= slice; pauses++ {
				q.Pause(ctx, long)
				synctest.Wait()
			}
			if most := 1; pauses > most && i%afterShort > 0 || pauses > slice {
				t.Errorf("short form %d waited for %d pauses of the long one", i, pauses)
			}
		}
		q.Leave(long)
	})
}

// TestLongFormsAreUnderWayOneByOne: waiting forms hold little memory.
func TestLongFormsAreUnderWayOneByOne(t *testing.T) {
	inTurns(t, func(c *compiling) {
		for i := range 40 {
			c.compile(fmt.Sprint(i%3), fmt.Sprint(i), 1000, 700+i)
		}
		synctest.Wait()
		if len(c.ended) != 40 || c.most > 4 {
			t.Errorf("%d of 40 forms were compiled, up to %d at a time; want 4 at most", len(c.ended),
				c.most)
		}
	})
}

// TestTheClientWithTheFewestGoesFirst: a client with many forms does not precede one with one form.
func TestTheClientWithTheFewestGoesFirst(t *testing.T) {
	for _, pauses := range []int{1, 30, 1000} {
		inTurns(t, func(c *compiling) {
			release := c.hold()
			for i := range 20 {
				c.compile("many", fmt.Sprint("many ", i), 100, pauses)
				synctest.Wait()
			}
			c.compile("one", "one", 100, pauses)
			synctest.Wait()
			release()
			synctest.Wait()
			if at := slices.Index(c.ended, "one"); at < 0 || at > 2 {
				t.Errorf("%d pauses: the form of the other client was number %d", pauses, at)
			}
		})
	}
}

// TestShortFormsDoNotStopALongOne: the long form has its share of the time, however many they are.
func TestShortFormsDoNotStopALongOne(t *testing.T) {
	inTurns(t, func(c *compiling) {
		release := c.hold()
		c.compile("a", "long", 5000, 200)
		synctest.Wait()
		for i := range 1000 {
			c.compile("b", fmt.Sprint("short ", i), 6, 0)
		}
		synctest.Wait()
		release()
		synctest.Wait()
		if at := slices.Index(c.ended, "long"); at < 0 || at > 1000/2 {
			t.Errorf("%d of 1000 short forms went first", at)
		}
	})
}

// TestWhoHasLeftDoesNotWait: a form whose request has ended gives up its place, whatever its state.
func TestWhoHasLeftDoesNotWait(t *testing.T) {
	inTurns(t, func(c *compiling) {
		release := c.hold()
		ctx, cancel := context.WithCancel(c.Context())
		var left atomic.Int32
		for range 5 {
			go func() {
				if _, err := c.q.Enter(ctx, "a", 1); !errors.Is(err, context.Canceled) {
					t.Errorf("%v, want %v", err, context.Canceled)
				}
				left.Add(1)
			}()
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		if left.Load() != 5 || len(c.q.waiting) != 0 {
			t.Errorf("%d of 5 left, %d wait", left.Load(), len(c.q.waiting))
		}
		go func() {
			turn, err := c.q.Enter(c.Context(), "a", 1)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.q.Leave(turn)
			ended, cancel := context.WithCancel(c.Context())
			cancel()
			if err := c.q.Pause(ended, turn); !errors.Is(err, context.Canceled) {
				t.Errorf("at a pause: %v", err)
			}
		}()
		c.compile("b", "another", 1, 10)
		synctest.Wait()
		release()
	})
}

// TestShortFormsRunBesideWhatCannotPause, and no others do.
func TestShortFormsRunBesideWhatCannotPause(t *testing.T) {
	for _, before := range []int{0, levels[0] + 3} {
		inTurns(t, func(c *compiling) {
			parsed := make(chan bool)
			go func() {
				turn, err := c.q.Enter(c.Context(), "a", 1000)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.q.Leave(turn)
				for range before {
					if err := c.q.Pause(c.Context(), turn); err != nil {
						t.Error(err)
					}
				}
				if err := c.q.Aside(c.Context(), turn, func() { <-parsed }); err != nil {
					t.Error(err)
				}
				if c.q.running != turn {
					t.Error("another form has the turn")
				}
			}()
			synctest.Wait()
			c.compile("b", "long", 1000, 100)
			c.compile("c", "short", 6, 1)
			synctest.Wait()
			if !slices.Equal(c.ended, []string{"short"}) || c.total != levels[0] {
				t.Errorf("after %d pauses %q are compiled; want the short one, and the first pauses of "+
					"the long one", c.total, c.ended)
			}
			close(parsed)
		})
	}
}

// TestWhoPanicsAsideGivesUpItsTurn: the panic goes to its own request.
func TestWhoPanicsAsideGivesUpItsTurn(t *testing.T) {
	inTurns(t, func(c *compiling) {
		go func() {
			defer func() {
				if recover() == nil {
					t.Error("want a panic")
				}
			}()
			turn, err := c.q.Enter(c.Context(), "a", 1000)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.q.Leave(turn)
			c.q.Aside(c.Context(), turn, func() { panic("parsing") })
		}()
		c.compile("b", "long", 1000, 100)
	})
}

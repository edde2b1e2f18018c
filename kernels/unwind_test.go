package kernels

// Bodies that panic or end their goroutine: the caller gets the error, and the team can be used
// again.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"picogpt/dev/cases"
)

// outcome runs body on a goroutine of its own, and returns what Run panics with, or that it did not
// return.
func outcome(run func(func(*Worker)), body func(*Worker)) (value any, returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { value = recover() }()
		run(body)
		returned = true
	}()
	<-done
	return value, returned
}

// works fails the test unless the team does all tasks of some operations once, with all of its
// workers.
func works(t *testing.T, what string, team *Team) {
	t.Helper()
	const operations, tasks = 5, 40
	var done [operations][tasks]int32
	var bodies atomic.Int32
	if value, returned := outcome(team.Run, func(w *Worker) {
		bodies.Add(1)
		for o := range operations {
			for i := w.Next(); i < tasks; i = w.Next() {
				done[o][i]++
			}
			w.Sync()
			for i := range tasks {
				if done[o][i] != 1 {
					t.Errorf("%s: task %d of operation %d ran %d times", what, i, o, done[o][i])
				}
			}
			w.Sync()
		}
	}); !returned {
		t.Fatalf("%s: the next Run panics with %v", what, value)
	}
	if n := int(bodies.Load()); n != team.Size() {
		t.Fatalf("%s: the next Run has %d workers, want %d", what, n, team.Size())
	}
}

// A failing is a way for a body to fail, and what Run must panic with: nil for an end of the
// goroutine.
type failing struct {
	name string
	fail func()
	want func(value any) bool
}

func failings() []failing {
	value := &struct{ int }{7}
	var none []int
	return []failing{
		{"panic", func() { panic(value) }, func(v any) bool { return v == value }},
		{"index", func() { none[len(none)]++ }, func(v any) bool {
			err, ok := v.(runtime.Error)
			return ok && strings.Contains(err.Error(), "index out of range")
		}},
		{"slice as a value", func() { panic([]int{1}) },
			func(v any) bool { return len(v.([]int)) == 1 }},
		{"Goexit", runtime.Goexit, func(v any) bool { return v == nil }},
	}
}

func TestAFailureReachesTheCaller(t *testing.T) {
	for _, threads := range []int{1, 2, 7} {
		before := settled()
		team := newTeam(t, threads, "")
		last := threads - 1
		for _, fails := range [][]int{{0}, {last}, {last / 2}, {last, last / 2}, {0, last},
			{0, 1, 2, 3, 4, 5, 6}} {
			for _, f := range failings() {
				// before, between and after three barriers, and while the others wait for long
				for point := range 6 {
					what := fmt.Sprintf("%d threads, %s on workers %v at %d", threads, f.name,
						fails, point)
					var ends atomic.Int32
					value, returned := outcome(team.Run, func(w *Worker) {
						defer ends.Add(1)
						for at := range 4 {
							for i := w.Next(); i < 3*threads; i = w.Next() {
							}
							if (at == point || at == 1 && point >= 4) &&
								slices.Contains(fails, w.ID()) {
								if point == 5 {
									time.Sleep(2 * time.Millisecond)
								}
								f.fail()
							}
							if at < 3 {
								w.Sync()
							}
						}
					})
					if returned || !f.want(value) {
						t.Fatalf("%s: Run gives %v, returned is %v", what, value, returned)
					}
					if n := int(ends.Load()); n != threads {
						t.Fatalf("%s: %d bodies have ended when Run has, want %d", what, n, threads)
					}
					works(t, what, team)
				}
			}
		}
		if n := settled(); n != before+threads-1 {
			t.Errorf("%d threads: %d goroutines, want %d", threads, n, before+threads-1)
		}
		team.Close()
		if n := settled(); n != before {
			t.Errorf("%d threads: %d goroutines after Close, %d before", threads, n, before)
		}
	}
}

// What runs alone fails like anything else, and leaves both teams as new.
func TestAFailureAlone(t *testing.T) {
	for _, threads := range []int{1, 3} {
		team := newTeam(t, threads, "")
		for _, f := range failings() {
			for name, run := range map[string]func(func(*Worker)){
				"RunAlone": team.RunAlone,
				"Alone": func(body func(*Worker)) {
					team.Run(func(w *Worker) {
						if one := w.Alone(); one != nil {
							body(one)
						}
						w.Sync()
					})
				},
			} {
				what := fmt.Sprintf("%d threads, %s in %s", threads, f.name, name)
				value, returned := outcome(run, func(*Worker) { f.fail() })
				if returned || !f.want(value) {
					t.Fatalf("%s: Run gives %v, returned is %v", what, value, returned)
				}
				bodies := 0
				_, returned = outcome(run, func(*Worker) { bodies++ })
				if !returned || bodies != 1 {
					t.Fatalf("%s: afterwards %d bodies run, want 1", what, bodies)
				}
				works(t, what, team)
			}
		}
	}
}

// The caller's own failure counts, in any order; otherwise it is one of the other failures.
func TestWhichFailureCounts(t *testing.T) {
	team := newTeam(t, 4, "")
	for range 200 {
		value, _ := outcome(team.Run, func(w *Worker) {
			if w.ID() != 2 {
				panic(w.ID())
			}
			w.Sync()
		})
		if value != 0 {
			t.Fatalf("Run panics with %v, want the caller's own 0", value)
		}
		value, _ = outcome(team.Run, func(w *Worker) {
			if w.ID()%2 == 1 {
				panic(w.ID())
			}
			w.Sync()
		})
		if value != 1 && value != 3 {
			t.Fatalf("Run panics with %v, want 1 or 3", value)
		}
		value, _ = outcome(team.Run, func(w *Worker) {
			defer func() {
				if w.ID() == 0 {
					panic("on the way")
				}
			}()
			if w.ID() == 3 {
				panic("at first")
			}
			w.Sync()
		})
		if value != "on the way" {
			t.Fatalf("Run panics with %v, want the caller's", value)
		}
	}
	works(t, "after all", team)
}

// Runs that fail at once follow each other while workers may still be leaving the last barrier of
// the Run before.
func TestFailuresOneAfterTheOther(t *testing.T) {
	runs := cases.Of(600, 3000)
	if testing.Short() {
		runs = 300
	}
	for _, threads := range []int{2, 5} {
		team, rng := newTeam(t, threads, ""), rand.New(rand.NewPCG(uint64(threads), 1))
		for n := range runs {
			fails, at := rng.IntN(threads+1), rng.IntN(3)
			value, returned := outcome(team.Run, func(w *Worker) {
				for i := range 3 {
					if i == at && w.ID() == fails {
						panic(n)
					}
					w.Sync()
				}
			})
			if want := fails == threads; returned != want || !want && value != n {
				t.Fatalf("%d threads, run %d fails on %d: %v, returned is %v", threads, n, fails,
					value, returned)
			}
		}
		works(t, "after all", team)
	}
}

// The stack of another worker is printed where nobody recovers: Run panics with it, and then with
// the value.
func TestTheStackOfAnotherWorkerIsKept(t *testing.T) {
	team, value := newTeam(t, 2, ""), errors.New("an error")
	team.workers[1].run(func(*Worker) { panic(value) })
	f := team.failure
	team.reset()
	if printed := f.stack.Error(); !strings.Contains(printed,
		"TestTheStackOfAnotherWorkerIsKept.func") {
		t.Errorf("printed is %q, want the function that panics in it", printed)
	}
	defer func() {
		if got := recover(); got != value {
			t.Errorf("%v comes out, want the value", got)
		}
	}()
	f.repeat()
}

// What cannot be waited for is a panic, whichever worker asks for it.
func TestNoRunInsideARun(t *testing.T) {
	for _, threads := range []int{1, 3} {
		team := newTeam(t, threads, "")
		other := newTeam(t, 2, "")
		for name, call := range map[string]func(){
			"Run":      func() { team.Run(func(*Worker) { t.Error("ran") }) },
			"RunAlone": func() { team.RunAlone(func(*Worker) { t.Error("ran") }) },
			"Close":    team.Close,
			"Convert":  func() { Convert(team, F16, &Matrix{In: 1, Out: 1, F32: []float32{1}}) },
			"a Run of another team, and there one of this": func() {
				other.Run(func(w *Worker) {
					if w.ID() == 0 {
						team.Run(func(*Worker) { t.Error("ran") })
					}
				})
			},
		} {
			for _, run := range []func(func(*Worker)){team.Run, team.RunAlone} {
				for id := range threads {
					value, returned := outcome(run, func(w *Worker) {
						if w.ID() == id || w.Size() == 1 {
							if !team.Inside() {
								t.Errorf("%s on worker %d: not inside", name, id)
							}
							call()
						}
					})
					message := "inside a function that the same team runs"
					if returned || !strings.Contains(fmt.Sprint(value), message) {
						t.Errorf("%s on worker %d of %d: %v, want a panic", name, id, threads,
							value)
					}
				}
			}
			if team.Inside() {
				t.Errorf("%s: inside, with nothing running", name)
			}
			works(t, name, team)
			works(t, name, other)
		}
	}
}

// A worker that waits for another worker's part does not wait for one that has failed.
func TestAFailureEndsTheWaitForAMark(t *testing.T) {
	team := newTeam(t, 2, "")
	defer func() {
		if r := recover(); r != "gone" {
			t.Errorf("Run panics with %v, want gone", r)
		}
		m, in := randomMatrix(rand.New(rand.NewPCG(1, 2)), F32, InOut, 768, 32), filled(768)
		want, got := make([]float32, 32), make([]float32, 32)
		linearByDefinition(want, in, 1, m, nil)
		team.Run(func(w *Worker) { Linear(w, got, in, 1, m, nil) })
		sameSlices(t, "the next Run", got, want)
	}()
	team.Run(func(w *Worker) {
		if w.ID() == 0 {
			panic("gone")
		}
		w.team.streams.done[0].Store(1) // as if it had done its part
		if team.await(&w.team.streams.passed[0].Uint32, 0) == 0 {
			w.unwind()
		}
	})
}

package kernels

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func newTeam(t testing.TB, threads int, variant string) *Team {
	t.Helper()
	team, err := NewTeam(threads, variant)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(team.Close)
	return team
}

func TestTeamSharesTasksBetweenBarriers(t *testing.T) {
	for _, threads := range []int{1, 2, 7} {
		team := newTeam(t, threads, "")
		const operations, tasks = 50, 100
		// written by whoever has the task: the race detector sees a task given twice
		var done [operations][tasks]int32
		var ids [7]atomic.Int32
		team.Run(func(w *Worker) {
			ids[w.ID()].Add(1)
			for o := range operations {
				for i := w.Next(); i < tasks; i = w.Next() {
					done[o][i]++
				}
				w.Sync()
				for i := range tasks { // what the others did is there
					if done[o][i] != 1 {
						t.Errorf("%d threads: task %d of operation %d ran %d times", threads, i, o,
							done[o][i])
						return
					}
				}
				w.Sync()
			}
		})
		for i := range threads {
			if n := ids[i].Load(); n != 1 {
				t.Errorf("%d threads: worker %d ran %d times", threads, i, n)
			}
		}
		if team.Size() != threads {
			t.Errorf("Size() = %d, want %d", team.Size(), threads)
		}
	}
}

func TestWorkersSleepAndWake(t *testing.T) {
	team := newTeam(t, 3, "")
	var before atomic.Int32
	team.Run(func(w *Worker) {
		for range 3 {
			if w.ID() == 1 {
				time.Sleep(5 * time.Millisecond) // long past spinning
			}
			before.Add(1)
			w.Sync()
			if n := before.Load(); n%3 != 0 {
				t.Errorf("past the barrier after %d arrivals", n)
			}
			w.Sync()
		}
	})
}

func TestRunsTakeTurns(t *testing.T) {
	team := newTeam(t, 2, "")
	var inside, runs atomic.Int32
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 20 {
				team.Run(func(w *Worker) {
					if n := inside.Add(1); n > 2 {
						t.Errorf("%d workers at once", n)
					}
					w.Sync()
					inside.Add(-1)
					runs.Add(1)
				})
			}
		})
	}
	callers.Wait()
	if n := runs.Load(); n != 8*20*2 {
		t.Errorf("%d bodies ran, want %d", n, 8*20*2)
	}
}

func TestCloseEndsTheWorkers(t *testing.T) {
	start := settled()
	var teams []*Team
	for range 5 {
		team, err := NewTeam(4, "")
		if err != nil {
			t.Fatal(err)
		}
		teams = append(teams, team)
		team.Run(func(w *Worker) {})
	}
	if n := runtime.NumGoroutine(); n != start+5*3 {
		t.Errorf("%d goroutines with five teams of 4, want %d", n, start+5*3)
	}
	for _, team := range teams {
		team.Close()
		team.Close()
		team.Run(func(w *Worker) { t.Error("a closed team ran") })
	}
	if n := settled(); n != start {
		t.Errorf("%d goroutines after Close, %d before", n, start)
	}
}

// settled returns the number of goroutines once it has stayed the same for a while.
func settled() int {
	n, same := runtime.NumGoroutine(), 0
	for wait := 0; same < 20 && wait < 2000; wait++ {
		time.Sleep(time.Millisecond)
		if m := runtime.NumGoroutine(); m != n {
			n, same = m, 0
		}
		same++
	}
	return n
}

func TestNewTeamRefuses(t *testing.T) {
	if _, err := NewTeam(1, "altivec"); err == nil || !strings.Contains(err.Error(), `"altivec"`) ||
		!strings.Contains(err.Error(), "go") {
		t.Errorf("an unknown kernel: %v", err)
	}
	if _, err := NewTeam(1<<20, ""); err == nil ||
		!strings.Contains(err.Error(), "threads: 1048576") {
		t.Errorf("a million threads: %v", err)
	}
	team := newTeam(t, 0, "")
	if team.Size() != runtime.GOMAXPROCS(0) {
		t.Errorf("NewTeam(0): %d workers, want %d", team.Size(), runtime.GOMAXPROCS(0))
	}
	for _, name := range Variants() {
		if got := newTeam(t, 1, name).Variant(); got != name {
			t.Errorf("asked for %s, got %s", name, got)
		}
	}
	if got := newTeam(t, 1, "").Variant(); got != Variants()[0] {
		t.Errorf("the fastest is %s, want %s", got, Variants()[0])
	}
}

func TestThreadsAreAtMostFourForEachProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for n, want := range map[int]int{-1: 3, 0: 3, 1: 1, 4: 4, 12: 12, 13: 12, 4096: 12,
		5000: 5000} {
		if got := Threads(n); got != want {
			t.Errorf("Threads(%d) is %d on 3 processors, want %d", n, got, want)
		}
	}
}

// With more workers than processors no worker spins, or yields long, while another waits for its
// processor.
func TestManyWorkersDoNotSpin(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for workers, want := range map[int]bool{2: runtime.NumCPU() >= 2, 3: false, 64: false} {
		team := newTeam(t, workers, "")
		team.Run(func(*Worker) {})
		if team.spins.Load() != want {
			t.Errorf("%d workers on 2 processors spin: %v, want %v", workers, !want, want)
		}
		if yields := team.yields(); !want && yields > 4 {
			t.Errorf("%d workers on 2 processors yield %d times before they sleep", workers, yields)
		}
	}
}

// A worker that the system has stopped costs its processor and no more: the others do all tasks of
// the operation, and then sleep until it comes.
func TestWorkersDoWithoutAStoppedOne(t *testing.T) {
	for _, threads := range []int{2, 3, 16} {
		team := newTeam(t, threads, "")
		const tasks = 100
		var done atomic.Int32
		stopped := make(chan struct{})
		go func() {
			for int(team.sleepers.Load()) < threads-1 {
				runtime.Gosched()
			}
			if n := done.Load(); n != tasks {
				t.Errorf("%d threads: all but one sleep after %d of %d tasks", threads, n, tasks)
			}
			close(stopped)
		}()
		team.Run(func(w *Worker) {
			if w.ID() == threads-1 {
				<-stopped
			}
			for w.Next() < tasks {
				done.Add(1)
			}
			w.Sync()
		})
		if n := done.Load(); n != tasks {
			t.Errorf("%d threads: %d tasks were done, want %d", threads, n, tasks)
		}
	}
}

// BenchmarkManyWorkersShareProcessors: a barrier among many workers takes about as long as it takes
// to run each of them once.
func BenchmarkManyWorkersShareProcessors(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	newTeam(b, 64, "").Run(func(w *Worker) {
		for range b.N {
			w.Sync()
		}
	})
}

// The tasks are as many as the limit on their size asks for and no more, and the busiest worker has
// little more than its share: a grain and the rounding for each task of its own.
func TestShareBalances(t *testing.T) {
	const grain = 16
	for _, threads := range []int{1, 2, 7, 16} {
		w := Worker{team: &Team{workers: make([]Worker, threads)}}
		for _, n := range []int{1, 15, 16, 17, 100, 768, 2304, 3072, 50257} {
			for _, most := range []int{16, 64, 1024, 2048} {
				what := fmt.Sprintf("share(%d, %d, %d) of %d workers", n, grain, most, threads)
				each := w.share(n, grain, most)
				if each < 1 || each > most || each%grain != 0 {
					t.Errorf("%s is %d, want a multiple of the grain, at most %d", what, each, most)
					continue
				}
				rounds := max(1, ceil(n, threads*most)) // of a task for each worker
				tasks := ceil(n, each)
				if tasks > rounds*threads {
					t.Errorf("%s makes %d tasks of %d, want at most %d",
						what, tasks, each, rounds*threads)
				}
				busiest := min(n, ceil(tasks, threads)*each)
				if limit := ceil(n, threads) + rounds*grain; busiest > limit {
					t.Errorf("%s gives one of them %d items, want at most %d", what, busiest, limit)
				}
			}
		}
	}
}

func ceil(a, b int) int { return (a + b - 1) / b }

package picogpt_test

// A GPT that becomes unreachable gives back its workers and its mapped files.

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"picogpt"
	"picogpt/dev/fixture"
	"picogpt/model"
)

// mappings returns how often a file is mapped here, and whether the system tells.
func mappings(path string) (n int, known bool) {
	b, err := os.ReadFile("/proc/self/maps")
	return bytes.Count(b, []byte(path)), err == nil
}

// copied returns the path of a checkpoint that only this test opens.
func copied(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "checkpoint")
	if err := fixture.Write(dir, fixture.Options{Vocab: 257}); err != nil {
		t.Fatal(err)
	}
	if err := fixture.ByteTokenizer(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openThreads(t *testing.T, dir string) *picogpt.GPT {
	g, err := picogpt.Open(context.Background(), dir, picogpt.Config{Model: model.Options{Threads: 3}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// gone collects garbage until a checkpoint's memory and its workers are given back.
func gone(t *testing.T, dir string, goroutines int) {
	t.Helper()
	for range 2000 {
		runtime.GC()
		if n, _ := mappings(dir); n == 0 && runtime.NumGoroutine() <= goroutines {
			return
		}
	}
	n, _ := mappings(dir)
	t.Errorf("%d mappings, and %d goroutines where %d were before", n, runtime.NumGoroutine(),
		goroutines)
}

func TestAForgottenGPTGivesAllBack(t *testing.T) {
	before, dir := runtime.NumGoroutine(), copied(t)
	o := picogpt.Options{MaxTokens: 5}
	func() {
		g := openThreads(t, dir)
		write(t, g, "ab", o)
		for range g.Generate(context.Background(), "abc", o) {
			break
		}
		if n, known := mappings(dir); known && n == 0 || runtime.NumGoroutine() <= before {
			t.Errorf("%d mappings and %d goroutines while it is open, %d before", n,
				runtime.NumGoroutine(), before)
		}
	}()
	gone(t, dir, before)
}

// A part of a GPT that is still used keeps the memory that it needs.
func TestAPartOfAGPTKeepsTheRest(t *testing.T) {
	before, dir := runtime.NumGoroutine(), copied(t)
	ctx := context.Background()
	for about, part := range map[string]func(g *picogpt.GPT) (use func() bool){
		"the model": func(g *picogpt.GPT) func() bool {
			m := g.Model()
			return func() bool {
				s := m.NewSession()
				return m.Eval(ctx, model.Input{Session: s, Tokens: []int{1, 2}}) == nil
			}
		},
		"a session": func(g *picogpt.GPT) func() bool {
			s := g.Model().NewSession()
			return func() bool {
				return s.Model().Eval(ctx, model.Input{Session: s, Tokens: []int{1, 2}}) == nil
			}
		},
		"a loop": func(g *picogpt.GPT) func() bool {
			loop := g.Generate(ctx, "ab", picogpt.Options{MaxTokens: 3})
			return func() bool {
				n := 0
				for _, err := range loop {
					if runtime.GC(); err == nil {
						n++
					}
				}
				return n == 3
			}
		},
		"the tokenizer": func(g *picogpt.GPT) func() bool {
			tok := g.Tokenizer()
			return func() bool {
				ids, err := tok.Encode("ab")
				return err == nil && len(ids) == 2
			}
		},
	} {
		use := part(openThreads(t, dir))
		for range 5 {
			if runtime.GC(); !use() {
				t.Errorf("%s is of no use without the GPT", about)
			}
		}
		use = nil
		gone(t, dir, before)
	}
}

// Close runs concurrently with the garbage collector, and twice; then the GPT becomes unreachable.
func TestCloseIsOnce(t *testing.T) {
	before, dir := runtime.NumGoroutine(), copied(t)
	for i := range 20 {
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					runtime.GC()
				}
			}
		}()
		g := openThreads(t, dir)
		if i%2 == 0 {
			write(t, g, "ab", picogpt.Options{MaxTokens: 2})
		}
		if i%3 == 0 {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		close(stop)
		<-stopped
	}
	gone(t, dir, before)
}

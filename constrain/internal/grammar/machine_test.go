package grammar

// Machines keep their states within bounds, whatever the regex.

import (
	"math/rand/v2"
	"regexp"
	"runtime"
	"testing"

	"picogpt/dev/walks"
)

func TestStatesThatAreForgottenChangeNothing(t *testing.T) {
	const re = `(?s:.*)a.{300}|[a-f]{2,400}`
	judge := regexp.MustCompile(`\A(?:` + re + `)\z`)
	f := compile(t, re)
	m, states := walks.Of(f), []any{f.Start()}
	before := heap()
	w := walks.New(rand.New(rand.NewPCG(2, 2)))
	text := ""
	var masks [][]uint64
	for i := range 60 {
		if err := m.Mask(w.Mask); err != nil {
			t.Fatal(err)
		}
		if m.Complete() != judge.MatchString(text) {
			t.Errorf("%q: complete is %v", text, m.Complete())
		}
		masks = append(masks, append([]uint64(nil), w.Mask...))
		id := w.Choose(false)
		if err := m.Accept(id); err != nil {
			t.Fatal(err)
		}
		states = append(states, m.State)
		text += string(gpt2().Bytes[id])
		if i%7 == 0 {
			f.m.Forget()
		}
	}
	if held := (heap() - before) >> 20; held > 300 {
		t.Errorf("%d MiB are held, want 300 at most", held)
	}
	for i := len(masks) - 1; i >= 0; i -= 5 {
		m.State = states[i]
		if err := m.Mask(w.Mask); err != nil {
			t.Fatal(err)
		}
		for k, word := range masks[i] {
			if w.Mask[k] != word {
				t.Fatalf("another mask after %d ids than before", i)
			}
		}
	}
	runtime.KeepAlive(f)
}

// heap returns the bytes that are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

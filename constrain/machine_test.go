package constrain

// Machines keep their states within bounds, whatever the regex.

import (
	"math/rand/v2"
	"regexp"
	"runtime"
	"testing"
)

func TestStatesThatAreForgottenChangeNothing(t *testing.T) {
	const re = `(?s:.*)a.{300}|[a-f]{2,400}`
	judge := regexp.MustCompile(`\A(?:` + re + `)\z`)
	c, err := Regex(gpt2(), re)
	if err != nil {
		t.Fatal(err)
	}
	machine := c.form.(*grammarForm).m
	m, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	w := &walker{rand.New(rand.NewPCG(2, 2)), make([]uint64, gpt2().Words())}
	text := ""
	var masks [][]uint64
	for i := range 60 {
		if err := m.Mask(w.mask); err != nil {
			t.Fatal(err)
		}
		if m.Complete() != judge.MatchString(text) {
			t.Errorf("%q: complete is %v", text, m.Complete())
		}
		masks = append(masks, append([]uint64(nil), w.mask...))
		w.mask[endOfText>>6] &^= 1 << (endOfText & 63)
		id := w.choose(false)
		if err := m.Accept(id); err != nil {
			t.Fatal(err)
		}
		text += string(gpt2().Bytes(id))
		if i%7 == 0 {
			machine.Forget()
		}
	}
	if held := (heap() - before) >> 20; held > 300 {
		t.Errorf("%d MiB are held, want 300 at most", held)
	}
	for i := len(masks) - 1; i >= 0; i -= 5 {
		if err := m.Rewind(len(m.states) - 1 - i); err != nil {
			t.Fatal(err)
		}
		if err := m.Mask(w.mask); err != nil {
			t.Fatal(err)
		}
		for k, word := range masks[i] {
			if w.mask[k] != word {
				t.Fatalf("another mask after %d ids than before", i)
			}
		}
	}
	runtime.KeepAlive(c)
}

// heap returns the bytes that are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

package batch

// Hidden states in the batch: the bits of an Eval alone, beside texts that are written.

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/model"
)

// statesOf returns the hidden states of a text, from one Eval.
func statesOf(t testing.TB, m *model.Model, ids []int) []float32 {
	t.Helper()
	width := m.Config().Embd
	rows, s := make([]float32, len(ids)*width), m.NewSession()
	defer s.Release()
	err := m.Eval(context.Background(), model.Input{Session: s, Tokens: ids,
		Visit: func(r model.Row) { copy(rows[r.Index*width:], r.Hidden) }})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestHiddenStatesBesideTexts(t *testing.T) {
	ctx, random := context.Background(), rand.New(rand.NewPCG(5, 6))
	m, c := counted(t, 0)
	begin := randomIDs(random, 40)
	var texts [][]int
	var want [][]float32
	for i := range 12 {
		ids := append(slices.Clone(begin[:20+i]), randomIDs(random, 1+40*i)...)
		texts, want = append(texts, ids), append(want, statesOf(t, m, ids))
	}
	texts, want = append(texts, begin[:1]), append(want, statesOf(t, m, begin[:1]))
	whole := randomIDs(random, 1100) // the context is full
	texts, want = append(texts, whole), append(want, statesOf(t, m, whole))
	o := decode.Options{MaxTokens: 30}
	written := collect(t, m.NewSession(), begin, o)
	c.took()
	b := New(m, Options{MaxStreams: 3, MaxDelay: time.Nanosecond, PrefixBytes: 1 << 30})
	defer b.Close()
	var wg sync.WaitGroup
	for i, ids := range texts {
		for _, from := range []int{0, len(ids) - 1} {
			wg.Go(func() {
				got, err := b.States(ctx, Request{Prompt: ids, Client: string(rune('a' + i))}, from)
				if err != nil || !slices.Equal(got, want[i][from*m.Config().Embd:]) {
					t.Errorf("text %d from %d: %d numbers, %v", i, from, len(got), err)
				}
			})
		}
	}
	wg.Go(func() {
		if got := bySample(t, b.Generate(ctx, begin, o), 1); !same(got[0], written) {
			t.Error("the text beside them is another")
		}
	})
	wg.Wait()
	if _, heads := c.took(); heads != 30 {
		t.Errorf("%d rows with logits, want those of the text, 30", heads)
	}
	if b.prefixes.stored.Len() == 0 || b.prefixes.stored.Len() > len(texts)+1 {
		t.Errorf("%d texts are stored: want no whole readings", b.prefixes.stored.Len())
	}
}

func TestHiddenStatesThatCannotBe(t *testing.T) {
	m, _ := counted(t, 0)
	b := New(m, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	for _, c := range []struct {
		ids  []int
		from int
		want string
	}{
		{[]int{1, 2}, 2, "from token 2 of 2"}, {[]int{1, 2}, -1, "from token -1"},
		{make([]int, 1101), 0, "want at most 1100"}, {[]int{1, 99}, 0, "id 99, want 0 to 28"},
	} {
		_, err := b.States(ctx, Request{Prompt: c.ids}, c.from)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v from %d: %v, want %q", c.ids[:2], c.from, err, c.want)
		}
	}
	cancel()
	if _, err := b.States(ctx, Request{Prompt: []int{1}}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	small, _ := counted(t, 1)
	full := New(small, Options{})
	defer full.Close()
	_, err := full.States(context.Background(), Request{Prompt: []int{1}}, 0)
	if !errors.Is(err, model.ErrCacheFull) {
		t.Errorf("no room: %v", err)
	}
	b.Close()
	_, err = b.States(context.Background(), Request{Prompt: []int{1}}, 0)
	if !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if n := m.CacheBytes(); n > 0 {
		t.Errorf("%d bytes of cache are left", n)
	}
}

// TestHiddenStatesWhenTheCacheIsFull: texts lose their memory in turn, and all are read.
func TestHiddenStatesWhenTheCacheIsFull(t *testing.T) {
	cases.NotShort(t)
	random := rand.New(rand.NewPCG(7, 8))
	free, _ := counted(t, 0)
	ids := randomIDs(random, 700)
	want := statesOf(t, free, ids)
	s := free.NewSession()
	if err := free.Eval(t.Context(), model.Input{Session: s, Tokens: ids}); err != nil {
		t.Fatal(err)
	}
	m, c := counted(t, s.Bytes()*5/4) // one text and a quarter
	wait := make(chan bool)
	c.gate = func(int64) { <-wait }
	b := New(m, Options{MaxDelay: time.Minute}) // all that have come are in a step
	defer b.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			got, err := b.States(context.Background(), Request{Prompt: ids}, 0)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%d numbers, %v", len(got), err)
			}
		})
	}
	for b.Stats().Waiting < 3 {
		runtime.Gosched()
	}
	close(wait)
	wg.Wait()
	if b.Stats().Preemptions == 0 {
		t.Error("no text lost its memory: the test proves nothing")
	}
}

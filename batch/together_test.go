package batch

// Each text equals Generate's, whatever else a Batcher does: requests of all kinds come, leave,
// pause and begin alike, with little memory and with much, from random seeds.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/dev/texts"
	"picogpt/model"
)

// roomy is the options of a tiny model with a context of 150.
var roomy = fixture.Options{Positions: 150}

// A guest is one request, its texts when alone, and the behaviour of its caller.
type guest struct {
	about   string
	request Request
	want    [][]decode.Token // of each sample
	random  *rand.Rand
}

// kinds returns options of all sorts for a context of 150.
func kinds() map[string]decode.Options {
	all := texts.Echoes()
	for name, o := range texts.Ways() {
		all[name] = o
	}
	for name, o := range all {
		if o.MaxTokens == 0 {
			o.MaxTokens = 60
		}
		if o.Overflow == decode.OverflowSlide {
			o.MaxTokens = 170
		}
		o.Lookup = 0 // of Generate only
		all[name] = o
	}
	return all
}

// newGuest returns a guest whose prompt often begins as another's.
func newGuest(t *testing.T, alone *model.Model, random *rand.Rand, prompts *[][]int) *guest {
	t.Helper()
	all := kinds()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	g := &guest{about: names[random.IntN(len(names))]}
	g.random = rand.New(rand.NewPCG(random.Uint64(), 0))
	var prompt []int
	if n := len(*prompts); n > 0 && random.IntN(4) > 0 {
		prompt = slices.Clone((*prompts)[random.IntN(n)])
		prompt = prompt[:len(prompt)-random.IntN(len(prompt)+1)*random.IntN(2)]
	}
	prompt = append(prompt, randomIDs(random, 1+random.IntN(40))...)
	prompt = prompt[:min(len(prompt), 80)]
	*prompts = append(*prompts, prompt)
	o := all[g.about]
	g.request = Request{Prompt: prompt, Options: o, Samples: 1 + 3*random.IntN(2),
		Client: fmt.Sprint(random.IntN(3))}
	if random.IntN(5) == 0 {
		g.request.Salt = "salt"
	}
	for i := range g.request.Samples {
		o := o
		o.Seed += uint64(i)
		g.want = append(g.want, collect(t, alone.NewSession(), prompt, o))
	}
	return g
}

// visit makes the request, and compares its tokens until the guest leaves or the texts end.
func (g *guest) visit(t *testing.T, b *Batcher) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	total := 0
	for _, tokens := range g.want {
		total += len(tokens)
	}
	way, at := g.random.IntN(6), g.random.IntN(total+1)
	if way == 0 {
		defer time.AfterFunc(time.Duration(g.random.IntN(3000))*time.Microsecond, cancel).Stop()
	}
	got := make([][]decode.Token, len(g.want))
	n, last := 0, error(nil)
	for tok, err := range b.Run(ctx, g.request) {
		if last = err; err != nil {
			continue
		}
		n++
		sample := tok.Sample
		tok.Sample = 0
		got[sample] = append(got[sample], tok)
		if g.random.IntN(100) == 0 {
			time.Sleep(time.Duration(g.random.IntN(4)) * time.Millisecond)
		}
		if way == 1 && n == at {
			break
		}
		if way == 2 && n == at {
			cancel()
		}
	}
	if last != nil && !errors.Is(last, context.Canceled) {
		t.Errorf("%s: %v", g.about, last)
	}
	for i, tokens := range got {
		want := g.want[i]
		if whole := way > 2 || way == 0 && last == nil; whole && len(tokens) != len(want) ||
			len(tokens) > len(want) || !same(tokens, want[:len(tokens)]) {
			t.Errorf("%s, prompt %v, sample %d: %d tokens %v\nalone %d %v", g.about,
				g.request.Prompt, i, len(tokens), tokens, len(want), want)
		}
	}
}

func TestTextsAreWhatGenerateGivesWhateverElseRuns(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(roomy)
	alone := testmodel.New(t, config, file, model.Options{Threads: 2})
	one := alone.NewSession()
	err := alone.Eval(context.Background(), model.Input{Session: one, Tokens: make([]int, 150)})
	if err != nil {
		t.Fatal(err)
	}
	var sum Stats
	for seed := range sized(20, 3000) {
		random := rand.New(rand.NewPCG(21, uint64(seed)))
		var limit int64
		if random.IntN(2) == 0 {
			limit = one.Bytes() * int64(2+random.IntN(5)) // a guided text has two sessions
		}
		m := testmodel.New(t, config, file, model.Options{Threads: 1 + random.IntN(2),
			CacheBytes: limit})
		b := New(m, Options{MaxStreams: 1 + random.IntN(12),
			MaxDelay:    []time.Duration{1, 200 * time.Microsecond, 0}[random.IntN(3)],
			PrefixBytes: one.Bytes() * int64(random.IntN(2)*random.IntN(20))})
		b.prefixes.least = 1 + random.IntN(20)
		var prompts [][]int
		guests := make([]*guest, 12)
		for i := range guests {
			guests[i] = newGuest(t, alone, random, &prompts)
		}
		var group sync.WaitGroup
		for _, g := range guests {
			group.Go(func() { g.visit(t, b) })
			if random.IntN(3) == 0 {
				time.Sleep(time.Duration(random.IntN(300)) * time.Microsecond)
			}
		}
		group.Wait()
		b.Close()
		if n := m.CacheBytes(); n != 0 || len(b.prefixes.trees)+len(b.prefixes.live) != 0 {
			t.Fatalf("seed %d: %d bytes, %d trees and %d texts stay", seed, n, len(b.prefixes.trees),
				len(b.prefixes.live))
		}
		s := b.Stats()
		sum.PrefixHits += s.PrefixHits
		sum.Preemptions += s.Preemptions
		sum.PrefixQueries += s.PrefixQueries
		if t.Failed() {
			t.Fatalf("seed %d: %+v, %+v", seed, b.options, s)
		}
	}
	if sum.PrefixHits*15 < sum.PrefixQueries || sum.Preemptions == 0 && !testing.Short() {
		t.Errorf("%+v: this test wants more of it", sum)
	}
}

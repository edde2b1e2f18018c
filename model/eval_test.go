package model_test

// What Eval promises besides numbers: all or nothing, its errors, no garbage.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/dev/watchdog"
	"picogpt/model"
	"picogpt/weights"
	"picogpt/weights/demo"
)

func small(t testing.TB, o model.Options) *model.Model {
	config, file := fixture.Checkpoint(fixture.Options{})
	return testmodel.New(t, config, file, o)
}

func TestEvalErrorsLeaveSessionsAsTheyWere(t *testing.T) {
	m, other := small(t, model.Options{}), small(t, model.Options{})
	s := m.NewSession()
	before := append([]float32(nil), eval(t, s, 1, 2, 3)...)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		batch []model.Input
		want  string
	}{
		"too long": {nil, []model.Input{{Session: s, Tokens: make([]int, 21)}},
			"context: 3 tokens and 21 more, want at most 23"},
		"id too large": {nil, []model.Input{{Session: s, Tokens: []int{4, 29}}},
			"token 1: id 29, want 0 to 28"},
		"id negative": {nil, []model.Input{{Session: s, Tokens: []int{-1}}},
			"token 0: id -1, want 0 to 28"},
		"no tokens":  {nil, []model.Input{{Session: s}}, "no tokens"},
		"no session": {nil, []model.Input{{Tokens: []int{1}}}, "not of this model"},
		"another model's": {nil, []model.Input{{Session: other.NewSession(), Tokens: []int{1}}},
			"not of this model"},
		"twice": {nil, []model.Input{{Session: s, Tokens: []int{1}},
			{Session: s, Tokens: []int{1}}}, "the session is input 0 too"},
		"second is bad": {nil, []model.Input{{Session: s, Tokens: []int{1}},
			{Session: m.NewSession(), Tokens: []int{99}}}, "id 99"},
		"cancelled": {cancelled, []model.Input{{Session: s, Tokens: []int{1}}},
			context.Canceled.Error()},
	} {
		if c.ctx == nil {
			c.ctx = context.Background()
		}
		err := m.Eval(c.ctx, c.batch...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
		if s.Len() != 3 {
			t.Fatalf("%s: the session holds %d tokens, want 3", name, s.Len())
		}
		sameBits(t, name, s.Logits(), before)
	}
	var full *model.ContextError
	if err := m.Eval(context.Background(), model.Input{Session: s,
		Tokens: make([]int, 21)}); !errors.As(err, &full) || full.Positions != 23 {
		t.Errorf("%v is no ContextError of this model", err)
	}
	eval(t, s, make([]int, 20)...) // what fits, fits
}

// The error names the first logit that is not finite, of the first position and the first input
// that have one. Of the checkpoint's head, row 7 is infinite, so that only id 7 is bad, and the
// positional embedding of position 52, so that all ids after it are.
func TestNonFiniteLogitsAreAnErrorWithTheirPosition(t *testing.T) {
	inf := math.Inf(1)
	row := make([]func(tensors) tensors, 15)
	for i := range row {
		row[i] = plant("lm_head.weight", 7*15+i, inf)
	}
	wpe := plant("wpe.weight", 52*15, inf)
	for _, c := range []struct {
		name         string
		changes      []func(tensors) tensors
		held         int // tokens in the session before
		position, id int
	}{
		{"a row of the head", row, 0, 0, 7},
		{"a position", []func(tensors) tensors{wpe}, 0, 52, 0},
		{"a position, with tokens before", []func(tensors) tensors{wpe}, 50, 52, 0},
		{"both", append(row, wpe), 0, 0, 7},
	} {
		m := testmodel.New(t, fixture.Config(longer), checkpointWith(t, c.changes...),
			model.Options{Threads: 3})
		good, s := m.NewSession(), m.NewSession()
		if c.held > 0 {
			eval(t, s, make([]int, c.held)...)
		}
		batch := []model.Input{{Session: s, Tokens: make([]int, 90-c.held),
			Visit: func(r model.Row) {
				if x := r.Logits[c.id]; x-x != 0 {
					t.Errorf("%s: token %d is visited with %v", c.name, r.Index, x)
				}
			}}}
		want := 0
		if c.id == 0 { // the other has no bad position
			batch, want = append([]model.Input{{Session: good, Tokens: []int{1}}}, batch...), 1
		}
		err := m.Eval(context.Background(), batch...)
		var bad *model.NonFiniteError
		var in *model.InputError
		if !errors.As(err, &bad) || !errors.As(err, &in) {
			t.Errorf("%s: error %v, want a NonFiniteError of an input", c.name, err)
			continue
		}
		if bad.Position != c.position || bad.ID != c.id || in.Input != want {
			t.Errorf("%s: %v, want position %d, id %d of input %d", c.name, err, c.position, c.id,
				want)
		}
		if s.Len() != c.held || good.Len() != 0 {
			t.Errorf("%s: %d and %d tokens held, want %d and 0", c.name, s.Len(), good.Len(),
				c.held)
		}
		if c.id == 0 { // nothing is left of the error
			eval(t, good, 1)
		}
	}
}

func TestDecodingAllocatesNothing(t *testing.T) {
	for _, cache := range model.CacheFormats() {
		m := testmodel.Demo(t, model.Options{Threads: 2, CacheFormat: cache})
		if n := allocationsOfAToken(t, m); n != 0 {
			t.Errorf("%v allocations a token with a cache in %s, want 0", n, cache)
		}
	}
}

func allocationsOfAToken(t *testing.T, m *model.Model) float64 {
	t.Helper()
	s := m.NewSession()
	eval(t, s, 1, 2, 3)
	token, ctx := []int{11}, context.Background()
	// one page holds them all: a new one every 64 tokens is not the median
	least := 1e9
	for range 3 { // the whole process is counted, with what earlier tests have left to clean up
		least = min(least, testing.AllocsPerRun(15, func() {
			if err := m.Eval(ctx, model.Input{Session: s, Tokens: token}); err != nil {
				t.Fatal(err)
			}
		}))
	}
	return least
}

func TestTakeMovesWhatASessionHolds(t *testing.T) {
	m := small(t, model.Options{Threads: 1})
	s := m.NewSession()
	eval(t, s, 1, 2, 3)
	want := s.Fork(2)
	eval(t, want, 7, 8)
	from := s.Fork(2)
	eval(t, from, 7, 8)
	s.Take(from)
	s.Take(s)
	if !slices.Equal(s.Tokens(), []int{1, 2, 7, 8}) || !slices.Equal(s.Logits(), want.Logits()) {
		t.Errorf("the session holds %v, want the other's tokens and logits", s.Tokens())
	}
	if from.Len() != 0 || from.Logits() != nil {
		t.Errorf("the other session holds %v, want nothing", from.Tokens())
	}
	eval(t, s, 9)
	eval(t, want, 9)
	eval(t, from, 5) // of use again, and of no harm
	if !slices.Equal(s.Logits(), want.Logits()) {
		t.Error("the session goes on with other logits than the other would have")
	}
}

func TestCloseLeavesNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	config, file := fixture.Checkpoint(fixture.Options{})
	c, _ := model.ParseConfig(config)
	f, err := weights.FromBytes("test", file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(context.Background(), c, f, model.Options{Threads: 8})
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewSession()
	eval(t, s, 1, 2, 3)
	m.Close()
	m.Close() // harmless
	if err := m.Eval(context.Background(), model.Input{Session: s,
		Tokens: []int{4}}); !errors.Is(err, model.ErrClosed) || s.Len() != 3 {
		t.Errorf("Eval on a closed model: error %v, %d tokens", err, s.Len())
	}
	for end := time.Now().Add(watchdog.Wait); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// An Eval whose time is over before it begins returns its context's own error and holds nothing.
func TestAnEvalReturnsTheErrorOfItsContext(t *testing.T) {
	m := small(t, model.Options{})
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Hour))
	defer cancel()
	s := m.NewSession()
	if err := m.Eval(ctx, model.Input{Session: s, Tokens: []int{1, 2, 3}}); !errors.Is(err,
		context.DeadlineExceeded) || s.Len() != 0 {
		t.Errorf("error %v with %d tokens held, want the deadline and none", err, s.Len())
	}
}

// cancelledAt is a context that is cancelled when it is checked the n-th time, and later reports no
// error.
type cancelledAt struct {
	context.Context
	look, looks int
}

func (c *cancelledAt) Err() error {
	if c.looks++; c.looks == c.look+1 {
		return context.Canceled
	}
	return nil
}

// endedWithout is a context that has ended and has no error.
type endedWithout struct {
	context.Context
	done chan struct{}
}

func (c endedWithout) Done() <-chan struct{} { return c.done }

// A caller whose context behaves in such a way does not get its turn early.
func TestAnEvalThatWaitsWithAnOddContextEnds(t *testing.T) {
	m := small(t, model.Options{})
	watchdog.Start(t, "an Eval inside another one's Visit")
	ctx := endedWithout{context.Background(), make(chan struct{})}
	close(ctx.done)
	s, waiting := m.NewSession(), m.NewSession()
	var found error
	if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: []int{1, 2, 3},
		VisitFrom: 2, Visit: func(model.Row) {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() {
					if p := recover(); p != nil {
						found = fmt.Errorf("panic: %v", p)
					}
				}()
				found = m.Eval(ctx, model.Input{Session: waiting, Tokens: []int{4}})
			}()
			<-ended
		}}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(found, context.Canceled) || waiting.Len() != 0 {
		t.Errorf("error %v, %d tokens held, want context canceled and none", found, waiting.Len())
	}
	sameBits(t, "afterwards", eval(t, m.NewSession(), 1, 2, 3), s.Logits())
}

// An Eval that is cancelled before a layer runs no further one, and the next is as any other.
func TestACancelledEvalLeavesNothingBehind(t *testing.T) {
	for _, m := range []*model.Model{
		small(t, model.Options{Threads: 3}), testmodel.Demo(t, model.Options{Threads: 3}),
	} {
		ids := slices.Repeat([]int{1, 2, 3, 4}, 5)
		want := slices.Clone(eval(t, m.NewSession(), ids...))
		looks := 0
		for ; ; looks++ {
			ctx, s := &cancelledAt{Context: context.Background(), look: looks}, m.NewSession()
			err := m.Eval(ctx, model.Input{Session: s, Tokens: ids})
			if err == nil {
				break
			}
			if most := looks + 1; !errors.Is(err, context.Canceled) || s.Len() != 0 || ctx.looks > most {
				t.Errorf("cancelled at look %d: error %v, %d tokens held, %d looks, want %d at most",
					looks, err, s.Len(), ctx.looks, most)
			}
			sameBits(t, fmt.Sprint("after a cancel at look ", looks),
				eval(t, m.NewSession(), ids...),
				want)
		}
		if layers := m.Config().Layer; looks != layers+1 {
			t.Errorf("%d looks at the context, want one before %d layers and one before all", looks,
				layers)
		}
	}
}

// checkHidden holds that the logits are the hidden state times the embedding of the demo, whose
// head is tied.
// Inputs that share passes of at most 512 rows are visited from where each of them says.
func TestErrorsNameTheInput(t *testing.T) {
	m := small(t, model.Options{})
	good := func() model.Input { return model.Input{Session: m.NewSession(), Tokens: []int{1, 2}} }
	for _, bad := range []model.Input{
		{Session: m.NewSession(), Tokens: []int{29}},
		{Session: m.NewSession()},
		{Tokens: []int{1}},
		{Session: m.NewSession(), Tokens: make([]int, 24)},
		{Session: m.NewSession(), Tokens: []int{1}, VisitFrom: -1},
		{Session: m.NewSession(), Tokens: []int{1}, Best: -1},
	} {
		err := m.Eval(context.Background(), good(), good(), bad, good())
		var in *model.InputError
		if !errors.As(err, &in) || in.Input != 2 || !strings.HasPrefix(err.Error(), "input 2: ") {
			t.Errorf("error %v, want one of input 2", err)
		}
	}
}

func TestSaveAfterCloseIsAnError(t *testing.T) {
	m := small(t, model.Options{})
	m.Close()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := m.Save(context.Background(), path); !errors.Is(err, model.ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file")
	}
}

func TestAContextEndsLoadingAndSaving(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if m, err := model.New(ctx, c.Config, c.Tensors, model.Options{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("New: %v, error %v", m, err)
	}
	m := small(t, model.Options{})
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := m.Save(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("Save: error %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("Save left %v", left)
	}
}

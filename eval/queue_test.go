package eval_test

// Score as a stream: requests that come slowly, tags, errors of single requests, and how it ends.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/dev/watchdog"
	"picogpt/eval"

	"picogpt/model"
)

// channel is the requests that come through a channel.
func channel(c <-chan eval.Request) func(func(eval.Request) bool) {
	return func(yield func(eval.Request) bool) {
		for r := range c {
			if !yield(r) {
				return
			}
		}
	}
}

func TestASlowSourceHasItsAnswersAtOnce(t *testing.T) {
	m := tinyModel(t, model.Options{})
	requests, answers := make(chan eval.Request), make(chan eval.Scored)
	go func() {
		defer close(answers)
		for s, err := range eval.Score(context.Background(), m, letters{}, channel(requests),
			eval.ScoreOptions{}) {
			if err != nil {
				t.Error(err)
			}
			answers <- s
		}
	}()
	for i := range 5 {
		requests <- eval.Request{Text: "cab", Tag: i}
		select {
		case s := <-answers:
			if s.Tag != i || s.Index != i || s.Count != 2 {
				t.Errorf("answer %d: %+v", i, s)
			}
		case <-time.After(watchdog.Wait):
			t.Fatalf("no answer to request %d while the next one is not there", i)
		}
	}
	close(requests)
	if s, more := <-answers; more {
		t.Errorf("an answer too many: %+v", s)
	}
}

// The clock does not advance while a goroutine runs, so that no batch is sent early because the
// machine is slow.
func TestAQuickSourceFillsItsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := tinyModel(t, model.Options{})
		var taken atomic.Int64
		source := func(yield func(eval.Request) bool) {
			for taken.Load() < 200 && yield(eval.Request{Text: strings.Repeat("a", 10)}) {
				taken.Add(1)
			}
		}
		var first int64
		for range eval.Score(context.Background(), m, letters{}, source, eval.ScoreOptions{Batch: 50}) {
			first = taken.Load()
			break
		}
		if first < 49 { // the source counts a request once the next one is asked for
			t.Errorf("the first answer came after %d requests, want a batch of 50", first)
		}
	})
}

func TestAContextEndsAScoreThatWaits(t *testing.T) {
	cases.NotShort(t)
	m := tinyModel(t, model.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	silent := make(chan eval.Request)
	defer close(silent)
	var last error
	for _, err := range eval.Score(ctx, m, letters{}, channel(silent), eval.ScoreOptions{}) {
		last = err
	}
	if !errors.Is(last, context.DeadlineExceeded) {
		t.Errorf("%v, want the context's error", last)
	}
}

func TestAScoreThatEndsEarlyLeavesNoGoroutine(t *testing.T) {
	m := tinyModel(t, model.Options{})
	before := runtime.NumGoroutine()
	for range 20 {
		returned := false
		source := func(yield func(eval.Request) bool) {
			defer func() { returned = true }()
			for yield(eval.Request{Text: "abc"}) {
			}
		}
		for range eval.Score(context.Background(), m, letters{}, source,
			eval.ScoreOptions{Batch: 2}) {
			break
		}
		if !returned {
			t.Error("the source has not returned")
		}
	}
	for range 1 << 20 { // one that has done all its work may not have ended yet
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestAPanicOfTheSourceIsThatOfTheLoop(t *testing.T) {
	m := tinyModel(t, model.Options{})
	n, answered := 0, make(chan bool)
	defer func() {
		if p := recover(); p != "the source broke" || n != 1 {
			t.Errorf("recovered %v after %d answers", p, n)
		}
	}()
	source := func(yield func(eval.Request) bool) {
		yield(eval.Request{Text: "abc"})
		<-answered
		panic("the source broke")
	}
	for range eval.Score(context.Background(), m, letters{}, source, eval.ScoreOptions{}) {
		n++
		close(answered)
	}
}

func TestErrorsOfSingleRequestsKeepTheirPlaceAndTag(t *testing.T) {
	m := tinyModel(t, model.Options{})
	broken := errors.New("a broken line")
	requests := []eval.Request{
		{Text: "abc", Tag: "first"},
		{Tag: "second", Err: broken},
		{Tokens: []int{99}, Tag: "third"},
		{Text: "bcd", Tag: "fourth"},
	}
	for _, batch := range []int{1, 64} {
		var got []string
		o := eval.ScoreOptions{Batch: batch}
		for s, err := range eval.Score(context.Background(), m, letters{}, slices.Values(requests),
			o) {
			var bad *eval.RequestError
			if errors.As(err, &bad) && (bad.Tag != s.Tag || bad.Index != s.Index) {
				t.Errorf("%+v beside %+v", bad, s)
			}
			got = append(got, fmt.Sprint(s.Index, s.Tag, s.Count, errors.Is(err, broken),
				err != nil))
		}
		want := []string{"0first2 false false", "1second0 true true", "2third0 false true",
			"3fourth2 false false"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("batch %d: %q, want %q", batch, got, want)
		}
	}
}

// poisoned is a model that makes NaN of every text with a letter f before its last.
func poisoned(t *testing.T) *model.Model {
	o := fixture.Options{Seed: 1, Untied: true}
	tensors := fixture.Tensors(o)
	for i := range tensors {
		if tensors[i].Name == "wte.weight" {
			width := 4 * tensors[i].Shape[1]
			binary.LittleEndian.PutUint32(tensors[i].Data[5*width:],
				math.Float32bits(float32(math.NaN())))
		}
	}
	return testmodel.New(t, fixture.Config(o), file(t, tensors), model.Options{})
}

func TestOneBadTextEndsNeitherABatchNorACorpus(t *testing.T) {
	cases.NotShort(t)
	m := poisoned(t)
	var requests []eval.Request
	for i, r := range related() {
		if r.Tokens == nil && i%7 == 0 {
			r.Text = "abcdef" + r.Text
		}
		requests = append(requests, r)
	}
	all := func(batch int) (out []string) {
		for s, err := range eval.Score(context.Background(), m, letters{}, slices.Values(requests),
			eval.ScoreOptions{Batch: batch}) {
			var bad *eval.RequestError
			if err != nil && !errors.As(err, &bad) {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%+v %v", s, err))
		}
		return out
	}
	want := all(1)
	failed := 0
	for i, r := range requests {
		if r.Pair || r.Tokens != nil || len(r.Text) > 23 {
			continue
		}
		bad := strings.Contains(r.Text[:max(0, len(r.Text)-1)], "f")
		if bad {
			failed++
		}
		if strings.Contains(want[i], "not finite") != bad {
			t.Errorf("%q: %s", r.Text, want[i])
		}
	}
	if len(want) != len(requests) || failed < 10 || failed > 60 {
		t.Fatalf("%d answers to %d requests, %d of them bad", len(want), len(requests), failed)
	}
	for _, batch := range []int{2, 64} {
		if got := all(batch); !reflect.DeepEqual(got, want) {
			t.Errorf("batch %d: other answers than one by one", batch)
		}
	}
}

func TestAModelThatIsClosedEndsTheScore(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Seed: 1})
	m := testmodel.New(t, config, file, model.Options{})
	m.Close()
	n := 0
	for _, err := range eval.Score(context.Background(), m, letters{}, slices.Values(related()),
		eval.ScoreOptions{}) {
		if n++; !errors.Is(err, model.ErrClosed) {
			t.Errorf("%v, want that the model is closed", err)
		}
	}
	if n != 1 {
		t.Errorf("%d answers, want the error alone", n)
	}
}

func TestABoundedCacheMakesBatchesSmallerAndChangesNothing(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Seed: 1, Positions: 200}) // four pages of 64
	requests := related()
	requests = append(requests, eval.Request{Text: strings.Repeat("abcde", 30)},
		eval.Request{Text: "abc"})
	all := func(m *model.Model) (out []string, full int) {
		for s, err := range eval.Score(context.Background(), m, letters{}, slices.Values(requests),
			eval.ScoreOptions{}) {
			var bad *eval.RequestError
			if err != nil && !errors.As(err, &bad) {
				t.Fatal(err)
			}
			if errors.Is(err, model.ErrCacheFull) {
				full++
			}
			out = append(out, fmt.Sprintf("%+v %v", s, err))
		}
		return out, full
	}
	m := testmodel.New(t, config, file, model.Options{})
	want, _ := all(m)
	s := m.NewSession()
	in := model.Input{Session: s, Tokens: make([]int, 64)}
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	page := s.Bytes()

	bounded := testmodel.New(t, config, file, model.Options{CacheBytes: 5 * page})
	if got, full := all(bounded); full > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("with room for five pages: other answers, %d of them without room", full)
	}
	o := eval.Options{Window: 60, Batch: 20} // 20 pages
	r, err := eval.Perplexity(context.Background(), bounded, make([]int, 1000), o)
	if same := must(eval.Perplexity(context.Background(), m, make([]int, 1000), o)); err != nil ||
		r.NLL != same.NLL {
		t.Errorf("perplexity: %v, %v, want %v", r.NLL, err, same.NLL)
	}

	small := testmodel.New(t, config, file, model.Options{CacheBytes: 2 * page})
	got, full := all(small)
	for i := range got {
		if got[i] != want[i] && !strings.Contains(got[i], "cache full") {
			t.Errorf("request %d: %s, want %s", i, got[i], want[i])
		}
	}
	if full != 1 || got[len(got)-1] != want[len(want)-1] {
		t.Errorf("%d requests found no room, want the one that needs three pages", full)
	}
	for range 2 { // all of it was given back, without the garbage collector
		in := model.Input{Session: small.NewSession(), Tokens: make([]int, 64)}
		if err := small.Eval(context.Background(), in); err != nil {
			t.Error(err)
		}
	}
}

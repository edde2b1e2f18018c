package decode_test

// Streams driven by a test's own loop: in pieces, in random company, forked, failing and stopped.

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "picogpt/decode"
	"picogpt/decode/guess"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/sample"
)

// A drive is a stream of a random drive, and the text that it should give.
type drive struct {
	about  string
	prompt []int
	o      Options
	stream *Stream
	want   []Token
	got    []Token
}

func newDrive(t *testing.T, m *model.Model, about string, prompt []int, o Options) *drive {
	t.Helper()
	st, err := NewStream(m.NewSession(), prompt, o)
	if err != nil {
		t.Fatal(err)
	}
	want := collect(t, m.NewSession(), prompt, o)
	return &drive{about: about, prompt: prompt, o: o, stream: st, want: want}
}

// step gives the model random pieces of some of the streams in one Eval, which may fail, and takes
// the tokens.
func step(t *testing.T, m *model.Model, random *rand.Rand, drives []*drive) {
	t.Helper()
	var batch []model.Input
	for _, d := range drives {
		in, ok := d.stream.Input(random.IntN(5))
		if !ok || random.IntN(3) == 0 {
			continue
		}
		if in.Visit != nil && random.IntN(4) == 0 { // like an Eval that fails in a later pass
			logits := make([]float32, 29)
			logits[random.IntN(29)] = 9
			in.Visit(model.Row{Index: len(in.Tokens) - 1, Logits: logits})
		} else {
			batch = append(batch, in)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if random.IntN(4) == 0 {
		cancel()
	}
	if err := m.Eval(ctx, batch...); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, d := range drives {
		tok, ok, err := d.stream.Next()
		if err != nil {
			t.Fatalf("%s: %v", d.about, err)
		}
		if ok {
			d.got = append(d.got, tok)
		}
	}
}

func TestAStoppedStreamLeavesItsSessionReadyToGoOn(t *testing.T) {
	m := tiny(t, fixture.Options{})
	random := rand.New(rand.NewPCG(10, 0))
	for name, o := range endings() {
		for range sized(30, 1000) {
			d := newDrive(t, m, name, make([]int, 1+random.IntN(9)), o)
			for range random.IntN(80) {
				step(t, m, random, []*drive{d})
			}
			finish := ""
			if n := len(d.got); n > 0 {
				finish = d.got[n-1].Finish
			}
			d.stream.Stop()
			if _, ok := d.stream.Input(0); ok || !d.stream.Done() {
				t.Errorf("%s: a stopped stream wants to evaluate", name)
			}
			y := yielded{IDs: ids(d.got), Finish: finish}
			checkGoesOn(t, d.stream.Session(), d.prompt, y, o, d.want)
		}
	}
}

func TestPushTakesLogitsWhereNextWould(t *testing.T) {
	m := tiny(t, fixture.Options{})
	s := m.NewSession()
	st, err := NewStream(s, []int{1, 2}, Options{MaxTokens: 2})
	if err != nil {
		t.Fatal(err)
	}
	logits := make([]float32, 29)
	logits[17] = 3
	_, err = st.Push(logits)
	if err == nil || !strings.Contains(err.Error(), "2 of its tokens") {
		t.Errorf("logits too early: %v", err)
	}
	for i := range 2 {
		in, _ := st.Input(0)
		if err := m.Eval(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		tok, err := st.Push(logits)
		if err != nil || tok.ID != 17 || tok.LogProb != sample.LogProb(logits, 17) {
			t.Errorf("token %d: %v, %v; want id 17", i, tok, err)
		}
	}
	if _, err := st.Push(logits); err == nil || !slices.Equal(s.Tokens(), []int{1, 2, 17}) {
		t.Errorf("after the last token: error %v, the session holds %v", err, s.Tokens())
	}
}

func TestErrorsOfStreamsAreTheLastThingReported(t *testing.T) {
	m := tiny(t, fixture.Options{})
	var got []error
	for _, err := range Generate(context.Background(), m.NewSession(), []int{1}, Options{}) {
		got = append(got, err)
		m.Close()
	}
	if len(got) != 2 || got[0] != nil || got[1] != model.ErrClosed {
		t.Errorf("%v, want a token and then that the model is closed", got)
	}
	m = tiny(t, fixture.Options{})
	for _, err := range Generate(context.Background(), m.NewSession(), []int{29}, Options{}) {
		if err == nil || err.Error() != "token 0: id 29, want 0 to 28" {
			t.Errorf("an id outside the vocabulary: %v", err)
		}
	}
}

// A detached stream is Generate but for where the logits come from: here each is of a session of
// its own. The context slides on the way.
func TestADetachedStreamChoosesAsGenerateDoes(t *testing.T) {
	m := tiny(t, fixture.Options{})
	o := Options{MaxTokens: 40, Overflow: OverflowSlide, EndOfText: []int{}, Top: 2}
	o.Temperature, o.Seed, o.TopK, o.RepeatPenalty = 1, 7, 9, 1.3
	want := collect(t, m.NewSession(), []int{1, 2, 17}, o)
	st, err := NewDetached(m.Config(), []int{1, 2, 17}, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []Token
	for !st.Done() {
		s := m.NewSession()
		err := m.Eval(context.Background(), model.Input{Session: s, Tokens: st.Context()})
		if err != nil {
			t.Fatal(err)
		}
		tok, err := st.Push(s.Logits())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tok)
		s.Release()
	}
	if len(want) != 40 || !same(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestADetachedStreamRefusesWhatNeedsASession(t *testing.T) {
	c := tiny(t, fixture.Options{}).Config()
	for name, o := range map[string]Options{
		"ban": {Ban: []string{"a"}}, "echo": {Echo: EchoPrompt}, "lookup": {Lookup: 3},
		"draft":    {Draft: &guess.Model{}},
		"guidance": {Params: sample.Params{Guidance: &sample.Guidance{Scale: 2}}},
	} {
		if _, err := NewDetached(c, []int{1}, o); err == nil ||
			!strings.Contains(err.Error(), "which need a session") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewDetached(c, make([]int, 24), Options{}); err == nil {
		t.Error("24 tokens in a context of 23: no error")
	}
}

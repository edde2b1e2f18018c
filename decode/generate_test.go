package decode

// Texts of scripted logits, and the order of the tokens of several texts.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
)

// script is a model whose session holds some tokens: rule returns the logits after any tokens.
type script struct {
	rule     func(tokens []int) []float32
	timeline []int // the tokens that the session holds
}

// counting prefers the id one above the last, modulo n.
func counting(n int) func([]int) []float32 {
	return func(tokens []int) []float32 {
		logits := make([]float32, n)
		logits[(tokens[len(tokens)-1]+1)%n] = 5
		return logits
	}
}

// play generates from the tokens of the timeline.
func play(s *script, l limits, prompt []int, o Options) (tokens []Token, err error) {
	st, err := newStream(l, s.timeline, prompt, o)
	if err != nil {
		return nil, err
	}
	for !st.Done() {
		s.timeline = slices.Clone(st.context)
		t, err := st.Push(s.rule(s.timeline))
		if err != nil {
			return tokens, err
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

func ids(tokens []Token) (ids []int) {
	for _, t := range tokens {
		ids = append(ids, t.ID)
	}
	return ids
}

func text(tokens []Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.Text)
	}
	return b.String()
}

var small = limits{context: 11, vocabulary: 26, first: -1}

func TestSixIdsAndSixNewOnesFitAContextOfEleven(t *testing.T) {
	s := &script{rule: counting(26)}
	tokens, err := play(s, small, []int{0, 1, 2, 3, 4, 5}, Options{MaxTokens: 6})
	if err != nil || !slices.Equal(ids(tokens), []int{6, 7, 8, 9, 10, 11}) ||
		tokens[5].Finish != FinishLength {
		t.Errorf("%v, %v", tokens, err)
	}
	if len(s.timeline) != 11 {
		t.Errorf("the timeline holds %d tokens, want 11: the last is not evaluated",
			len(s.timeline))
	}
}

func TestWhatCannotFitIsRefusedBeforeAnythingRuns(t *testing.T) {
	for _, c := range []struct {
		about        string
		held, prompt int
		o            Options
		want         string
	}{
		{"prompt", 0, 12, Options{}, "prompt of 12 tokens: context: 0 tokens and 12 more, want at most 11 (n_positions)"},
		{"prompt and what the session holds", 7, 5, Options{},
			"prompt of 5 tokens: context: 7 tokens and 5 more, want at most 11 (n_positions)"},
		{"new tokens", 0, 6, Options{MaxTokens: 7},
			"prompt of 6 tokens and 7 new ones (the last takes no position): context: 6 tokens and 6 more, want at most 11 (n_positions)"},
		{"new tokens after held ones", 3, 3, Options{MaxTokens: 7},
			"prompt of 3 tokens and 7 new ones"},
		{"more than an int holds", 0, 6, Options{MaxTokens: math.MaxInt}, "prompt of 6 tokens and"},
		{"nothing to start from", 0, 0, Options{}, "empty prompt: want a bos_token_id"},
		{"too long before wrong options", 0, 1, Options{Params: sample.Params{TopK: -1}}, "top-k -1"},
	} {
		s := &script{rule: counting(26), timeline: make([]int, c.held)}
		_, err := play(s, small, make([]int, c.prompt), c.o)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.about, err, c.want)
		}
	}
}

func TestWithoutMaxTokensTheTextEndsAtTheContextsEnd(t *testing.T) {
	for _, prompt := range []int{1, 6, 11} {
		s := &script{rule: counting(26)}
		tokens, err := play(s, small, make([]int, prompt), Options{})
		if want := 11 - prompt + 1; err != nil || len(tokens) != want ||
			tokens[want-1].Finish != FinishLength {
			t.Errorf("prompt of %d: %v, %v; want %d tokens", prompt, tokens, err, want)
		}
	}
}

func TestTruncateDropsTheOldestPromptTokens(t *testing.T) {
	for _, c := range []struct {
		held, prompt, max int
		// how many were dropped, the first id that stays, how many new tokens come
		dropped, first, news int
	}{
		{0, 6, 6, 0, 0, 6},    // fits as it is
		{0, 6, 8, 2, 2, 8},    // 4 of the prompt and 8 new ones
		{0, 20, 3, 11, 11, 3}, // a long prompt leaves room for the requested tokens
		{0, 20, 11, 19, 19, 11},
		{0, 11, 1, 0, 0, 1},
		{0, 12, 1, 1, 1, 1},
		{4, 8, 1, 1, 1, 1},     // the tokens that the session held are the oldest
		{0, 6, 12, 0, 0, 6},    // no cut could make 12 fit: the context's end
		{0, 20, 12, 15, 15, 7}, // nor here: the newest half, then the context's end
		{0, 20, 0, 15, 15, 7},  // no MaxTokens: the same
		{10, 10, 0, 15, 15, 7}, // the same with held tokens
		{0, 11, 0, 0, 0, 1},    // a prompt that fits is not cut
		{0, 11, 999, 0, 0, 1},  // even so
	} {
		s := &script{rule: counting(26), timeline: upTo(0, c.held)}
		tokens, err := play(s, small, upTo(c.held, c.held+c.prompt),
			Options{MaxTokens: c.max, Overflow: OverflowTruncate})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if len(tokens) != c.news || tokens[0].Dropped != c.dropped || s.timeline[0] != c.first {
			t.Errorf("%+v: %d tokens, dropped %d, first %d", c, len(tokens), tokens[0].Dropped,
				s.timeline[0])
		}
		if last := tokens[len(tokens)-1]; last.Finish != FinishLength {
			t.Errorf("%+v: finish %q, want %q", c, last.Finish, FinishLength)
		}
	}
}

func upTo(from, to int) (ids []int) {
	for id := from; id < to; id++ {
		ids = append(ids, id)
	}
	return ids
}

func TestSlideGoesOnWithTheNewestHalf(t *testing.T) {
	s := &script{rule: counting(26)}
	tokens, err := play(s, small, upTo(0, 9), Options{MaxTokens: 17, Overflow: OverflowSlide})
	if err != nil || !slices.Equal(ids(tokens), upTo(9, 26)) || tokens[16].Finish != FinishLength {
		t.Fatalf("%v, %v", tokens, err)
	}
	// 0..10 fill the context. 11 finds it full: 7 to 11 stay, and 12 is the next token. 17 fills it
	// again: 18 slides.
	for i, tok := range tokens {
		want := 0
		if tok.ID == 12 || tok.ID == 19 || tok.ID == 26 {
			want = 7
		}
		if tok.Dropped != want {
			t.Errorf("token %d, id %d: dropped %d, want %d", i, tok.ID, tok.Dropped, want)
		}
	}
	if !slices.Equal(s.timeline, upTo(14, 25)) {
		t.Errorf("the timeline holds %v", s.timeline)
	}
	s = &script{rule: counting(26)}
	tokens, err = play(s, small, upTo(0, 20), Options{MaxTokens: 1, Overflow: OverflowSlide})
	if err != nil || tokens[0].ID != 20 || tokens[0].Dropped != 15 ||
		!slices.Equal(s.timeline, upTo(15, 20)) {
		t.Errorf("a prompt longer than the context: %v, %v, timeline %v", tokens, err, s.timeline)
	}
	s = &script{rule: counting(26)}
	tokens, err = play(s, limits{context: 1, vocabulary: 26}, []int{3},
		Options{MaxTokens: 4, Overflow: OverflowSlide})
	if err != nil || !slices.Equal(ids(tokens), []int{4, 5, 6, 7}) || tokens[1].Dropped != 1 {
		t.Errorf("a context of one: %v, %v", tokens, err)
	}
}

func TestAnEmptyPromptStartsFromTheFirstToken(t *testing.T) {
	l := small
	l.first = 25
	s := &script{rule: counting(26)}
	tokens, err := play(s, l, nil, Options{MaxTokens: 2})
	if err != nil || !slices.Equal(ids(tokens), []int{0, 1}) ||
		!slices.Equal(s.timeline, []int{25, 0}) {
		t.Errorf("%v, %v, timeline %v", tokens, err, s.timeline)
	}
}

func TestEndOfTextEndsTheTextAndHasNone(t *testing.T) {
	l := small
	l.endOfText = []int{4, 9}
	s := &script{rule: counting(26)}
	tokens, err := play(s, l, []int{1}, Options{Vocabulary: letters(26), Stop: []string{"dx"}})
	if err != nil || !slices.Equal(ids(tokens), []int{2, 3, 4}) ||
		tokens[2].Finish != FinishEndOfText {
		t.Fatalf("%v, %v", tokens, err)
	}
	if tokens[0].Text != "c" || tokens[1].Text != "" || tokens[2].Text != "d" {
		t.Errorf("texts of %v: want c, nothing while d may begin a stop string, then d", tokens)
	}
	l.endOfText = []int{26}
	if _, err := play(&script{rule: counting(26)}, l, []int{1}, Options{}); err == nil ||
		!strings.Contains(err.Error(), "end-of-text id 26: want 0 to 25") {
		t.Errorf("an end-of-text id outside the vocabulary: %v", err)
	}
}

func TestAStopStringEndsTheText(t *testing.T) {
	for _, c := range []struct {
		stop   []string
		max    int
		want   string
		finish string
	}{
		{[]string{"def"}, 0, "bc", FinishStop},
		{[]string{"zz", "b"}, 0, "", FinishStop},
		{[]string{"fgx", "ef"}, 5, "bcd", FinishStop}, // complete with the last token allowed
		{[]string{"efg"}, 5, "bcdef", FinishLength},   // begun with it
	} {
		s := &script{rule: counting(26)}
		tokens, err := play(s, small, []int{0},
			Options{MaxTokens: c.max, Vocabulary: letters(26), Stop: c.stop})
		if err != nil || text(tokens) != c.want || tokens[len(tokens)-1].Finish != c.finish {
			t.Errorf("%q: %q, %v; want %q, %s", c.stop, text(tokens), err, c.want, c.finish)
		}
	}
}

func TestTheTextIsTheTokensBytesInWholeRunes(t *testing.T) {
	s := &script{rule: counting(4)}
	tokens, err := play(s, small, []int{3}, Options{MaxTokens: 6,
		Vocabulary: pieces{"h\xc3", "\xa9 \xe2", "\x82\xac", "!"}})
	if err != nil || text(tokens) != "hé €!hé \xe2" || tokens[0].Text != "h" {
		t.Errorf("%v, %v", tokens, err)
	}
}

func TestTheRepetitionPenaltySeesTheNewestTokens(t *testing.T) {
	flat := func([]int) []float32 { return []float32{4, 3.9, 3.8, 3.7, 3.6} }
	s := &script{rule: flat}
	tokens, err := play(s, small, []int{0}, Options{MaxTokens: 7,
		Params: sample.Params{RepeatPenalty: 2}})
	if err != nil || !slices.Equal(ids(tokens), []int{1, 2, 3, 4, 0, 0, 0}) {
		t.Errorf("over the whole context: %v, %v", ids(tokens), err)
	}
	tokens, err = play(&script{rule: flat}, small, []int{0},
		Options{MaxTokens: 7, Params: sample.Params{RepeatPenalty: 2, RepeatLastN: 2}})
	if err != nil || !slices.Equal(ids(tokens), []int{1, 2, 0, 1, 2, 0, 1}) {
		t.Errorf("over two tokens: %v, %v", ids(tokens), err)
	}
}

func TestATokenComesWithTheLikeliestInItsPlace(t *testing.T) {
	rule := func([]int) []float32 { return []float32{1, 3, 2, 3} }
	for top, want := range [][]int{{}, {1}, {1, 3}, {1, 3, 2}, {1, 3, 2, 0}, {1, 3, 2, 0}} {
		o := Options{MaxTokens: 2, Top: top, Vocabulary: spelled{4},
			Params: sample.Params{Temperature: 9}}
		tokens, err := play(&script{rule: rule}, small, []int{0}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, tok := range tokens {
			if len(tok.Top) != len(want) {
				t.Fatalf("%d asked for: %v", top, tok.Top)
			}
			for i, id := range want {
				a := sample.Alternative{ID: id, Text: string(rune('a' + id)),
					LogProb: sample.LogProb(rule(nil), id)}
				if tok.Top[i] != a {
					t.Errorf("alternative %d of %d is %v, want %v", i, top, tok.Top[i], a)
				}
			}
		}
	}
	tokens, err := play(&script{rule: rule}, small, []int{0}, Options{MaxTokens: 1, Top: 1})
	if err != nil || tokens[0].Top[0].Text != "" {
		t.Errorf("without a vocabulary: %v, %v", tokens, err)
	}
	if err := (&Options{Top: -1}).Check(); err == nil {
		t.Error("top -1: want an error")
	}
}

func TestLogitsThatAreNotFiniteEndTheTextWithAnError(t *testing.T) {
	s := &script{rule: func(tokens []int) []float32 {
		logits := counting(26)(tokens)
		if len(tokens) == 4 {
			logits[7] = float32(math.NaN())
		}
		return logits
	}}
	tokens, err := play(s, small, []int{0, 1}, Options{})
	if len(tokens) != 2 || err == nil || err.Error() != "logits after position 3: id 7 is not finite" {
		t.Errorf("%v, %v", tokens, err)
	}
}

// The order of the tokens of several texts.

// TestSamplesTakeTurnsWhateverIsGuessed: drafts are measured, so that their number differs from run
// to run; here there are none, few, and as many as there can be.
func TestSamplesTakeTurnsWhateverIsGuessed(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 64})
	m := testmodel.New(t, config, file, model.Options{Threads: 2})
	prompt := []int{1, 2, 3, 1, 2, 3, 1, 2, 3}
	o := Options{MaxTokens: 40, Params: sample.Params{Temperature: 0.7, Seed: 3}}
	order := func(o Options) string {
		var all []string
		for tok, err := range Samples(t.Context(), m.NewSession(), prompt, 11, o) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprint(tok.Sample, ":", tok.ID, tok.Finish))
		}
		return strings.Join(all, " ")
	}
	want := order(o)
	for _, lookup := range []int{1, 4, 16} {
		for _, always := range []bool{false, true} {
			o.Lookup, o.alwaysDraft = lookup, always
			if got := order(o); got != want {
				t.Errorf("lookup %d, always %v: %s\nwant %s", lookup, always, got, want)
			}
		}
	}
}

// TestTurns takes tokens of three texts as they come, and an error that waits for its turn.
func TestTurns(t *testing.T) {
	q, got := newTurns(3), ""
	yield := func(tok Token, err error) bool {
		if err != nil {
			got += " " + err.Error()
		} else {
			got += fmt.Sprintf(" %d%d", tok.Sample, tok.ID)
		}
		return true
	}
	step := func(more, wantMore bool, want string) {
		t.Helper()
		if got = strings.TrimSpace(got); got != want || more != wantMore {
			t.Errorf("%q and %v, want %q and %v", got, more, want, wantMore)
		}
		got = ""
	}
	take := func(text, id int) { q.add(text, Token{Sample: text, ID: id}, nil) }
	take(0, 0)
	take(0, 1)
	take(0, 2)
	step(q.pass(yield), true, "00")
	take(2, 0)
	step(q.pass(yield), true, "")
	take(1, 0)
	step(q.pass(yield), true, "10 20 01")
	q.add(2, Token{}, errors.New("wrong"))
	step(q.pass(yield), true, "")
	step(q.end(2, yield), true, "")
	step(q.end(1, yield), false, "wrong")
	if q.room(1) != mostAhead || q.room(0) != mostAhead-1 {
		t.Errorf("room for %d and %d more tokens", q.room(0), q.room(1))
	}
}

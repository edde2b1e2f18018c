package decode

// Banned strings: texts that go back.

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// rewritten returns the text that banned strings should give: it writes a text token by token, and
// where a banned string is complete it goes back by itself, with a new sampler for each try. It
// holds nothing back.
func rewritten(
	t *testing.T, m *model.Model, v Vocabulary, prompt []int, o Options,
) (tokens []int) {
	t.Helper()
	barred := map[int][]int{}
	plain, end := o, []int{50256}
	if plain.Ban = nil; o.EndOfText != nil {
		end = o.EndOfText
	}
	spell := func(ids []int) (text string, ends []int) {
		for _, id := range ids {
			s, err := v.(interface{ Text(int) (string, error) }).Text(id)
			if err != nil {
				t.Fatal(err)
			}
			text += s
			ends = append(ends, len(text))
		}
		return text, ends
	}
	for len(tokens) < o.MaxTokens {
		// Each position has its own random number, however many tokens were tried there.
		s, err := sample.NewSampler(plain.Params, plain.ids(end))
		if err != nil {
			t.Fatal(err)
		}
		numbers, err := sample.NewSampler(sample.Params{Temperature: 1, Seed: plain.Seed},
			sample.IDs{})
		if err != nil {
			t.Fatal(err)
		}
		for range tokens {
			if _, err := numbers.Next([]float32{0}, nil); err != nil {
				t.Fatal(err)
			}
		}
		s.State = numbers.State
		s.Barred, s.Leaves = barred[len(tokens)], m.Leaves()
		session := m.NewSession()
		context := slices.Concat(prompt, tokens)
		if err := m.Eval(t.Context(), model.Input{Session: session, Tokens: context}); err != nil {
			t.Fatal(err)
		}
		id, err := s.Next(session.Logits(), context)
		session.Release()
		if err != nil {
			t.Fatal(err)
		}
		if tokens = append(tokens, id); slices.Contains(end, id) {
			return tokens
		}
		text, ends := spell(tokens)
		at := firstOf(text, o.Ban)
		if at < 0 {
			continue
		}
		first := slices.IndexFunc(ends, func(end int) bool { return end > at })
		for n := range barred {
			if n > first {
				delete(barred, n)
			}
		}
		barred[first] = append(barred[first], tokens[first])
		tokens = tokens[:first]
	}
	return tokens
}

// firstOf returns where the string of a list begins that is complete first in a text, the longest
// if several end together, or -1.
func firstOf(text string, list []string) int {
	start, end := -1, len(text)+1
	for _, s := range list {
		if at := strings.Index(text, s); at >= 0 && (at+len(s) < end || at+len(s) == end && at < start) {
			start, end = at, at+len(s)
		}
	}
	return start
}

func TestBannedStringsGoBackToWhereTheyBegan(t *testing.T) {
	cases.NotShort(t)
	m, tok := testmodel.Demo(t, model.Options{}), demoTokenizer(t)
	prompt, err := tok.Encode("Once upon a time")
	if err != nil {
		t.Fatal(err)
	}
	wentBack := 0
	for seed := range uint64(sized(3, 12)) {
		o := Options{MaxTokens: 14, Vocabulary: tok,
			Ban:    []string{" was a", "little girl", "there", "e w", "."},
			Params: sample.Params{Temperature: 0.9, TopK: 40, Seed: seed, RepeatPenalty: 1.1}}
		want := rewritten(t, m, tok, prompt, o)
		plain := o
		plain.Ban = nil
		if !slices.Equal(ids(collect(t, m.NewSession(), prompt, plain)), want) {
			wentBack++
		}
		ways := map[string]func() []Token{
			"alone": func() []Token { return collect(t, m.NewSession(), prompt, o) },
			"with guesses": func() []Token {
				o := o
				o.Lookup, o.alwaysDraft = 5, true
				return collect(t, m.NewSession(), prompt, o)
			},
			"in a batch": func() (tokens []Token) {
				for token, err := range InABatch(t, m, 0, prompt, 1, o) {
					if err != nil {
						t.Fatal(err)
					}
					tokens = append(tokens, token)
				}
				return tokens
			},
			"as a sample": func() (tokens []Token) {
				o := o
				o.Seed--
				for token, err := range Samples(t.Context(), m.NewSession(), prompt, 2, o) {
					if err != nil {
						t.Fatal(err)
					}
					if token.Sample == 1 {
						tokens = append(tokens, token)
					}
				}
				return tokens
			},
		}
		for name, way := range ways {
			tokens := way()
			if !slices.Equal(ids(tokens), want) {
				t.Errorf("seed %d %s: %v, want %v", seed, name, ids(tokens), want)
			}
			if tokens[len(tokens)-1].Finish == "" {
				t.Errorf("seed %d %s: the last token has no Finish", seed, name)
			}
			for _, ban := range o.Ban {
				if strings.Contains(text(tokens), ban) {
					t.Errorf("seed %d %s: %q has %q", seed, name, text(tokens), ban)
				}
			}
		}
	}
	if wentBack < sized(2, 6) {
		t.Errorf("%d texts differ from those without banned strings, want more", wentBack)
	}
}

// TestABreakAmidBannedStringsLeavesTheSession breaks after each token: the session holds the tokens
// that came except the last, and it continues with the tokens that would have come.
func TestABreakAmidBannedStringsLeavesTheSession(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), demoTokenizer(t)
	prompt, err := tok.Encode("Once upon a time")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{MaxTokens: 8, Vocabulary: tok,
		Ban:    []string{" was a little dog", "girl named", "there"},
		Params: sample.Params{Temperature: 0.9, TopK: 40, Seed: 3}}
	whole := collect(t, m.NewSession(), prompt, o)
	for n := 1; n <= len(whole); n++ {
		s := m.NewSession()
		var got []int
		for token, err := range Generate(context.Background(), s, prompt, o) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, token.ID); len(got) == n {
				break
			}
		}
		if want := ids(whole[:n]); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if want := slices.Concat(prompt, got[:n-1]); !slices.Equal(s.Tokens(), want) {
			t.Errorf("after %d tokens the session holds %v, want %v", n, s.Tokens(), want)
		}
		s.Release()
	}
}

// TestBannedStringsWhereTheContextSlides writes long texts in a short context.
func TestBannedStringsWhereTheContextSlides(t *testing.T) {
	m := tiny(t, fixture.Options{})
	n := m.Config().VocabSize
	random := rand.New(rand.NewPCG(1, 1))
	for seed := range uint64(30) {
		var ban []string
		for range 8 {
			ban = append(ban, string([]byte{byte('a' + random.IntN(n)), byte('a' + random.IntN(n))}))
		}
		o := Options{MaxTokens: 60, Vocabulary: letters(n), Ban: ban, Overflow: OverflowSlide,
			EndOfText: []int{}, Params: sample.Params{Temperature: 1.5, Seed: seed}}
		s := m.NewSession()
		tokens := collect(t, s, []int{1, 2}, o)
		if len(tokens) != 60 {
			t.Fatalf("%d tokens, want 60", len(tokens))
		}
		for _, b := range ban {
			if strings.Contains(text(tokens), b) {
				t.Errorf("seed %d: %q has %q", seed, text(tokens), b)
			}
		}
		// A sample has a session of its own, which does not keep what slid.
		first, sample := o, []int{}
		first.Seed--
		for token, err := range Samples(t.Context(), m.NewSession(), []int{1, 2}, 2, first) {
			if err != nil {
				t.Fatal(err)
			}
			if token.Sample == 1 {
				sample = append(sample, token.ID)
			}
		}
		if !slices.Equal(sample, ids(tokens)) {
			t.Errorf("seed %d: %v as a sample, %v alone", seed, sample, ids(tokens))
		}
		held := s.Tokens()
		want := ids(tokens)[:len(tokens)-1]
		want = want[len(want)-min(len(held), len(want)):]
		if !slices.Equal(held[len(held)-len(want):], want) {
			t.Errorf("seed %d: the session holds %v, want it to end with %v", seed, held, want)
		}
	}
}

// TestForksGoBackByThemselves forks a stream at each of its tokens: both write the same.
func TestForksGoBackByThemselves(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for seed := range uint64(6) {
		o := Options{MaxTokens: 20, Vocabulary: letters(29),
			Ban: []string{"ab", "cde", "fgh", "ji", "kl", "mn", "op", "qr"}, EndOfText: []int{},
			Params: sample.Params{Temperature: 1.5, Seed: seed}}
		want := ids(collect(t, m.NewSession(), []int{1}, o))
		first, err := NewStream(m.NewSession(), []int{1}, o)
		if err != nil {
			t.Fatal(err)
		}
		streams, texts := []*Stream{first}, [][]int{nil}
		for steps := 0; slices.ContainsFunc(streams, func(s *Stream) bool { return !s.Done() }); steps++ {
			if steps%3 == 0 && len(streams) < 6 {
				last := len(streams) - 1
				streams = append(streams, streams[last].Fork())
				texts = append(texts, slices.Clone(texts[last]))
			}
			var batch []model.Input
			for _, s := range streams {
				batch = s.inputs(batch)
			}
			if err := m.Eval(t.Context(), batch...); err != nil {
				t.Fatal(err)
			}
			for i, s := range streams {
				for s.Ready() {
					token, ok, err := s.Next()
					if err != nil {
						t.Fatal(err)
					}
					if ok {
						texts[i] = append(texts[i], token.ID)
					}
				}
			}
		}
		for i, got := range texts {
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, fork %d: %v, want %v", seed, i, got, want)
			}
		}
	}
}

// TestMemoryIsGivenBackAmidBannedStrings takes a stream's memory after one of its tokens, as a
// Batcher does while a caller is slow, and ends it after the next.
func TestMemoryIsGivenBackAmidBannedStrings(t *testing.T) {
	m := tiny(t, fixture.Options{})
	o := Options{MaxTokens: 20, Vocabulary: letters(29), EndOfText: []int{},
		Params: sample.Params{Temperature: 1.5, Seed: 1}}
	plain := text(collect(t, m.NewSession(), []int{1}, o))
	o.Ban = []string{plain[2:8] + "!", plain[10:12]} // tokens are held, and then ready together
	want := ids(collect(t, m.NewSession(), []int{1}, o))
	waited := 0
	for ends := range want {
		st, err := NewStream(m.NewSession(), []int{1}, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for len(got) <= ends {
			if !st.Ready() {
				if err := m.Eval(t.Context(), st.inputs(nil)...); err != nil {
					t.Fatal(err)
				}
			}
			token, ok, err := st.Next()
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				got = append(got, token.ID)
				if len(got) == ends {
					if st.Release(); st.bans.waiting() {
						waited++
					}
				}
			}
		}
		held := slices.Concat([]int{1}, got[:ends])
		if st.Stop(); !slices.Equal(got, want[:ends+1]) ||
			st.Session().Matches(held) < st.Session().Len() {
			t.Errorf("%v, want the beginning of %v; the session holds %v", got, want,
				st.Session().Tokens())
		}
	}
	if waited == 0 {
		t.Error("no token was ready when the memory was taken")
	}
}

func TestADistributionHasNoIDThatCompletesABannedString(t *testing.T) {
	cases.NotShort(t)
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	prompt, err := tok.Encode("Tom said: é, Once upon a ti")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		isNew int
		ban   []string
	}{
		{0, []string{"me"}}, {0, []string{"time"}}, {1, []string{"time", " the", "on a"}},
		{2, []string{" time", "ti"}}, {9, []string{"a tiny", "é, Once upon a time", "x"}},
	} {
		o := Options{Vocabulary: tok, Ban: c.ban, Params: sample.Params{Temperature: 1,
			Generated: c.isNew}}
		st, err := NewStream(m.NewSession(), prompt, o)
		if err != nil {
			t.Fatal(err)
		}
		in, _ := st.Input(0)
		if err := m.Eval(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		d, err := st.Distribution()
		if err != nil {
			t.Fatal(err)
		}
		tail, err := tok.Decode(prompt[len(prompt)-c.isNew:])
		if err != nil {
			t.Fatal(err)
		}
		found := map[int]bool{}
		for _, k := range d.Chances {
			found[k.ID] = true
		}
		out := 0
		for id := range tok.Size() {
			text, err := tok.Text(id)
			if err != nil {
				t.Fatal(err)
			}
			want := !slices.ContainsFunc(c.ban, func(ban string) bool {
				return id != 50256 && strings.Count(tail+text, ban) > strings.Count(tail, ban)
			})
			if !want {
				out++
			}
			if found[id] != want {
				t.Fatalf("%+v: id %d, %q, may come next: %v, want %v", c, id, text, found[id], want)
			}
		}
		if step := d.Steps[len(d.Steps)-1]; out == 0 || step.Name != "ban" ||
			step.Left != tok.Size()-out {
			t.Errorf("%+v: %d ids are out, steps %v", c, out, d.Steps)
		}
		st.Stop()
	}
}

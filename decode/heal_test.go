package decode

// A prompt that ends inside a word continues with whole tokens.

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/constrain"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// gpt2Bytes are the bytes of GPT-2's tokens.
func gpt2Bytes(t *testing.T) [][]byte {
	t.Helper()
	tokens, err := tokenizer.GPT2().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// TestHealingOneTokenIsBruteForce compares the ids that may follow, and what the demo says of them.
// Where more than one token is to be taken back, the prompt may only lose the last.
func TestHealingOneTokenIsBruteForce(t *testing.T) {
	var cases []struct {
		Prompt  string  `json:"prompt"`
		IDs     []int   `json:"ids"`
		Dropped int     `json:"dropped"`
		Count   int     `json:"count"`
		IDSum   int     `json:"id_sum"`
		Greedy  int     `json:"greedy"`
		Prob    float64 `json:"greedy_prob"`
	}
	if err := fixture.Decoding("healing", &cases); err != nil {
		t.Fatal(err)
	}
	m, tokens := testmodel.Demo(t, model.Options{}), gpt2Bytes(t)
	for _, c := range cases {
		h := NewHealing(tokens, c.IDs, len(c.IDs)-1)
		if want := c.IDs[:len(c.IDs)-1]; !slices.Equal(h.Prompt, want) {
			t.Errorf("%q: %v of the prompt is left, want %v", c.Prompt, h.Prompt, want)
		}
		mask := make([]uint64, 2+len(tokens)/64)
		if err := h.Matcher(nil).Mask(mask); err != nil {
			t.Fatal(err)
		}
		var open []int
		sum := 0
		for id := range tokens {
			if mask[id/64]>>(id%64)&1 == 1 {
				open, sum = append(open, id), sum+id
			}
		}
		if len(open) != c.Count || sum != c.IDSum {
			t.Errorf("%q: %d ids of sum %d, want %d of sum %d", c.Prompt, len(open), sum, c.Count,
				c.IDSum)
		}
		s := m.NewSession()
		got := collect(t, s, h.Prompt, Options{MaxTokens: 1, Healing: h})
		logits := make([]float32, len(open))
		in := model.Input{Session: m.NewSession(), Tokens: h.Prompt}
		if err := m.Eval(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		for i, id := range open {
			logits[i] = in.Session.Logits()[id]
		}
		at := slices.Index(open, got[0].ID)
		p := math.Exp(float64(logits[at]) - kernels.Leaves{}.LogSumExp(logits))
		if got[0].ID != c.Greedy || math.Abs(p-c.Prob) > 1e-4 {
			t.Errorf("%q: id %d of probability %v, want %d of %v", c.Prompt, got[0].ID, p, c.Greedy,
				c.Prob)
		}
	}
}

// TestHealingGoesBackAsFarAsATokenReaches looks for the cut by brute force.
func TestHealingGoesBackAsFarAsATokenReaches(t *testing.T) {
	tokens := [][]byte{[]byte("a"), []byte("b"), []byte("ab"), []byte("abba"), []byte("bab"), nil,
		[]byte("bb"), []byte("aabbab")}
	random := rand.New(rand.NewPCG(3, 3))
	cuts := map[int]int{}
	for range 3000 {
		prompt := make([]int, 1+random.IntN(7))
		for i := range prompt {
			prompt[i] = random.IntN(len(tokens))
		}
		least := random.IntN(2)
		want := len(prompt)
		for i := len(prompt) - 1; i >= least && tokens[prompt[i]] != nil; i-- {
			var end []byte
			for _, id := range prompt[i:] {
				end = append(end, tokens[id]...)
			}
			for _, tok := range tokens {
				if len(tok) > len(end) && bytes.HasPrefix(tok, end) {
					want = i
				}
			}
		}
		h := NewHealing(tokens, prompt, least)
		if len(h.Prompt) != want {
			t.Fatalf("%v: %d tokens are left, want %d", prompt, len(h.Prompt), want)
		}
		cuts[len(prompt)-want]++
		follow(t, tokens, h, random)
	}
	if cuts[0] < 100 || cuts[1] < 100 || cuts[2] < 100 || cuts[3] < 5 {
		t.Errorf("tokens taken back: %v, want a mixture", cuts)
	}
}

// follow accepts random ids that are open: they spell the bytes, and then anything.
func follow(t *testing.T, tokens [][]byte, h *Healing, random *rand.Rand) {
	t.Helper()
	m := h.Matcher(nil)
	var text []byte
	for n := 0; n < 6; n++ {
		mask := make([]uint64, 1)
		if err := m.Mask(mask); err != nil {
			t.Fatal(err)
		}
		id := random.IntN(len(tokens))
		before := m.Fork()
		if open := mask[0]>>id&1 == 1; (m.Accept(id) == nil) != open {
			t.Fatalf("%v: id %d is open: %v, and Accept disagrees", h.taken, id, open)
		} else if !open {
			n--
			continue
		}
		if random.IntN(4) == 0 {
			if err := m.Rewind(1); err != nil {
				t.Fatal(err)
			}
			m = before
			continue
		}
		text = append(text, tokens[id]...)
		if short := min(len(text), len(h.Bytes)); !bytes.Equal(text[:short], h.Bytes[:short]) {
			t.Fatalf("%v: the text %q does not begin with %q", h.taken, text, h.Bytes)
		}
	}
}

// TestHealedTextsBeginWithWhatWasTakenBack also checks that stop and banned strings within those
// bytes do not count, and that speculation and searches heal too.
func TestHealedTextsBeginWithWhatWasTakenBack(t *testing.T) {
	cases.NotShort(t)
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	for prompt, first := range map[string]string{
		"The little gi": " girl", "They went to the par": " park", "Onc": "Once",
		"She was very ": " happy",
	} {
		ids, err := tok.Encode(prompt)
		if err != nil {
			t.Fatal(err)
		}
		h := NewHealing(gpt2Bytes(t), ids, 0)
		left, err := tok.Decode(h.Prompt)
		if err != nil || left+string(h.Bytes) != prompt {
			t.Errorf("%q: %q is left and %q taken back, %v", prompt, left, h.Bytes, err)
		}
		inside := []string{string(h.Bytes)}
		o := Options{MaxTokens: 5, Vocabulary: tok, Healing: h, Stop: inside, Ban: inside}
		if got := text(collect(t, m.NewSession(), h.Prompt, o)); !strings.HasPrefix(got, first) {
			t.Errorf("%q goes on %q, want %q first", prompt, got, first)
		}
		o.Temperature = 1.5
		for o.Seed = range 5 {
			want := collect(t, m.NewSession(), h.Prompt, o)
			if got := text(want); !strings.HasPrefix(got, string(h.Bytes)) {
				t.Errorf("%q goes on %q, want %q first", prompt, got, h.Bytes)
			}
		}
	}
}

func TestStopAndBannedStringsMayBeginInWhatWasTakenBack(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	ids, err := tok.Encode("The little gi")
	if err != nil {
		t.Fatal(err)
	}
	h := NewHealing(gpt2Bytes(t), ids, 0)
	if string(h.Bytes) != " gi" {
		t.Fatalf("%q is taken back, want \" gi\"", h.Bytes)
	}
	o := Options{MaxTokens: 6, Vocabulary: tok, Healing: h}
	plain := text(collect(t, m.NewSession(), h.Prompt, o))
	if !strings.HasPrefix(plain, " girl") {
		t.Fatalf("the text is %q, want girl", plain)
	}
	for stop, want := range map[string]string{
		"girl": " ", " g": plain, "gi": plain, "rl": " gi", " girl w": "",
	} {
		o.Stop = []string{stop}
		got := text(collect(t, m.NewSession(), h.Prompt, o))
		if got != want {
			t.Errorf("with the stop string %q the text is %q, want %q", stop, got, want)
		}
	}
	o.Stop = nil
	for i := range sized(6, 20) {
		seed := uint64(i * 20 / sized(6, 20))
		o.Seed, o.Temperature = seed, float64(seed)/10
		for _, ban := range []string{"girl", " gir", "iant", " g"} {
			o.Ban = []string{ban}
			got := text(collect(t, m.NewSession(), h.Prompt, o))
			if !strings.HasPrefix(got, " gi") {
				t.Errorf("without %q: %q, want \" gi\" first", ban, got)
			}
			if at := strings.LastIndex(got, ban); at >= 0 && at+len(ban) > len(" gi") {
				t.Errorf("without %q, seed %d: %q", ban, seed, got)
			}
		}
	}
}

// choosing returns the constraint that a text is one of some strings, and a function that reports
// whether a text begins one.
func choosing(t *testing.T, list []string) (constrain.Matcher, func(string) bool) {
	t.Helper()
	v, err := constrain.NewVocabulary(gpt2Bytes(t), constrain.VocabularyOptions{Ends: []int{50256}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := constrain.Choice(v, list...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	return text, func(text string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, text) })
	}
}

// TestAFormBeginsAfterWhatWasTakenBack compares the ids that may come with brute force, at each
// position of texts that continue and go back at random.
func TestAFormBeginsAfterWhatWasTakenBack(t *testing.T) {
	cases.NotShort(t)
	tokens, tok := gpt2Bytes(t), tokenizer.GPT2()
	random := rand.New(rand.NewPCG(5, 5))
	lists := [][]string{
		{"rl", "raffe", "rls and boys", "", "ant é", "你好"}, {"appy", "es", "yes", "y"},
		{"k.", "ks", "k", "\nThe end"},
	}
	overhangs, ends := 0, 0
	for i, prompt := range []string{
		"The little gi", "She was h", "She was ", "They went to the par", "x", "The little gi",
	} {
		ids, err := tok.Encode(prompt)
		if err != nil {
			t.Fatal(err)
		}
		h := NewHealing(tokens, ids, 0)
		for j, list := range lists {
			if !cases.Long && j != i%len(lists) {
				continue
			}
			form, begins := choosing(t, list)
			m, text := h.Matcher(form.Fork()), []string{""}
			for range 8 {
				now := text[len(text)-1]
				mask := make([]uint64, 786)
				if err := m.Mask(mask); err != nil {
					t.Fatal(err)
				}
				var open []int
				for id, b := range tokens {
					next := now + string(b)
					beyond, healed := strings.CutPrefix(next, string(h.Bytes))
					// Before all bytes are spelled, only the tokens that were taken back may spell
					// a part of them.
					want := len(b) > 0 && (healed && begins(beyond) || !healed &&
						slices.Contains(h.taken, id) && strings.HasPrefix(string(h.Bytes), next))
					if id == 50256 {
						beyond, healed = strings.CutPrefix(now, string(h.Bytes))
						want = healed && slices.Contains(list, beyond)
					}
					if got := mask[id/64]>>(id%64)&1 == 1; got != want {
						t.Fatalf("%q, %q after %q: id %d, %q, is open: %v, want %v", prompt, list, now,
							id, b, got, want)
					}
					if want {
						open = append(open, id)
						if len(now) < len(h.Bytes) && len(beyond) > 0 && healed {
							overhangs++
						}
					}
				}
				if len(open) == 0 || random.IntN(4) == 0 {
					n := random.IntN(len(text))
					if err := m.Rewind(n); err != nil {
						t.Fatal(err)
					}
					text = text[:len(text)-n]
					continue
				}
				id := open[random.IntN(len(open))]
				if m = m.Fork(); m.Accept(id) != nil {
					t.Fatalf("%q after %q: id %d is open, and refused", prompt, now, id)
				}
				if id == 50256 {
					ends++
					if !m.(*healed).Complete() || m.Rewind(1) != nil {
						t.Fatalf("%q: the text %q is complete, and not said to be", prompt, now)
					}
					continue
				}
				text = append(text, now+string(tokens[id]))
			}
		}
	}
	if overhangs == 0 || ends == 0 {
		t.Errorf("%d tokens reach into the form and %d texts end, want some", overhangs, ends)
	}
}

func TestHealedTextsAreOfTheirForm(t *testing.T) {
	cases.NotShort(t)
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	ids, err := tok.Encode("The little gi")
	if err != nil {
		t.Fatal(err)
	}
	h := NewHealing(gpt2Bytes(t), ids, 0)
	list := []string{"rl was sad", "rl was glad", "raffe ate", "ant", "ve me é"}
	form, _ := choosing(t, list)
	o := Options{Vocabulary: tok, Healing: h, Constraint: form, MaxTokens: 40,
		Params: sample.Params{Temperature: 3}}
	seen := map[string]bool{}
	for o.Seed = range uint64(40) {
		tokens := collect(t, m.NewSession(), h.Prompt, o)
		text := text(tokens)
		if last := tokens[len(tokens)-1]; last.Finish != FinishEndOfText || last.Incomplete {
			t.Errorf("%q ends by %s, incomplete: %v", text, last.Finish, last.Incomplete)
		}
		if !slices.Contains(list, strings.TrimPrefix(text, string(h.Bytes))) {
			t.Errorf("%q is not %q and one of %q", text, h.Bytes, list)
		}
		seen[text] = true
	}
	if len(seen) < 3 {
		t.Errorf("the texts are %v, want several", seen)
	}
	o.Temperature, o.MaxTokens, o.MayCut = 0, 1, true
	if tokens := collect(t, m.NewSession(), h.Prompt, o); !tokens[0].Incomplete {
		t.Errorf("one token, %q, is a whole text", tokens[0].Text)
	}
}

package sample

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// TestEveryStepAgreesWithHuggingFace compares kept sets, probabilities and draws with
// testdata/warpers.py, an implementation in numpy of the definitions that the package comment
// names.
func TestEveryStepAgreesWithHuggingFace(t *testing.T) {
	var cases []struct {
		Logits  []float32
		History []int
		Options struct {
			Temperature   float64
			TopK          int     `json:"top_k"`
			TopP          float64 `json:"top_p"`
			MinP          float64 `json:"min_p"`
			RepeatPenalty float64 `json:"repeat_penalty"`
			RepeatLastN   int     `json:"repeat_last_n"`
			Seed          uint64
		}
		Greedy     int
		Kept       []int
		Probs      []float64
		Draws      []int
		LogSoftmax float64 `json:"log_softmax"`
	}
	b, err := os.ReadFile("testdata/warpers.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 {
		t.Fatalf("%d cases, want at least 100", len(cases))
	}
	for i, c := range cases {
		o := Params{Temperature: c.Options.Temperature, TopK: c.Options.TopK, TopP: c.Options.TopP,
			MinP:          c.Options.MinP,
			RepeatPenalty: c.Options.RepeatPenalty, RepeatLastN: c.Options.RepeatLastN,
			Seed: c.Options.Seed}
		s := sampler(t, o)
		for j, want := range c.Draws {
			if got := next(t, s, c.Logits, c.History); got != want {
				t.Errorf("case %d, %+v: draw %d is %d, want %d", i, o, j, got, want)
			}
		}
		ids, probs := distribution(s)
		if !slices.Equal(ids, c.Kept) {
			t.Errorf("case %d, %+v: kept %v, want %v", i, o, ids, c.Kept)
			continue
		}
		for j, p := range probs {
			if math.Abs(p-c.Probs[j]) > 1e-13+1e-12*c.Probs[j] {
				t.Errorf("case %d, %+v: probability of %d is %v, want %v", i, o, ids[j], p,
					c.Probs[j])
			}
		}
		o.Temperature = 0
		if got := next(t, sampler(t, o), c.Logits, c.History); got != c.Greedy {
			t.Errorf("case %d, %+v: greedy %d, want %d", i, o, got, c.Greedy)
		}
		if got := LogProb(c.Logits, c.Greedy); math.Abs(got-c.LogSoftmax) > 1e-13*(1+math.Abs(c.LogSoftmax)) {
			t.Errorf("case %d: log-probability of %d is %v, want %v", i, c.Greedy, got,
				c.LogSoftmax)
		}
	}
}

// sampler returns a sampler for all ids, or for those of one IDs.
func sampler(t testing.TB, p Params, of ...IDs) *Sampler {
	t.Helper()
	var ids IDs
	if len(of) > 0 {
		ids = of[0]
	}
	s, err := NewSampler(p, ids)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func next(t testing.TB, s *Sampler, logits []float32, context []int) int {
	t.Helper()
	id, err := s.Next(logits, context)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// distribution returns the distribution of the last draw.
func distribution(s *Sampler) (ids []int, probs []float64) {
	for i, weight := range s.weights {
		if weight != 0 {
			ids = append(ids, s.id(i))
			probs = append(probs, weight/s.mass)
		}
	}
	return ids, probs
}

func TestTies(t *testing.T) {
	even := []float32{1, 1, 1, 1}
	for _, c := range []struct {
		about  string
		logits []float32
		o      Params
		want   []int
	}{
		{"top-k keeps all that equal the k-th", []float32{3, 2, 5, 2, 2, 1}, Params{TopK: 3},
			[]int{0, 1, 2, 3, 4}},
		{"top-p drops the higher id first", even, Params{TopP: 0.5}, []int{0, 1}},
		{"top-p keeps an id that the mass before it does not reach p", even, Params{TopP: 0.51},
			[]int{0, 1, 2}},
		{"top-p keeps one, however small p is", even, Params{TopP: 5e-324}, []int{0}},
		{"min-p 1 keeps all that equal the largest", []float32{7, 7, 6}, Params{MinP: 1},
			[]int{0, 1}},
		{"top-p counts what top-k left only", []float32{0, 0, -1, -1}, Params{TopK: 2, TopP: 0.5},
			[]int{0}},
		{"min-p is relative, so top-p before it changes nothing", []float32{0, -1, -9},
			Params{TopP: 0.99, MinP: 0.3}, []int{0, 1}},
	} {
		c.o.Temperature = 1
		s := sampler(t, c.o)
		next(t, s, c.logits, []int{0})
		if ids, _ := distribution(s); !slices.Equal(ids, c.want) {
			t.Errorf("%s: kept %v, want %v", c.about, ids, c.want)
		}
	}
	if got := next(t, sampler(t, Params{}), []float32{1, 4, 4, 2}, []int{0}); got != 1 {
		t.Errorf("greedy took %d of two equals, want the lower id, 1", got)
	}
}

func TestExtremeOptionsStayDefined(t *testing.T) {
	logits := []float32{-3e38, 3e38, 1, 3e38, -1}
	for _, o := range []Params{
		{Temperature: 5e-324}, {Temperature: 1e308},
		{Temperature: 1e-300, TopP: 0.9, MinP: 1, TopK: 2},
		{Temperature: 1e-320, Typical: 0.9, Eta: 0.1, TopH: 0.5, TopNSigma: 1},
		{Temperature: 1e-320, Mirostat: Mirostat{1, 5, 0.1}},
		{Temperature: 1e-320, Mirostat: Mirostat{2, 0, 1e300}},
		{Temperature: 1, TempRange: 1, TempExponent: 1e300, Typical: 5e-324},
		{Temperature: 1, XTCProbability: 1, Samplers: "llama.cpp", Typical: 1e-300, TopNSigma: 1e300},
		{Temperature: 1, FrequencyPenalty: -1e300, PresencePenalty: 1e300, TopH: 1},
		{Temperature: 1, DRY: DRY{1e300, 1e300, 0, 0, nil}, LengthDecay: LengthDecay{0, 1e300},
			Bias: []Bias{{IDs: []int{1}, Value: 1e100}, {IDs: []int{3}, Value: -1e100}}},
		{Temperature: 1, FrequencyPenalty: -1e308, PresencePenalty: 1e308, NoRepeatNgram: 2},
		{Temperature: 1, DRY: DRY{1e308, 1.75, 0, 0, nil}, TopK: 5, TopNSigma: 1},
		{Temperature: 1e308, TempRange: 1e308, TempExponent: 1, Typical: 0.5},
		{Temperature: 1e-320, FrequencyPenalty: 1, Samplers: "temperature,penalties,top-k", TopK: 2},
		{Temperature: 1, RepeatPenalty: 1e100}, {Temperature: 1, RepeatPenalty: 1e-100, TopP: 0.5},
	} {
		s := sampler(t, o, IDs{Ends: []int{1, 2}})
		for range 20 {
			next(t, s, logits, []int{0, 1, 2, 3, 4, 99, -1})
		}
		if !(s.mass >= 1) || math.IsInf(s.mass, 0) {
			t.Errorf("%+v: mass %v of %v", o, s.mass, s.kept)
		}
	}
}

func TestLogitsThatAreNotFiniteAreAnErrorThatNamesThem(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		logits []float32
		want   string
	}{
		{[]float32{1, nan, 3}, "logits after position 4: id 1 is not finite"},
		{[]float32{1, 2, inf}, "logits after position 4: id 2 is not finite"},
		{[]float32{-inf, 2, 3}, "logits after position 4: id 0 is not finite"},
		{[]float32{-inf, -inf}, "logits after position 4: id 0 is not finite"},
		{nil, "logits after position 4: want at least one id to draw, found none"},
	} {
		for _, o := range []Params{{}, {Temperature: 1, TopK: 2}} {
			if _, err := sampler(t, o).Next(c.logits, []int{0, 0, 0, 0, 0}); err == nil ||
				err.Error() != c.want {
				t.Errorf("%v: error %q, want %q", c.logits, err, c.want)
			}
		}
	}
}

func TestPaddingRowsAreNeverDrawn(t *testing.T) {
	logits := []float32{0, 1, 9, 9} // ids 2 and 3 are padding
	for _, o := range []Params{{}, {Temperature: 5}, {Temperature: 5, TopK: 1},
		{Temperature: 5, TopP: 0.9}} {
		s := sampler(t, o, IDs{Size: 2})
		for range 50 {
			if id := next(t, s, logits, []int{0}); id >= 2 {
				t.Fatalf("%+v: drew padding row %d", o, id)
			}
		}
	}
}

func TestIDsWithoutATokenAreNeverDrawn(t *testing.T) {
	logits := []float32{9, 1, 9, 0, 9}
	for _, o := range []Params{{}, {Temperature: 5}, {Temperature: 5, TopK: 1},
		{Temperature: 5, TopK: 3}, {Temperature: 5, TopP: 0.9},
		{Temperature: 5, RepeatPenalty: 2}} {
		s := sampler(t, o, IDs{Size: 4, Gaps: []int{0, 2}})
		for range 50 {
			if id := next(t, s, logits, []int{0, 2}); id != 1 && id != 3 {
				t.Fatalf("%+v: drew %d", o, id)
			}
		}
	}
	s := sampler(t, Params{}, IDs{Size: 4, Gaps: []int{0, 1, 2, 3}})
	if _, err := s.Next(logits, []int{0}); err == nil ||
		err.Error() != "logits after position 0: want at least one id to draw, found none: "+
			"vocabulary leaves none" {
		t.Errorf("nothing but gaps: %v", err)
	}
}

func TestNeighbouringSeedsDrawIndependently(t *testing.T) {
	cases.NotShort(t)
	logits := make([]float32, 16)
	const seeds = 1 << 14
	var counts [16]int
	var pairs [256]int
	last := 0
	for seed := range uint64(seeds) {
		id := next(t, sampler(t, Params{Temperature: 1, Seed: seed}), logits, []int{0})
		counts[id]++
		pairs[last*16+id]++
		last = id
	}
	// The chi-square statistics of 15 and 255 degrees of freedom exceed these bounds once in a
	// million seeds' worth.
	if x := chiSquare(counts[:], seeds); x > 58 {
		t.Errorf("first draws of %d seeds are not even: chi-square %.1f, %v", seeds, x, counts)
	}
	if x := chiSquare(pairs[:], seeds); x > 380 {
		t.Errorf("first draws of neighbouring seeds are not independent: chi-square %.1f", x)
	}
}

func chiSquare(counts []int, n int) float64 {
	want, sum := float64(n)/float64(len(counts)), 0.0
	for _, c := range counts {
		sum += (float64(c) - want) * (float64(c) - want) / want
	}
	return sum
}

func TestOptionsNobodyCanFollowAreRefusedByName(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, o := range map[string]Params{
		"temperature -0.1":      {Temperature: -0.1},
		"temperature NaN":       {Temperature: nan},
		"temperature +Inf":      {Temperature: inf},
		"top-k -1":              {TopK: -1},
		"top-p 1.1":             {TopP: 1.1},
		"top-p NaN":             {TopP: nan},
		"min-p -1":              {MinP: -1},
		"typical -1":            {Typical: -1},
		"epsilon 1":             {Epsilon: 1},
		"eta NaN":               {Eta: nan},
		"top-h 2":               {TopH: 2},
		"top-n-sigma -1":        {TopNSigma: -1},
		"XTC probability 2":     {XTCProbability: 2},
		"XTC threshold -1":      {XTCThreshold: -1},
		"temperature range -1":  {TempRange: -1},
		"samplers":              {Samplers: "top-k,nucleus"},
		"frequency penalty NaN": {FrequencyPenalty: nan},
		"presence penalty NaN":  {PresencePenalty: nan},
		"no-repeat n-gram -1":   {NoRepeatNgram: -1},
		"DRY multiplier -1":     {DRY: DRY{Multiplier: -1}},
		"DRY base -1":           {DRY: DRY{Base: -1}},
		"DRY allowed length -1": {DRY: DRY{AllowedLength: -1}},
		"DRY window -1":         {DRY: DRY{LastN: -1}},
		"min tokens -1":         {MinTokens: -1},
		"length decay":          {LengthDecay: LengthDecay{Factor: -1}},
		"generated tokens -1":   {Generated: -1},
		"bias 1 of 1":           {Bias: []Bias{{}}},
		"bias NaN":              {Bias: []Bias{{IDs: []int{1}, Value: nan}}},
		"repetition penalty -2": {RepeatPenalty: -2},
		"repetition window -1":  {RepeatLastN: -1},
	} {
		if _, err := NewSampler(o, IDs{}); err == nil || !strings.HasPrefix(err.Error(), want+":") {
			t.Errorf("%+v: error %v, want one about %s", o, err, want)
		}
	}
}

func TestChoosingAllocatesNothing(t *testing.T) {
	rows, context := gpt2Rows()
	for name, o := range samplings() {
		s := sampler(t, o, gpt2Ends())
		next(t, s, rows["normal"], context)
		for kind, logits := range rows {
			if n := testing.AllocsPerRun(3, func() { next(t, s, logits, context) }); n != 0 {
				t.Errorf("%s, %s: %v allocations a token, want 0", name, kind, n)
			}
		}
	}
}

// gpt2Rows returns rows of GPT-2's size: with a typical spread of logits, and with unusual ones.
func gpt2Rows() (rows map[string][]float32, context []int) {
	r := rand.New(rand.NewPCG(1, 2))
	rows = map[string][]float32{}
	for name, logit := range map[string]func(id int) float64{
		"normal":      func(int) float64 { return r.NormFloat64() * 3 },
		"nearly flat": func(int) float64 { return r.NormFloat64() / 10 },
		"flat":        func(int) float64 { return 1 },
		"two levels":  func(id int) float64 { return float64(id % 2) },
		"ascending":   func(id int) float64 { return float64(id) / 5000 },
		"peaked":      func(id int) float64 { return -20 * math.Log(float64(1+(id*7919)%50257)) },
	} {
		logits := make([]float32, 50257)
		for i := range logits {
			logits[i] = float32(logit(i))
		}
		rows[name] = logits
	}
	for range 500 {
		context = append(context, r.IntN(50257))
	}
	return rows, context
}

func gpt2Ends() IDs { return IDs{Ends: []int{50256}} }

func samplings() map[string]Params {
	return map[string]Params{
		"greedy": {}, "top-k": {Temperature: 0.8, TopK: 40},
		"top-k 20000": {Temperature: 0.8, TopK: 20000},
		"top-p":       {Temperature: 0.8, TopP: 0.95}, "top-p 0.5": {Temperature: 1, TopP: 0.5},
		"temperature": {Temperature: 1}, "min-p": {Temperature: 1, MinP: 0.05},
		"every filter": {Temperature: 0.8, TempRange: 0.5, TempExponent: 1, TopNSigma: 3, TopH: 0.9,
			TopK: 40, TopP: 0.95, MinP: 0.01, Typical: 0.9, Epsilon: 1e-3, Eta: 1e-3,
			XTCProbability: 0.5, XTCThreshold: 0.1},
		"llama.cpp": {Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05, Typical: 0.9,
			Samplers: "llama.cpp"},
		"context": {Temperature: 0.8, TopK: 40, RepeatPenalty: 1.2, FrequencyPenalty: 0.1,
			NoRepeatNgram: 3, DRY: DRY{0.8, 1.75, 2, 0, [][]int{{198}}}, MinTokens: 9,
			LengthDecay: LengthDecay{1, 1.1},
			Bias:        []Bias{{IDs: []int{5}, Value: 1}, {IDs: []int{5, 6}, Value: math.Inf(-1)}}, Generated: 100},
		"typical":           {Temperature: 1, Typical: 0.9},
		"llama.cpp typical": {Temperature: 1, Typical: 0.9, Samplers: "llama.cpp"},
		"all": {Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05, RepeatPenalty: 1.1,
			RepeatLastN: 64},
	}
}

func BenchmarkNext(b *testing.B) {
	rows, context := gpt2Rows()
	for kind, logits := range rows {
		for name, o := range samplings() {
			b.Run(kind+"/"+name, func(b *testing.B) {
				s := sampler(b, o, gpt2Ends())
				for b.Loop() {
					next(b, s, logits, context)
				}
			})
		}
	}
	b.Run("log-probability", func(b *testing.B) {
		for b.Loop() {
			LogProb(rows["normal"], 7)
		}
	})
}

// sized returns how many cases a random test tries: some, a fifth of them under -short, which is
// for the race detector, or all.
func sized(some, all int) int { return cases.Sized(some, all) }

package sample

// A judge that applies each step as the package comment defines it: to all scores, one after the
// other, without any shortcut.

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// A plainJudge applies steps.
type plainJudge struct {
	Params
	context []int
	scores  []float64 // by id; -Inf for removed ids
	close   bool      // rounding may decide: the case proves nothing
}

// below reports whether a is less than b, and notes where they are nearly the same.
func (j *plainJudge) below(a, b float64) bool {
	if a != b && math.Abs(a-b) <= 1e-10*max(math.Abs(a), math.Abs(b)) {
		j.close = true
	}
	return a < b
}

// probs returns the softmax of the scores.
func (j *plainJudge) probs() []float64 {
	largest, sum, p := slices.Max(j.scores), 0.0, make([]float64, len(j.scores))
	for id, x := range j.scores {
		p[id] = math.Exp(x - largest)
		sum += p[id]
	}
	for id := range p {
		p[id] /= sum
	}
	return p
}

// ranks returns the ids that are left in descending order of by, of equal ones the lowest first.
func (j *plainJudge) ranks(by []float64) (ids []int) {
	for id, x := range j.scores {
		if !math.IsInf(x, -1) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b int) int { return cmp.Or(cmp.Compare(by[b], by[a]), a-b) })
	for i := 1; i < len(ids); i++ {
		j.below(by[ids[i]], by[ids[i-1]])
	}
	return ids
}

// keep removes all other ids.
func (j *plainJudge) keep(ids []int) {
	for id := range j.scores {
		if !slices.Contains(ids, id) {
			j.scores[id] = math.Inf(-1)
		}
	}
}

// remove removes the ids for which gone returns true.
func (j *plainJudge) remove(gone func(id int) bool) {
	for id, x := range j.scores {
		if !math.IsInf(x, -1) && gone(id) {
			j.scores[id] = math.Inf(-1)
		}
	}
}

// counted returns how often each id occurs in the window, among generated tokens or all.
func (j *plainJudge) counted(all bool) map[int]int {
	from := 0
	if n := j.RepeatLastN; n > 0 {
		from = max(0, len(j.context)-n)
	}
	if j.PenaltyPrompt != nil {
		all = *j.PenaltyPrompt
	}
	if !all {
		from = max(from, len(j.context)-j.Generated)
	}
	n := map[int]int{}
	for _, id := range j.context[from:] {
		n[id]++
	}
	return n
}

func (j *plainJudge) penalties() {
	if p := j.RepeatPenalty; p != 0 {
		for id := range j.counted(true) {
			if j.scores[id] < 0 {
				j.scores[id] *= p
			} else {
				j.scores[id] /= p
			}
		}
	}
	for id, n := range j.counted(false) {
		j.scores[id] = j.scores[id] - float64(float64(n)*j.FrequencyPenalty) - j.PresencePenalty
	}
}

func (j *plainJudge) dry() {
	d, w := j.DRY, j.context
	if d.LastN > 0 && len(w) > d.LastN {
		w = w[len(w)-d.LastN:]
	}
	breaks := func(id int) bool {
		return slices.ContainsFunc(d.Breakers, func(b []int) bool { return b[0] == id })
	}
	longest := map[int]int{}
	for at := 1; at < len(w); at++ { // nothing is repeated before the first
		same, id := 0, w[at]
		for same < at && w[at-1-same] == w[len(w)-1-same] && !breaks(w[len(w)-1-same]) {
			same++
		}
		longest[id] = max(longest[id], same)
	}
	for id, n := range longest {
		if n >= d.AllowedLength && !breaks(id) {
			j.scores[id] -= d.Multiplier * math.Pow(d.Base, float64(n-d.AllowedLength))
		}
	}
}

func (j *plainJudge) noRepeatNgram() {
	n, text := j.NoRepeatNgram, j.context
	for id := range j.scores {
		gram := append(slices.Clone(text[max(0, len(text)-n+1):]), id)
		for at := 0; len(gram) == n && at+n <= len(text); at++ {
			if slices.Equal(text[at:at+n], gram) {
				j.scores[id] = math.Inf(-1)
			}
		}
	}
}

func (j *plainJudge) temperature() {
	by := j.Temperature
	if j.TempRange > 0 {
		if n := len(j.ranks(j.scores)); n > 1 {
			low, high := max(0, by-j.TempRange), by+j.TempRange
			share := entropyOf(j.probs()) / math.Log(float64(n))
			by = low + (high-low)*math.Pow(min(share, 1), j.TempExponent)
		}
	}
	for id := range j.scores {
		j.scores[id] /= by
	}
}

func (j *plainJudge) topNSigma() {
	ids := j.ranks(j.scores)
	mean, squares := 0.0, 0.0
	for _, id := range ids {
		mean += j.scores[id] / float64(len(ids))
	}
	for _, id := range ids {
		squares += (j.scores[id] - mean) * (j.scores[id] - mean) / float64(len(ids))
	}
	least := j.scores[ids[0]] - j.TopNSigma*math.Sqrt(squares)
	j.remove(func(id int) bool { return j.below(j.scores[id], least) })
}

func (j *plainJudge) topH() {
	ids := j.ranks(j.scores)
	ids = ids[:min(100, len(ids))]
	j.keep(ids)
	p := j.probs()
	most, sum := j.TopH*entropyOf(p), 0.0
	for i, id := range ids {
		if p[id] > 0 {
			sum -= p[id] * math.Log(p[id])
		}
		if i > 0 && j.below(most, sum) {
			ids = ids[:i]
			break
		}
	}
	j.keep(ids)
}

func (j *plainJudge) topK() {
	if ids := j.ranks(j.scores); j.TopK < len(ids) {
		least := j.scores[ids[j.TopK-1]]
		j.remove(func(id int) bool { return j.scores[id] < least })
	}
}

func (j *plainJudge) topP() {
	ids, p, before := j.ranks(j.scores), j.probs(), 0.0
	for i, id := range ids {
		if i > 0 && !j.below(before, j.TopP) {
			ids = ids[:i]
			break
		}
		before += p[id]
	}
	j.keep(ids)
}

func (j *plainJudge) minP() {
	p := j.probs()
	least := j.MinP * slices.Max(p)
	j.remove(func(id int) bool { return j.below(p[id], least) })
}

func (j *plainJudge) typical() {
	p, nearness, sum := j.probs(), make([]float64, len(j.scores)), 0.0
	entropy := entropyOf(p)
	for id := range p {
		nearness[id] = -math.Abs(-math.Log(p[id]) - entropy)
	}
	ids := j.ranks(nearness)
	for _, id := range ids {
		if sum += p[id]; !j.below(sum, j.Typical) {
			j.remove(func(other int) bool { return j.below(nearness[other], nearness[id]) })
			return
		}
	}
}

func (j *plainJudge) likely(least float64) {
	p := j.probs()
	best := slices.Max(p)
	j.remove(func(id int) bool { return j.below(p[id], least) && p[id] < best })
}

func (j *plainJudge) eta() {
	j.likely(min(j.Eta, math.Sqrt(j.Eta)*math.Exp(-entropyOf(j.probs()))))
}

func (j *plainJudge) xtc() {
	coin := float64(rand.NewPCG(j.Seed, ^j.Seed).Uint64()>>11) * 0x1p-53
	if coin >= j.XTCProbability || j.XTCThreshold > 0.5 {
		return
	}
	p := j.probs()
	ids := j.ranks(j.scores)
	n := len(ids) - len(slices.DeleteFunc(slices.Clone(ids), func(id int) bool {
		return !j.below(p[id], j.XTCThreshold)
	}))
	if n > 1 {
		j.keep(ids[n-1:])
	}
}

func (j *plainJudge) mirostat() {
	p, ids := j.probs(), j.ranks(j.scores)
	j.remove(func(id int) bool {
		return id != ids[0] && j.below(2*j.Mirostat.Tau, -math.Log2(p[id]))
	})
}

// take applies one step by name, if it is on.
func (j *plainJudge) take(name string) {
	steps := map[string]struct {
		on   bool
		take func()
	}{
		"penalties":       {true, j.penalties},
		"dry":             {j.DRY.Multiplier > 0, j.dry},
		"no-repeat-ngram": {j.NoRepeatNgram > 0, j.noRepeatNgram},
		"temperature":     {true, j.temperature},
		"top-n-sigma":     {j.TopNSigma > 0, j.topNSigma},
		"top-h":           {j.TopH > 0, j.topH},
		"top-k":           {j.TopK > 0, j.topK},
		"top-p":           {j.TopP > 0, j.topP},
		"min-p":           {j.MinP > 0, j.minP},
		"typical":         {j.Typical > 0, j.typical},
		"epsilon":         {j.Epsilon > 0, func() { j.likely(j.Epsilon) }},
		"eta":             {j.Eta > 0, j.eta},
		"xtc":             {j.XTCProbability > 0, j.xtc},
		"mirostat":        {true, j.mirostat},
	}
	if steps[name].on {
		steps[name].take()
	}
}

// judge returns the probabilities of all ids, nil if no id is left.
func (j *plainJudge) judge(logits []float32) []float64 {
	j.scores = make([]float64, len(logits))
	for id, x := range logits {
		j.scores[id] = float64(x)
	}
	for _, b := range j.Bias {
		j.scores[b.IDs[0]] += b.Value
	}
	plainSequenceBias(j.scores, j.context, j.SequenceBias)
	if len(j.Allowed) > 0 {
		j.remove(func(id int) bool { return !slices.Contains(j.Allowed, id) })
	}
	names := strings.Split(j.Samplers, ",")
	ofContext := func(name string) bool { return slices.Contains(SamplerNames()[:3], name) }
	first := slices.IndexFunc(names, func(name string) bool { return !ofContext(name) })
	if first < 0 {
		first = len(names)
	}
	if j.Mirostat.Version > 0 {
		names = append(slices.DeleteFunc(names, func(name string) bool {
			return !ofContext(name) && name != "temperature"
		}), "mirostat")
	}
	for i := 0; i <= len(names); i++ {
		if i == first && j.Generated < j.MinTokens {
			j.keep(slices.DeleteFunc(j.ranks(j.scores), func(id int) bool {
				return slices.Contains(anyEnds().Ends, id)
			}))
		}
		if len(j.ranks(j.scores)) == 0 {
			return nil
		}
		if i < len(names) {
			j.take(names[i])
		}
	}
	return j.probs()
}

// entropyOf returns the entropy of probabilities, in nats.
func entropyOf(p []float64) (sum float64) {
	for _, x := range p {
		if x > 0 {
			sum -= x * math.Log(x)
		}
	}
	return sum
}

package decode

// From one row of logits to one token.

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"picogpt/kernels"
	"picogpt/model"
)

// Sampler chooses tokens as the package comment defines, from Options' sampling fields, and owns
// its random numbers and its scratch memory: after the first row, choosing allocates nothing. It
// serves one timeline, one call at a time.
type Sampler struct {
	temperature, topP, minP, penalty float64
	topK, lastN, limit               int
	gaps                             []int // ids below limit that are never drawn

	state samplerState
	*scratch
}

// samplerState is what one choice leaves to the next. It is a value: to keep it is to be able to go
// back.
type samplerState struct {
	random rand.PCG
}

// scratch is memory that a choice works in and leaves behind.
type scratch struct {
	scores []float64   // [vocabulary] logits after the repetition penalty; -Inf for gaps
	kept   []candidate // what may still be drawn, ascending ids
	head   []candidate // the likeliest of kept, for top-p
	heap   []float64   // the k largest scores, for top-k
}

// scratches is memory for the choices of streams that run together: as much as is in use at a time,
// and not as much as there are streams.
type scratches struct {
	mu   sync.Mutex
	free []*scratch
}

func (s *scratches) get() *scratch {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free)
	if n == 0 {
		return &scratch{}
	}
	last := s.free[n-1]
	s.free = s.free[:n-1]
	return last
}

func (s *scratches) put(one *scratch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, one)
}

// candidate is an id that may be drawn. weight is its probability but for a common factor: the
// likeliest has weight 1.
type candidate struct {
	id            int
	score, weight float64
}

// NewSampler returns a sampler at the start of the seed's random numbers. It reads Temperature,
// TopK, TopP, MinP, RepeatPenalty, RepeatLastN, Seed and Vocabulary. An error is an *OptionError.
func NewSampler(o Options) (*Sampler, error) {
	if err := o.check(); err != nil {
		return nil, &OptionError{err}
	}
	s := &Sampler{
		temperature: o.Temperature, topP: o.TopP, minP: o.MinP, penalty: o.RepeatPenalty,
		topK: o.TopK, lastN: o.RepeatLastN, limit: math.MaxInt,
		scratch: &scratch{},
	}
	s.seed(o.Seed)
	if o.Vocabulary != nil {
		s.limit = o.Vocabulary.Size()
	}
	if v, ok := o.Vocabulary.(interface{ Gaps() []int }); ok {
		s.gaps = v.Gaps()
	}
	return s, nil
}

// seed begins the random numbers of a seed.
func (s *Sampler) seed(seed uint64) { s.state.random.Seed(seed, seed) }

// fork returns a sampler with the same random numbers to come and scratch memory of its own.
func (s *Sampler) fork() *Sampler {
	f := *s
	f.scratch = &scratch{}
	return &f
}

// Next returns the token that follows context, given logits [vocabulary], the model's after its
// last token. It leaves both as they are. A logit that is not finite is a *model.NonFiniteError.
func (s *Sampler) Next(logits []float32, context []int) (int, error) {
	if err := s.score(logits, context); err != nil {
		return 0, err
	}
	best, largest := 0, s.scores[0]
	for id, score := range s.scores {
		if score > largest {
			best, largest = id, score
		}
	}
	if s.temperature == 0 {
		return best, nil
	}
	s.keepTopK(largest)
	s.keepTopP()
	s.keepMinP()
	return s.draw(), nil
}

// score fills scores with the logits of the ids that may be drawn, after the repetition penalty.
func (s *Sampler) score(logits []float32, context []int) error {
	scores := slices.Grow(s.scores[:0], len(logits))[:len(logits)]
	for id, x := range logits {
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 { // NaN and infinities
			return &model.NonFiniteError{Position: len(context) - 1, ID: id}
		}
		scores[id] = float64(x)
	}
	s.scores = scores[:min(s.limit, len(logits))]
	s.penalise(logits, context)
	open := len(s.scores)
	for _, id := range s.gaps {
		if id < len(s.scores) {
			s.scores[id] = math.Inf(-1)
			open--
		}
	}
	if open <= 0 {
		return fmt.Errorf("logits after position %d: want at least one id to draw, found none",
			len(context)-1)
	}
	return nil
}

// penalise applies the repetition penalty to scores.
func (s *Sampler) penalise(logits []float32, context []int) {
	if s.penalty == 0 || s.penalty == 1 {
		return
	}
	if s.lastN > 0 && s.lastN < len(context) {
		context = context[len(context)-s.lastN:]
	}
	for _, id := range context {
		if id < 0 || id >= len(s.scores) {
			continue
		}
		// From the logit, not from the score: an id that occurs twice is penalised once.
		if x := float64(logits[id]); x < 0 {
			s.scores[id] = x * s.penalty
		} else {
			s.scores[id] = x / s.penalty
		}
	}
}

// keepTopK fills kept with the ids at or above the k-th largest score, and their weights at the
// temperature. Dividing by the temperature keeps the order, so it can wait until the ids are few.
func (s *Sampler) keepTopK(largest float64) {
	least := -math.MaxFloat64 // so that gaps are out
	if 0 < s.topK && s.topK < len(s.scores) {
		least = max(least, s.kthLargest(s.topK))
	}
	s.kept = s.kept[:0]
	for id, score := range s.scores {
		if score >= least {
			// The largest is taken off first: exp cannot overflow, nor can a tiny temperature make
			// Inf - Inf.
			weight := kernels.Exp64((score - largest) / s.temperature)
			s.kept = append(s.kept, candidate{id, score, weight})
		}
	}
}

// kthLargest returns the k-th largest score, for 0 < k <= vocabulary. A heap of k numbers, the
// least on top, meets mostly numbers below its top, which cost one comparison each.
func (s *Sampler) kthLargest(k int) float64 {
	heap := append(s.heap[:0], s.scores[:k]...)
	for i := k/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	least := heap[0]
	for _, score := range s.scores[k:] {
		if score > least {
			heap[0] = score
			siftDown(heap, 0)
			least = heap[0]
		}
	}
	s.heap = heap
	return least
}

// siftDown puts heap[i] where no child is less than its parent, given that both subtrees of i are
// so.
func siftDown(heap []float64, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1] < heap[child] {
			child++
		}
		if heap[i] <= heap[child] {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

// keepTopP removes from kept the least likely ids whose mass together is at most 1-p: an id stays
// if the mass of those before it in order of likelihood is below p.
func (s *Sampler) keepTopP() {
	if s.topP == 0 || s.topP == 1 {
		return
	}
	want := s.topP * mass(s.kept)
	// The head of the order is all that is needed, and most often short: sort the ids within a
	// factor of the likeliest, and widen it until they hold the mass.
	for least := 0.25; ; least *= least {
		s.head = s.head[:0]
		for _, c := range s.kept {
			if c.weight >= least {
				s.head = append(s.head, c)
			}
		}
		slices.SortFunc(s.head, likelier)
		before := 0.0
		for i, c := range s.head {
			if before >= want {
				s.head = s.head[:i]
				break
			}
			before += c.weight
		}
		if before >= want || least == 0 {
			break
		}
	}
	slices.SortFunc(s.head, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
	s.kept = append(s.kept[:0], s.head...)
}

// likelier orders by score, the largest first, and by id among equals.
func likelier(a, b candidate) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Compare(a.id, b.id)
}

// keepMinP removes the ids less likely than MinP times the likeliest, whose weight is 1.
func (s *Sampler) keepMinP() {
	n := 0
	for _, c := range s.kept {
		if c.weight >= s.minP {
			s.kept[n] = c
			n++
		}
	}
	s.kept = s.kept[:n]
}

// draw spends one random number on kept.
func (s *Sampler) draw() int {
	at := float64(s.state.random.Uint64()>>11) * 0x1p-53 * mass(s.kept) // [0, mass)
	below := 0.0
	for _, c := range s.kept {
		below += c.weight
		if at < below {
			return c.id
		}
	}
	// Not reached: below ends as the mass, term by term, and at is less than the mass even after
	// rounding.
	return s.kept[len(s.kept)-1].id
}

// mass sums weights in ascending order of ids.
func mass(kept []candidate) float64 {
	sum := 0.0
	for _, c := range kept {
		sum += c.weight
	}
	return sum
}

package eval

// Tasks: the likeliest of several continuations for each question, and benchmarks, which count how
// often it is right: of choices, and of the last word (LAMBADA).

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"picogpt/kernels"
	"picogpt/model"
)

// A Question asks which of several texts follows a context.
type Question struct {
	Context string
	// what may follow Context; a space between the two belongs to the choice
	Choices []string

	Tag any // any value; it is returned as Answer.Tag

	// For the function Choice only:
	Answer int // the index of the right choice
	// the length of each choice in bytes for ChoiceResult.ByByte; nil means those of Choices
	Bytes []int
}

func (q *Question) check() error {
	if len(q.Choices) == 0 {
		return errors.New("choices: none, want at least one")
	}
	for i, c := range q.Choices {
		if c == "" {
			return fmt.Errorf("choice %d: empty", i)
		}
	}
	return nil
}

// An Answer is the result for one question.
type Answer struct {
	Index  int      // of the question, from 0
	Tag    any      // the question's
	Best   int      // the index of the likeliest choice; of equal ones, the first
	Scores []Scored // of each choice, as for a Request with Pair set

	// Probabilities are those of the choices if one of them must follow: e^Sum of each, divided by
	// the sum of these. They add up to 1.
	Probabilities []float64
}

// Choose answers one question: which of the choices follows the context. If a choice cannot be
// scored, it returns the error of the first such choice.
func Choose(
	ctx context.Context, m *model.Model, tok Tokenizer, context string, choices ...string,
) (Answer, error) {
	questions := slices.Values([]Question{{Context: context, Choices: choices}})
	return only(ctx, Answers(ctx, m, tok, questions, ScoreOptions{}))
}

// Answers yields one Answer for each question, in order. It scores them in batches as Score does:
// see there when questions may arrive and what ends the iteration. A question that cannot be
// answered yields a *RequestError with the question's Index and Tag.
func Answers(
	ctx context.Context, m *model.Model, tok Tokenizer, questions iter.Seq[Question],
	o ScoreOptions,
) iter.Seq2[Answer, error] {
	return func(yield func(Answer, error) bool) {
		var open *openQuestion
		for s, err := range Score(ctx, m, tok, choices(questions), o) {
			var bad *RequestError
			if err != nil && !errors.As(err, &bad) {
				yield(Answer{}, err)
				return
			}
			if open == nil {
				open = s.Tag.(*openQuestion)
			}
			if open.add(s, bad); open.left > 0 {
				continue
			}
			if !yield(open.answer()) {
				return
			}
			open = nil
		}
	}
}

// An openQuestion is a question with the scores that its choices have so far.
type openQuestion struct {
	Question
	index  int
	left   int // number of choices without a score
	scores []Scored
	err    error
}

// choices yields a request for each choice of each question. The requests of a question have it as
// their tag.
func choices(questions iter.Seq[Question]) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		index := 0
		for q := range questions {
			open := &openQuestion{Question: q, index: index, left: len(q.Choices)}
			index++
			if err := q.check(); err != nil {
				open.left = 1
				if !yield(Request{Tag: open, Err: err}) {
					return
				}
				continue
			}
			for _, c := range q.Choices {
				if !yield(Request{Context: q.Context, Text: c, Pair: true, Tag: open}) {
					return
				}
			}
		}
	}
}

// add adds the score of the next choice, or the reason why there is none.
func (q *openQuestion) add(s Scored, bad *RequestError) {
	if bad != nil && q.err == nil {
		if q.err = bad.Err; q.check() == nil {
			q.err = fmt.Errorf("choice %d: %w", len(q.scores), bad.Err)
		}
	}
	s.Index, s.Tag = len(q.scores), nil
	q.scores = append(q.scores, s)
	q.left--
}

func (q *openQuestion) answer() (Answer, error) {
	a := Answer{Index: q.index, Tag: q.Tag}
	if q.err != nil {
		return a, &RequestError{q.index, q.Tag, q.err}
	}
	a.Scores = q.scores
	for i, s := range q.scores {
		if s.Sum > q.scores[a.Best].Sum {
			a.Best = i
		}
	}
	total := 0.0
	for _, s := range q.scores {
		p := kernels.Exp64(s.Sum - q.scores[a.Best].Sum)
		a.Probabilities = append(a.Probabilities, p)
		total += p
	}
	for i := range a.Probabilities {
		a.Probabilities[i] /= total
	}
	return a, nil
}

// TaskOptions say how to run a benchmark.
type TaskOptions struct {
	Batch    int            // texts in one Eval, as in ScoreOptions
	Progress func(done int) // if not nil, called after each example

	// Skip, if not nil, is called for each example that cannot be scored, with its index and the
	// error; the benchmark continues without the example. If Skip is nil, such an example ends the
	// benchmark.
	Skip func(example int, err error)
}

// An Accuracy is a share of right answers, and its standard error √(p·(1−p)/(n−1)), which is NaN if
// n is 1.
type Accuracy struct{ Value, StdErr float64 }

func accuracy(right, n int) Accuracy {
	p := float64(right) / float64(n)
	return Accuracy{p, math.Sqrt(float64(p*(1-p)) / float64(n-1))}
}

// A ChoiceResult is the accuracy of three ways to choose. Its numbers are NaN if there are no
// examples.
type ChoiceResult struct {
	Examples int
	BySum    Accuracy // the greatest log-likelihood
	ByMean   Accuracy // the greatest mean over a choice's tokens
	ByByte   Accuracy // the greatest log-likelihood for each byte of a choice
	Partial  bool     // an error ended the measurement before the last example
}

// Choice measures how often the likeliest choice is the right one; of equal choices it takes the
// first. On an error, such as the context's, it also returns the result for the questions before
// it.
func Choice(
	ctx context.Context, m *model.Model, tok Tokenizer, questions iter.Seq[Question], o TaskOptions,
) (ChoiceResult, error) {
	var n, sum, mean, bytes int
	var err error
	for a, failed := range Answers(ctx, m, tok, examples(questions), ScoreOptions{Batch: o.Batch}) {
		if failed == nil {
			failed = a.Tag.(*Question).checkAnswer(a.Index)
		}
		var bad *RequestError
		if errors.As(failed, &bad) && o.Skip != nil {
			o.Skip(bad.Index, bad.Err)
			continue
		} else if bad != nil {
			failed = fmt.Errorf("question %d: %w", bad.Index, bad.Err)
		}
		if err = failed; err != nil {
			break
		}
		q := a.Tag.(*Question)
		for way, right := range []*int{&sum, &mean, &bytes} {
			if q.best(a.Scores, way) == q.Answer {
				*right++
			}
		}
		if n++; o.Progress != nil {
			o.Progress(n)
		}
	}
	return ChoiceResult{n, accuracy(sum, n), accuracy(mean, n), accuracy(bytes, n), err != nil}, err
}

// examples yields the questions with themselves as tags, which their answers return.
func examples(questions iter.Seq[Question]) iter.Seq[Question] {
	return func(yield func(Question) bool) {
		for q := range questions {
			example := q
			q.Tag = &example
			if !yield(q) {
				return
			}
		}
	}
}

// checkAnswer checks the fields that only the function Choice uses.
func (q *Question) checkAnswer(index int) error {
	var err error
	switch {
	case q.Answer < 0 || q.Answer >= len(q.Choices):
		err = fmt.Errorf("answer: %d, want 0 to %d", q.Answer, len(q.Choices)-1)
	case q.Bytes != nil && len(q.Bytes) != len(q.Choices):
		err = fmt.Errorf("bytes: %d numbers, want %d", len(q.Bytes), len(q.Choices))
	default:
		return nil
	}
	return &RequestError{Index: index, Tag: q.Tag, Err: err}
}

// best returns the index of the choice that is best by sum, by mean or by bytes.
func (q *Question) best(scores []Scored, way int) int {
	best, most := 0, 0.0
	for i, s := range scores {
		bytes := len(q.Choices[i])
		if q.Bytes != nil {
			bytes = q.Bytes[i]
		}
		x := [3]float64{s.Sum, s.Mean, s.Sum / float64(bytes)}[way]
		if i == 0 || x > most {
			most, best = x, i
		}
	}
	return best
}

// A LambadaResult is the result of Lambada. Its numbers are NaN if there are no examples.
type LambadaResult struct {
	Examples   int
	Perplexity float64  // exp(−mean log-likelihood of the last word)
	Accuracy   Accuracy // of the greedy choice, all tokens of the word
	Partial    bool     // an error ended the measurement before the last example
}

// Lambada measures how well the last word of each text is predicted from the rest, as defined by
// lm-evaluation-harness's lambada_openai: the text is cut at its last space, and the space belongs
// to the word. On an error, such as the context's, it also returns the result for the texts before
// it.
func Lambada(ctx context.Context, m *model.Model, tok Tokenizer, texts iter.Seq[string],
	o TaskOptions) (LambadaResult, error) {
	requests := func(yield func(Request) bool) {
		for text := range texts {
			at := strings.LastIndexByte(text, ' ')
			if !yield(Request{Context: text[:max(at, 0)], Text: " " + text[at+1:], Pair: true}) {
				return
			}
		}
	}
	var r LambadaResult
	var sum float64
	right := 0
	var err error
	for s, e := range Score(ctx, m, tok, requests, ScoreOptions{Batch: o.Batch}) {
		if bad := (*RequestError)(nil); errors.As(e, &bad) && o.Skip != nil {
			o.Skip(bad.Index, bad.Err)
			continue
		}
		if err = e; err != nil {
			break
		}
		r.Examples++
		sum += s.Sum
		if s.Greedy {
			right++
		}
		if o.Progress != nil {
			o.Progress(r.Examples)
		}
	}
	r.Partial = err != nil
	r.Perplexity = kernels.Exp64(-sum / float64(r.Examples))
	r.Accuracy = accuracy(right, r.Examples)
	return r, err
}

package eval

// Choosing among continuations: for each question the likeliest one, and how often that is right.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
)

// A Question asks which of several texts follows a context.
type Question struct {
	Context string
	// what may follow Context, with the space between the two where there is to be one
	Choices []string

	Tag any // the caller's: it comes back as Answer.Tag

	// For Choice.
	Answer int // the right choice, from 0
	// the length that each choice counts for in ChoiceResult.ByByte; nil for those of Choices
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

// An Answer is what the model makes of a question.
type Answer struct {
	Index  int      // of the question, from 0
	Tag    any      // the question's
	Best   int      // the likeliest choice; of equal ones the first
	Scores []Scored // of each choice, cut from the context as in a Request that is a Pair

	// Probabilities of the choices, if one of them it must be: e^Sum of each, divided by the sum of
	// these. They add up to 1.
	Probabilities []float64
}

// Choose answers one question: which of the choices follows the context. The first choice that
// cannot be scored is an error.
func Choose(
	ctx context.Context, m *model.Model, tok Tokenizer, context string, choices ...string,
) (Answer, error) {
	questions := slices.Values([]Question{{Context: context, Choices: choices}})
	for a, err := range Answers(ctx, m, tok, questions, ScoreOptions{}) {
		var bad *RequestError
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return a, err
	}
	return Answer{}, ctx.Err()
}

// Answers yields one Answer for each question, in the order of the questions. They are scored in
// batches as by Score, which says when the questions may come and what ends the iteration: a
// question that cannot be answered yields a *RequestError, whose Index and Tag are the question's.
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

// An openQuestion is a question with the scores of some of its choices.
type openQuestion struct {
	Question
	index  int
	left   int // requests without a score
	scores []Scored
	err    error
}

// choices turns each question into the requests for its choices, which share it as their tag.
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

// add adds the score of the next choice, or why there is none.
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

// A ChoiceResult is the accuracy of three ways to choose. Its numbers are NaN where there are no
// examples.
type ChoiceResult struct {
	Examples int
	BySum    Accuracy // the greatest log-likelihood
	ByMean   Accuracy // the greatest mean over a choice's tokens
	ByByte   Accuracy // the greatest log-likelihood for each byte of a choice
	Partial  bool     // an error came before the last example
}

// Choice measures how often the right choice is the likeliest; of equal ones the first is taken. On
// an error, such as the context's, the result is that of the questions before it.
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

// examples are questions that come back as the tags of their answers.
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

// checkAnswer checks what only Choice looks at.
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

// best is the choice that is best in one of the three ways: by sum, by mean, by bytes.
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

package eval

// Multiple choice: the most likely continuation.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"picogpt/model"
)

// A Question is one example of a multiple choice.
type Question struct {
	Context string
	Choices []string // what may follow Context, with the space between the two where there is to be one
	Answer  int      // the right choice, from 0
	Bytes   []int    // the length that each choice counts for in ChoiceResult.ByByte; nil for those of Choices
}

func (q *Question) check() error {
	switch {
	case len(q.Choices) == 0:
		return errors.New("choices: none, want at least one")
	case q.Answer < 0 || q.Answer >= len(q.Choices):
		return fmt.Errorf("answer: %d, want 0 to %d", q.Answer, len(q.Choices)-1)
	case q.Bytes != nil && len(q.Bytes) != len(q.Choices):
		return fmt.Errorf("bytes: %d numbers, want %d", len(q.Bytes), len(q.Choices))
	}
	for i, c := range q.Choices {
		if c == "" {
			return fmt.Errorf("choice %d: empty", i)
		}
	}
	return nil
}

// A ChoiceResult is the accuracy of three ways to choose. Its numbers are NaN where there are no examples.
type ChoiceResult struct {
	Examples int
	BySum    Accuracy // the greatest log-likelihood
	ByMean   Accuracy // the greatest mean over a choice's tokens
	ByByte   Accuracy // the greatest log-likelihood for each byte of a choice
	Partial  bool     // an error came before the last example
}

// Choice answers each question by the log-likelihoods of its choices, cut from the context as in a Request that is a Pair; of equal ones
// the first is taken. On an error, such as the context's, the result is that of the questions before it.
func Choice(ctx context.Context, m *model.Model, tok Tokenizer, questions iter.Seq[Question], o TaskOptions) (ChoiceResult, error) {
	e := exam{TaskOptions: o, ctx: ctx, model: m, tok: tok}
	var err error
	for q := range questions {
		if e.open = append(e.open, q); len(e.open) == examQuestions {
			if err = e.answer(); err != nil {
				break
			}
		}
	}
	if err == nil {
		err = e.answer()
	}
	n := e.right.examples
	return ChoiceResult{n, accuracy(e.right.sum, n), accuracy(e.right.mean, n), accuracy(e.right.bytes, n), err != nil}, err
}

// examQuestions is how many questions share batches.
const examQuestions = 64

// An exam is a Choice under way.
type exam struct {
	TaskOptions
	ctx   context.Context
	model *model.Model
	tok   Tokenizer

	open  []Question
	first int // number of open[0]
	right struct{ examples, sum, mean, bytes int }
}

// answer scores the open questions and counts the right answers.
func (e *exam) answer() error {
	var requests []Request
	for _, q := range e.open {
		if q.check() == nil {
			for _, c := range q.Choices {
				requests = append(requests, Request{Context: q.Context, Text: c, Pair: true})
			}
		}
	}
	scores := make([]Scored, 0, len(requests))
	failed := make(map[int]error) // by request
	for s, err := range Score(e.ctx, e.model, e.tok, slices.Values(requests), ScoreOptions{Batch: e.Batch}) {
		if bad := (*RequestError)(nil); errors.As(err, &bad) {
			failed[bad.Index] = bad.Err
		} else if err != nil {
			return err
		}
		scores = append(scores, s)
	}
	at := 0 // of the question's first choice in scores
	for i, q := range e.open {
		err := q.check()
		if err == nil {
			for c := range q.Choices {
				if bad := failed[at+c]; bad != nil && err == nil {
					err = fmt.Errorf("choice %d: %w", c, bad)
				}
			}
			at += len(q.Choices)
		}
		switch {
		case err == nil:
			e.count(q, scores[at-len(q.Choices):at])
		case e.Skip != nil:
			e.Skip(e.first+i, err)
		default:
			return fmt.Errorf("question %d: %w", e.first+i, err)
		}
	}
	e.first += len(e.open)
	e.open = e.open[:0]
	return nil
}

// count compares the choices in the three ways.
func (e *exam) count(q Question, scores []Scored) {
	var best [3]int
	var most [3]float64
	for i, s := range scores {
		bytes := len(q.Choices[i])
		if q.Bytes != nil {
			bytes = q.Bytes[i]
		}
		for way, x := range [3]float64{s.Sum, s.Mean, s.Sum / float64(bytes)} {
			if i == 0 || x > most[way] {
				most[way], best[way] = x, i
			}
		}
	}
	for way, n := range []*int{&e.right.sum, &e.right.mean, &e.right.bytes} {
		if best[way] == q.Answer {
			*n++
		}
	}
	e.right.examples++
	if e.Progress != nil {
		e.Progress(e.right.examples)
	}
}

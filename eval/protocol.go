// Package eval measures text with a model. It has perplexity by the published definition of each
// protocol (Perplexity, Measure), also for many documents that are measured on several machines and
// added up (MeasureEach, Total); log-likelihoods token by token (Score); the likeliest of several
// continuations with their probabilities (Choose, Answers); the benchmarks that use these (Lambada,
// Choice); and the vectors of texts (Embed) and their labels (Classify).
//
//	r, err := eval.Perplexity(ctx, m, tokens, eval.Options{Protocol: eval.HF})
//	fmt.Println(r.Perplexity, r.Scored)
//
//	for s, err := range eval.Score(ctx, m, tok, requests, eval.ScoreOptions{}) { … }
//
//	a, err := eval.Choose(ctx, m, tok, "It was", " good", " bad")
//	fmt.Println(a.Best, a.Probabilities)
//
// Its types, in the order to read them:
//
//   - [Perplexity] measures a text by a [Protocol], which says which tokens count, and after what;
//     [Options] have one, and a [Result] is what comes.
//   - [Request] asks for the score of a text, and [Scored] is the answer, [Token] by token.
//   - [Question] is a context with several continuations, and [Answer] says which is the likeliest.
//   - [Embedded] is the vector of a text, [Classified] its label.
//   - [Document] is a text of many that are measured apart; [Measured] are added up.
//   - [Comparison] is two models on one text.
//
// The JSON of a score is a Record, a line of gpt score's output. A Digest of records tells whether
// two runs gave the same scores.
//
// # Numerics
//
// The log-probability of a token is its logit minus the log-sum-exp of all logits, in float64 from
// the model's float32 logits. Sums run over the tokens in the order of the text. So a number
// depends only on the checkpoint, its number format, the text and the protocol. It does not depend
// on the batch, the threads, the kernels or the machine.
//
// Memory holds the text, its ids and the windows of one batch. Logits are used while they are
// computed and are not kept.
package eval

// The protocols: which tokens are scored, with which context, and with which weight.

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"picogpt/model"
)

// A Protocol is a published definition of perplexity. Different protocols give different numbers
// for the same text and model.
type Protocol string

const (
	// HF is Hugging Face's "perplexity of fixed-length models": windows that advance by a stride,
	// no BOS, the first token not scored. A window's mean over its t new tokens (t−1 if the window
	// has no more targets) has weight t−1.
	HF Protocol = "hf"

	// LMEval is EleutherAI lm-evaluation-harness's loglikelihood_rolling: a BOS before each
	// document, every token scored, disjoint windows with one token of context. The last window is
	// filled with context on the left.
	LMEval Protocol = "lm-eval"

	// LlamaCpp is llama-perplexity: disjoint chunks, the tail dropped, the second half of each
	// chunk scored, no BOS for GPT-2's vocabulary. It needs two chunks, and defines a standard
	// error.
	LlamaCpp Protocol = "llama.cpp"
)

// Protocols returns all protocols.
func Protocols() []Protocol { return []Protocol{HF, LMEval, LlamaCpp} }

// ParseProtocol returns the protocol of that name.
func ParseProtocol(name string) (Protocol, error) {
	var names []string
	for _, p := range Protocols() {
		if string(p) == name {
			return p, nil
		}
		names = append(names, string(p))
	}
	return "", fmt.Errorf("protocol %q: want one of %s", name, strings.Join(names, ", "))
}

// Options say how to measure. The zero value is HF with disjoint windows of the model's context.
type Options struct {
	Protocol Protocol // "" is HF
	Window   int      // tokens of context at most; 0 is n_positions
	Stride   int      // HF only: how many tokens windows advance; 0 is Window

	Batch    int            // windows in one Eval; 0: as many as fill a pass. It changes no digit.
	Progress func(Progress) // if not nil, called after each Eval of Measure
}

// Progress says how far a measurement has come.
type Progress struct {
	Done, Total int     // tokens of the text
	Perplexity  float64 // of the tokens measured so far; NaN if none is scored
}

// settings are options with all defaults filled in for a model.
type settings struct {
	Options
	bos int // LMEval's prefix
}

func (o Options) settle(c model.Config) (settings, error) {
	s := settings{Options: o}
	s.Protocol = cmp.Or(s.Protocol, HF)
	if _, err := ParseProtocol(string(s.Protocol)); err != nil {
		return s, err
	}
	s.Window = cmp.Or(s.Window, c.Positions)
	// the smallest window in which a token is scored
	least := map[Protocol]int{HF: 2, LMEval: 1, LlamaCpp: 3}[s.Protocol]
	if s.Window < least || s.Window > c.Positions {
		return s, fmt.Errorf("window: %d, want %d to %d (n_positions) for %s", s.Window, least,
			c.Positions, s.Protocol)
	}
	switch {
	case s.Stride == 0:
		s.Stride = s.Window
	case s.Protocol != HF && s.Stride != s.Window:
		return s, fmt.Errorf("stride: %d, want none: %s's windows are disjoint", s.Stride,
			s.Protocol)
	case s.Stride < 1 || s.Stride > s.Window:
		return s, fmt.Errorf("stride: %d, want 1 to %d (the window)", s.Stride, s.Window)
	}
	if s.Batch < 0 {
		return s, fmt.Errorf("batch: %d, want 1 or more, or 0", s.Batch)
	}
	if s.Protocol == LMEval {
		id, err := startID(c)
		if err != nil {
			return s, err
		}
		s.bos = id
	}
	return s, nil
}

// startID returns the id that protocols put before a text: bos_token_id, or eos_token_id if the
// vocabulary does not have the former.
func startID(c model.Config) (int, error) {
	if id, ok := c.StartToken(); ok {
		return id, nil
	}
	return 0, fmt.Errorf("bos_token_id and eos_token_id: none within the vocabulary of %d, "+
		"want one to put before the text", c.VocabSize)
}

// check returns an error if the protocol cannot score a text of that many tokens.
func (s *settings) check(tokens int) error {
	least := map[Protocol]int{HF: 2, LMEval: 1, LlamaCpp: 2 * s.Window}[s.Protocol]
	if tokens >= least {
		return nil
	}
	hint := ""
	if s.Protocol == LlamaCpp {
		hint = fmt.Sprintf(" (two windows of %d)", s.Window)
	}
	return fmt.Errorf("text: %d tokens, want at least %d%s for %s", tokens, least, hint, s.Protocol)
}

// windows yields the windows of one document.
func (s *settings) windows(tokens []int) iter.Seq[*sequence] {
	switch s.Protocol {
	case LMEval:
		return s.rolling(tokens)
	case LlamaCpp:
		return s.chunks(tokens)
	}
	return s.strided(tokens)
}

// strided follows huggingface.co/docs/transformers/perplexity. There the loss is a mean over the
// labels that are left after the shift, min(t, e−b−1) of them, but the weight is always t−1.
func (s *settings) strided(tokens []int) iter.Seq[*sequence] {
	return func(yield func(*sequence) bool) {
		prev := 0
		for b := 0; prev < len(tokens); b += s.Stride {
			e := min(b+s.Window, len(tokens))
			t := e - prev
			prev = e
			targets := min(t, e-b-1)
			w := sequence{tokens: tokens[b:e], first: e - b - targets, weight: t - 1, end: e}
			if targets > 0 && !yield(&w) {
				return
			}
		}
	}
}

// rolling follows lm_eval.utils.get_rolling_token_windows with context_len 1. The context of the
// first window is the BOS. The others begin with the last token that is already scored, except the
// last window, which takes as much context as fits.
func (s *settings) rolling(tokens []int) iter.Seq[*sequence] {
	return func(yield func(*sequence) bool) {
		for done := 0; done < len(tokens); {
			n := min(len(tokens)-done, s.Window)
			e := done + n
			w := sequence{first: 1, weight: n, end: e}
			if done == 0 {
				w.tokens = append([]int{s.bos}, tokens[:n]...)
			} else {
				w.tokens = tokens[e-s.Window-1 : e]
				w.first = len(w.tokens) - n
			}
			done = e
			if !yield(&w) {
				return
			}
		}
	}
}

// chunks follows llama-perplexity without --ppl-stride: token window/2 of a chunk is the last one
// that is only context.
func (s *settings) chunks(tokens []int) iter.Seq[*sequence] {
	return func(yield func(*sequence) bool) {
		for e := s.Window; e <= len(tokens); e += s.Window {
			w := sequence{tokens: tokens[e-s.Window : e], first: s.Window/2 + 1, end: e}
			w.weight = s.Window - w.first
			if !yield(&w) {
				return
			}
		}
	}
}

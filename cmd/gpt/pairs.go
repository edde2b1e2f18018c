package main

// Pairs of texts, of which the second lacks what is asked for, and what is asked of them.

import (
	"cmp"
	"errors"
	"fmt"

	"picogpt/cmd/gpt/internal/textio"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
)

// A pairSource is two texts of as many tokens, and what is asked of them.
type pairSource struct {
	Clean, Corrupted *string
	Tokens           []string
	Special, BOS     bool
	Metric           metricFlags
}

func (s *pairSource) args() []cli.Arg {
	return []cli.Arg{
		cli.OptionalWord(&s.Clean, "clean", "the text after which the target is likely"),
		cli.OptionalWord(&s.Corrupted, "corrupted",
			"one of as many tokens, after which it is not"),
	}
}

func (s *pairSource) flags(f *cli.Flags) {
	f.Add(&s.Tokens, "--tokens IDS", "token ids in place of a text, twice: 1,2,3 or [1,2,3]")
	addSpecial(f, &s.Special)
	f.Add(&s.BOS, "--bos", `put the token that stands before a text first, as TransformerLens does
		by default`)
	s.Metric.flags(f)
}

// read returns the pair. check is made before anything is opened.
func (s *pairSource) read(a *app, check func() error) (*tokenNames, inside.Pair, error) {
	prompts, err := s.prompts()
	if err == nil {
		err = check()
	}
	if err != nil {
		return nil, inside.Pair{}, err
	}
	a.files.LeaveStdin()
	return s.encode(a, &prompts, s.Metric.metric)
}

// encode makes ids of the clean text and the corrupted one. metric returns what is asked of them.
func (s *pairSource) encode(a *app, both *[2]prompt,
	metric func(*tokenNames) (inside.Metric, error)) (names *tokenNames, p inside.Pair, err error) {
	if names, err = a.nameTokens(s.Special, &both[0], &both[1]); err != nil {
		return nil, p, err
	}
	if p.Metric, err = metric(names); err != nil {
		return nil, p, err
	}
	p.Clean, p.Corrupted = both[0].ids, both[1].ids
	if len(p.Clean) != len(p.Corrupted) {
		err = unequal(names, p.Clean, p.Corrupted)
	}
	return names, p, err
}

// prompts returns the clean text and the corrupted one.
func (s *pairSource) prompts() (both [2]prompt, err error) {
	switch {
	case s.Clean != nil && s.Tokens != nil:
		return both, errTokensAndText()
	case s.Tokens != nil && len(s.Tokens) != 2:
		return both, usagef("--tokens: want two lists of ids, found %d", len(s.Tokens))
	case s.Tokens == nil && s.Corrupted == nil:
		return both, fault.Hint(usagef("want two texts"),
			`each text is one argument: gpt patch "I have a dog" "I have a cat" --target TOKEN`)
	}
	for i, text := range []*string{s.Clean, s.Corrupted} {
		if s.Tokens == nil {
			both[i] = prompt{text: *text, asText: true, bos: s.BOS}
		} else if both[i].ids, err = textio.ParseIDs(s.Tokens[i]); err != nil {
			return both, usagef("--tokens: %w", err)
		}
		both[i].bos = s.BOS
	}
	return both, nil
}

// pairsFlags are a file of pairs.
type pairsFlags struct {
	File  *string
	Count int
	Seed  uint64
}

func (s *pairsFlags) flags(f *cli.Flags) {
	f.Add(&s.File, "--pairs FILE", `take many pairs, and show their means: JSON objects with clean,
		corrupted, answer and wrong, or one with templates and words`)
	f.Add(&s.Count, "--count N [64]", "with templates: make N pairs")
	f.Add(&s.Seed, "--seed S [0]", "with templates: the seed of the words that are drawn")
}

// pair makes ids of a row.
func (s *pairSource) pair(a *app, r *textio.Pair) (*tokenNames, inside.Pair, error) {
	var both [2]prompt
	for i, t := range []*textio.TextOrIDs{&r.Clean, &r.Corrupted} {
		both[i] = prompt{text: t.Text, ids: t.IDs, asText: t.IDs == nil, bos: s.BOS}
		if t.Text == "" && t.IDs == nil {
			return nil, inside.Pair{}, errors.New("want clean and corrupted, texts or ids")
		}
	}
	return s.encode(a, &both, func(names *tokenNames) (q inside.Metric, err error) {
		one := func(field string, t *textio.TextOrIDs) (int, error) {
			if len(t.IDs) == 1 {
				return t.IDs[0], nil
			}
			if t.IDs != nil || names.byID {
				return 0, fmt.Errorf("%s: want one id", field)
			}
			return names.find(field, t.Text)
		}
		q.LogProb = s.Metric.LogProb
		q.Target, err = one("answer", &r.Answer)
		if err == nil && (r.Wrong.Text != "" || r.Wrong.IDs != nil) && !q.LogProb {
			q.Against = new(int)
			*q.Against, err = one("wrong", &r.Wrong)
		}
		return q, err
	})
}

// orPair returns the pairs of --pairs, or the only one of the arguments.
func (s *pairsFlags) orPair(a *app, source *pairSource, check func() error,
) (names *tokenNames, pairs []inside.Pair, err error) {
	if s.File == nil {
		names, p, err := source.read(a, check)
		return names, []inside.Pair{p}, err
	}
	if q := source.Metric; source.Clean != nil || source.Tokens != nil || q.Target != nil ||
		q.Against != nil {
		return nil, nil, usagef("--pairs and texts or tokens of one: want one of them")
	}
	if err := check(); err != nil {
		return nil, nil, err
	}
	text, err := a.files.Limited(*s.File, "--pairs", textio.MostPairs)
	if err != nil {
		return nil, nil, err
	}
	rows, err := textio.ParsePairs(text, s.Count, s.Seed)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", *s.File, err)
	}
	pairs = make([]inside.Pair, len(rows))
	for i := range rows {
		if names, pairs[i], err = source.pair(a, &rows[i]); err != nil {
			return nil, nil, fmt.Errorf("%s: pair %d: %w", *s.File, i, err)
		}
	}
	return names, pairs, nil
}

// metricFlags are the tokens of a metric.
type metricFlags struct {
	Target, Against *string
	LogProb         bool
}

func (q *metricFlags) flags(f *cli.Flags) {
	f.Add(&q.Target, "--target TOKEN", "the token whose logit is explained (ids with --tokens)")
	f.Add(&q.Against, "--against TOKEN",
		"the token whose logit is subtracted; default: the mean of all logits")
	f.Add(&q.LogProb, "--logprob", "explain the logarithm of its probability, not its logit")
}

// metric returns the metric; the target must be there.
func (q *metricFlags) metric(names *tokenNames) (m inside.Metric, err error) {
	if q.Target == nil {
		return m, usagef("want --target TOKEN, the token whose logit is explained")
	}
	m.LogProb = q.LogProb
	if m.Target, err = names.find("--target", *q.Target); err == nil {
		m.Against, err = names.findGiven("--against", q.Against)
	}
	return m, err
}

// said says what a metric is, with names quoted.
func (n *tokenNames) said(q inside.Metric, quoted func(string) string) string {
	switch {
	case q.LogProb:
		return "log-probability of " + quoted(n.name(q.Target))
	case q.Against == nil:
		return "logit of " + quoted(n.name(q.Target)) + " − mean of all"
	}
	return "logit of " + quoted(n.name(q.Target)) + " − of " + quoted(n.name(*q.Against))
}

// unequal says where texts of different lengths differ.
func unequal(names *tokenNames, clean, corrupted []int) error {
	first, last := 0, 0 // tokens that are the same in both
	for n := min(len(clean), len(corrupted)); first < n && clean[first] == corrupted[first]; {
		first++
	}
	for n := min(len(clean), len(corrupted)) - first; last < n &&
		clean[len(clean)-1-last] == corrupted[len(corrupted)-1-last]; {
		last++
	}
	say := func(ids []int) string {
		return cmp.Or(names.some(ids[first:len(ids)-last], 8), "nothing")
	}
	return usagef("the clean text has %d tokens and the corrupted one %d, want as many: from "+
		"token %d on, %s and %s", len(clean), len(corrupted), first, say(clean), say(corrupted))
}

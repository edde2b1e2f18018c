package decode

// Token healing: a prompt that ends inside a word continues as if it had not been cut there.

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"
)

// A Healing takes back the last tokens of a prompt, because the text that follows may spell their
// bytes with longer tokens: a prompt that ends in " gi" is two tokens that seldom come before "rl",
// and " girl" is one.
//
// It goes back to the first token for which a longer token exists that begins with all bytes from
// there to the prompt's end. The new text then begins with those bytes: until they are spelled,
// each token is either the one that was taken back at that place, or one that begins with all bytes
// that are left. Where no token could extend beyond the prompt's end, nothing is taken back.
//
// Under Options.Constraint, the text after those bytes is of the form. The bytes that a token has
// beyond them go to the constraint one by one, each as the id of the token of that byte alone.
type Healing struct {
	Prompt []int  // the prompt without the tokens taken back
	Bytes  []byte // the bytes of those tokens; the new text begins with them

	tokens [][]byte
	byID   [256]int // by byte: the id of the token of that byte alone, or -1
	taken  []int    // ids taken back
	left   [][]byte // left[i] is the bytes of taken[i:]
	longer [][]int  // longer[i] is the ids that begin with left[i], in the order of their bytes
}

// NewHealing heals a prompt, of which it keeps at least the first least tokens. tokens are the
// bytes of each id of the vocabulary, as tokenizer.Tokenizer.Bytes returns them: none for special
// tokens, which are never taken back.
func NewHealing(tokens [][]byte, prompt []int, least int) *Healing {
	longest := 0
	for _, t := range tokens {
		longest = max(longest, len(t))
	}
	cut, end := len(prompt), []byte{}
	for i := len(prompt) - 1; i >= least; i-- {
		id := prompt[i]
		if id < 0 || id >= len(tokens) || len(tokens[id]) == 0 || len(end)+len(tokens[id]) >= longest {
			break
		}
		end = slices.Concat(tokens[id], end)
		if slices.ContainsFunc(tokens, func(t []byte) bool {
			return len(t) > len(end) && bytes.HasPrefix(t, end)
		}) {
			cut = i
		}
	}
	h := &Healing{Prompt: prompt[:cut:cut], tokens: tokens, taken: slices.Clone(prompt[cut:])}
	for _, id := range h.taken {
		h.Bytes = append(h.Bytes, tokens[id]...)
	}
	h.index()
	return h
}

// index computes what does not depend on a text.
func (h *Healing) index() {
	for b := range h.byID {
		h.byID[b] = -1
	}
	for id, t := range h.tokens {
		if len(t) == 1 && h.byID[t[0]] < 0 {
			h.byID[t[0]] = id
		}
	}
	left := h.Bytes
	for _, taken := range h.taken {
		var longer []int
		for id, t := range h.tokens {
			if bytes.HasPrefix(t, left) {
				longer = append(longer, id)
			}
		}
		slices.SortFunc(longer, func(a, b int) int { return bytes.Compare(h.tokens[a], h.tokens[b]) })
		h.left, h.longer = append(h.left, left), append(h.longer, longer)
		left = left[len(h.tokens[taken]):]
	}
}

// Matcher returns the constraint on the new text: first the bytes taken back, and then form, or no
// constraint if form is nil. Streams whose options have the Healing need none.
func (h *Healing) Matcher(form Matcher) Matcher {
	return &healed{Healing: h, form: form}
}

// EndWith passes on the ids that end texts: see Options.Constraint.
func (t *healed) EndWith(ids []int) {
	if form, ok := t.form.(interface{ EndWith(ids []int) }); ok {
		form.EndWith(ids)
	}
}

// A healed is the constraint on one text.
type healed struct {
	*Healing
	form  Matcher      // of the text after Bytes; nil: none
	steps []healedStep // of each token

	most int      // tokens of the text, with Within; 0: any number
	shut []uint64 // the ids that the newest Mask shut because of that; nil: none
}

// A healedStep is the state after a token.
type healedStep struct {
	place int // the index in taken after the token
	fed   int // how many ids the form accepted for it
}

func (t *healed) place() int {
	if n := len(t.steps); n > 0 {
		return t.steps[n-1].place
	}
	return 0
}

// Mask implements Matcher.
func (t *healed) Mask(open []uint64) error {
	clear(open)
	t.shut = nil
	set := func(id int) {
		if id>>6 < len(open) {
			open[id>>6] |= 1 << (id & 63)
		}
	}
	switch at := t.place(); {
	case at < len(t.taken):
		set(t.taken[at])
		t.maskLonger(at, open, set)
	case t.form != nil:
		form, ok := t.form.(bounded)
		if ok {
			form.Within(max(0, t.most-len(t.steps)))
		}
		err := t.form.Mask(open)
		if ok && err == nil {
			t.shut = form.Shut()
		}
		return err
	default:
		n := len(t.tokens)
		for i := range open[:min(len(open), n/64)] {
			open[i] = math.MaxUint64
		}
		for id := n &^ 63; id < n; id++ {
			set(id)
		}
	}
	return nil
}

// maskLonger sets the ids that begin with all bytes that are left, and whose further bytes fit the
// form. In the order of bytes, ids with a common prefix follow each other: the prefix is tried
// once.
func (t *healed) maskLonger(at int, open []uint64, set func(id int)) {
	shut := make([]uint64, len(open))
	if t.most > 0 {
		defer func() {
			if !empty(shut) {
				t.shut = shut
			}
		}()
	}
	inTime := func(id int, form Matcher) { // the taken tokens always are
		if f, ok := form.(bounded); ok && t.most > 0 && id != t.taken[at] {
			if n, ok := f.Least(); !ok || n > t.most-len(t.steps)-1 {
				if id>>6 < len(shut) {
					shut[id>>6] |= 1 << (id & 63)
				}
				return
			}
		}
		set(id)
	}
	var trial Matcher
	if t.form != nil {
		trial = t.form.Fork()
	}
	var path, dead []byte // the bytes that trial has accepted; a prefix that does not fit
	for _, id := range t.longer[at] {
		rest := t.tokens[id][len(t.left[at]):]
		if trial == nil {
			set(id)
			continue
		}
		if dead != nil && bytes.HasPrefix(rest, dead) {
			continue
		}
		same := 0
		for same < min(len(path), len(rest)) && path[same] == rest[same] {
			same++
		}
		if trial.Rewind(len(path)-same) != nil {
			return
		}
		path = rest[:same+t.feed(trial, rest[same:])]
		if len(path) == len(rest) {
			inTime(id, trial)
		} else {
			dead = rest[:len(path)+1]
		}
	}
}

// feed gives bytes to a form, each as the id of its own token, until one does not fit. It returns
// how many fitted.
func (t *healed) feed(form Matcher, text []byte) int {
	for i, b := range text {
		if id := t.byID[b]; id < 0 || form.Accept(id) != nil {
			return i
		}
	}
	return len(text)
}

// Accept implements Matcher.
func (t *healed) Accept(id int) error {
	step := healedStep{place: len(t.taken)}
	fits := id >= 0 && id < len(t.tokens)
	switch at := t.place(); {
	case at == len(t.taken) && t.form != nil:
		if err := t.form.Accept(id); err != nil {
			return err
		}
		step.fed, fits = 1, true
	case at == len(t.taken):
	case id == t.taken[at]:
		step.place = at + 1
	case fits && bytes.HasPrefix(t.tokens[id], t.left[at]):
		if t.form == nil {
			break
		}
		rest := t.tokens[id][len(t.left[at]):]
		step.fed = t.feed(t.form, rest)
		if fits = step.fed == len(rest); !fits {
			if err := t.form.Rewind(step.fed); err != nil {
				return err
			}
		}
	default:
		fits = false
	}
	if !fits {
		return fmt.Errorf("id %d does not go on with %q, which was taken back", id, t.Bytes)
	}
	t.steps = append(t.steps, step)
	return nil
}

// Rewind implements Matcher.
func (t *healed) Rewind(n int) error {
	if n < 0 || n > len(t.steps) {
		return fmt.Errorf("rewind by %d tokens: want 0 to %d", n, len(t.steps))
	}
	fed := 0
	for _, step := range t.steps[len(t.steps)-n:] {
		fed += step.fed
	}
	if t.form != nil {
		if err := t.form.Rewind(fed); err != nil {
			return err
		}
	}
	t.steps = t.steps[:len(t.steps)-n]
	return nil
}

// Fork implements Matcher.
func (t *healed) Fork() Matcher {
	f := &healed{Healing: t.Healing, steps: slices.Clone(t.steps), most: t.most}
	if t.form != nil {
		f.form = t.form.Fork()
	}
	return f
}

// Complete reports whether the text so far is of the form.
func (t *healed) Complete() bool {
	form, ok := t.form.(interface{ Complete() bool })
	return t.form == nil || t.place() == len(t.taken) && (!ok || form.Complete())
}

// Bounded implements bounded, as do the next three.
func (t *healed) Bounded() bool {
	form, ok := t.form.(bounded)
	return ok && form.Bounded()
}

// Within bounds the text with the bytes taken back.
func (t *healed) Within(tokens int) {
	if t.most = 0; tokens > 0 {
		t.most = len(t.steps) + tokens
	}
}

// Least takes the tokens that were taken back.
func (t *healed) Least() (tokens int, ok bool) {
	tokens, ok = t.form.(bounded).Least()
	return tokens + len(t.taken) - t.place(), ok
}

func (t *healed) Shut() []uint64 { return t.shut }

// Forced implements forcing, after the bytes taken back.
func (t *healed) Forced(most int) []byte {
	if form, ok := t.form.(forcing); ok && t.place() == len(t.taken) {
		return form.Forced(most)
	}
	return nil
}

// Prefixes implements forcing.
func (t *healed) Prefixes(forced []byte) iter.Seq2[int, int] {
	return t.form.(forcing).Prefixes(forced)
}

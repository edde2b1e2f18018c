package serve

// One choice of an answer, as its tokens arrive.

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/decode"
	"picogpt/internal/chat"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// A choice is one text of an answer, or the part of it that a stream has not sent yet.
type choice struct {
	index   int
	echo    string // the prompt, which precedes text once; choices of a prompt share it
	text    []byte
	entries []entry
	ids     []int
	finish  string // "" while it continues
	reader  *chat.CallReader
	calls   []chat.CallPart // of tools, or what was added to them
	stop    stopReason
	failed  *apiError // of a dead end
	prompt  *prompt

	tokens  int // how many new tokens so far
	budget  *budgetJSON
	allowed int     // how many there may be
	sum     float64 // of their log-probabilities
	first   bool    // none of it has been sent
	raw     []byte  // the bytes of the new tokens, in which stop strings are searched
	shown   int     // bytes of text so far, without the echo's
	offsets runeOffsets
}

// An entry is one token of the log-probabilities.
type entry struct {
	id      int
	logProb float64 // NaN if nothing precedes it
	top     []sample.Alternative
	offset  int
}

// A stopReason is what ended a text: a string, an id, or neither.
type stopReason struct {
	text string
	id   int
	isID bool
}

// newChoice returns a choice without tokens, with the prompt's text if that is echoed.
func (j *job) newChoice(p *prompt, index int) *choice {
	c := &choice{index: index, prompt: p, allowed: p.tokens, first: true}
	if j.echo {
		c.echo = p.text
	}
	if j.talk.tools.format != nil {
		id := fmt.Sprint(j.visit.id, index)
		c.reader = chat.NewCallReader(j.talk.tools.format, id, j.form.calls.free)
		c.reader.Either = j.form.calls.text != nil
	}
	if j.logprobs != nil {
		if j.echo {
			c.offsets.decoder = j.server.vocabulary.NewDecoder(nil)
			if j.server.vocabulary.drops {
				c.offsets.prompt = p.text
			}
		} else {
			c.offsets.decoder = j.server.vocabulary.NewDecoder(p.ids)
		}
	}
	return c
}

// add adds a token to the choice.
func (c *choice) add(j *job, t *decode.Token) {
	if j.logprobs != nil && (!t.Prompt || j.echo) {
		e := entry{id: t.ID, logProb: t.LogProb, top: t.Top[:min(*j.logprobs, len(t.Top))],
			offset: c.offsets.next(t.ID, t.Prompt)}
		c.entries = append(c.entries, e)
	}
	if j.promptLogprobs != nil && t.Prompt && t.Sample == 0 { // the same for all samples
		c.prompt.scores = append(c.prompt.scores, entry{id: t.ID, logProb: t.LogProb,
			top: t.Top[:min(*j.promptLogprobs, len(t.Top))]})
	}
	if !t.Prompt {
		c.tokens++
		c.sum += t.LogProb
		if c.budget == nil && (t.Narrowed || t.Outranked != "") {
			c.budget = &budgetJSON{Kept: 1}
		}
		if t.Narrowed {
			c.budget.Masks++
			c.budget.Kept *= t.Kept
		}
		if j.idsToo {
			c.ids = append(c.ids, t.ID)
		}
		if len(j.Stop) > 0 && j.server.vocabulary.has(t.ID) {
			c.raw = append(c.raw, j.server.vocabulary.texts[t.ID]...)
		}
		text := t.Text
		if c.reader != nil {
			text, c.calls = c.reader.Read(text, c.calls)
		}
		c.text = append(c.text, text...)
		c.shown += len(t.Text)
	}
	if t.Finish != "" {
		if c.reader != nil {
			c.text = append(c.text, c.reader.End()...)
		}
		c.end(j, t)
	}
}

// end sets why the text ended.
func (c *choice) end(j *job, t *decode.Token) {
	c.finish = "stop"
	if t.Outranked != "" {
		c.budget.Outranked = t.Outranked
	}
	switch t.Finish {
	case decode.FinishLength:
		c.finish = "length"
	case decode.FinishEndOfText:
		special := slices.Contains(j.server.ends, t.ID)
		if slices.Contains(j.stopIDs, t.ID) && !special {
			c.stop = stopReason{id: t.ID, isID: true}
		}
		if j.KeepStop && !(special && j.skipSpecial) && j.server.vocabulary.has(t.ID) {
			c.text = append(c.text, j.server.vocabulary.texts[t.ID]...)
		}
	case decode.FinishStop:
		c.stop.text = stopString(string(c.raw), min(c.shown, len(c.raw)), j.Stop, j.KeepStop)
		if c.stop.text == "" && c.reader != nil && c.reader.Calls == 0 && !c.reader.Either {
			c.finish = "length" // a free text might have gone on
		}
	}
}

// stopString returns which string ended a text that was shown up to a byte: that stands after it
// and was complete first, so the shortest, or with kept stands before it and began first, so the
// longest.
func stopString(raw string, shown int, stops []string, kept bool) (found string) {
	for _, s := range stops {
		switch {
		case kept && strings.HasSuffix(raw[:shown], s) && len(s) > len(found),
			!kept && strings.HasPrefix(raw[shown:], s) && (found == "" || len(s) < len(found)):
			found = s
		}
	}
	return found
}

// mean returns the mean log-probability of the new tokens, by which best_of compares choices.
func (c *choice) mean() float64 {
	if c.tokens == 0 || c.failed != nil {
		return math.Inf(-1)
	}
	return c.sum / float64(c.tokens)
}

// sent clears what a stream has sent.
func (c *choice) sent() {
	clear(c.entries) // frees their alternatives
	c.echo, c.text, c.entries, c.ids, c.first = "", c.text[:0], c.entries[:0], c.ids[:0], false
	c.calls = nil
	if c.finish != "" {
		*c = choice{index: c.index, finish: c.finish, failed: c.failed, tokens: c.tokens,
			allowed: c.allowed}
	}
}

// A runeOffsets counts the characters before each token of a text.
type runeOffsets struct {
	decoder tokenizer.Decoder
	prompt  string // the rest of a prompt of which the vocabulary drops bytes; else ""
	count   int    // complete characters so far
	partial []byte // bytes of a character that is incomplete so far
}

// next returns the offset of a token, of the prompt or a new one: the index of the character that
// has its first byte.
func (o *runeOffsets) next(id int, prompt bool) int {
	text, _ := o.decoder.Push(id) // an id without a token has no characters
	if o.prompt == "" {
		return o.add(text)
	}
	rest, from, to := o.prompt, 0, 0 // text is in rest[from:to], with dropped bytes
	for i := range len(text) {
		for prompt && to < len(rest) && rest[to] != text[i] {
			to++
		}
		if i == 0 {
			from = to
		}
		to = min(to+1, len(rest))
	}
	if !prompt {
		o.prompt = ""
		o.add(rest)
		return o.add(text)
	}
	o.prompt = rest[to:]
	o.add(rest[:from])
	return o.add(rest[from:to])
}

// add adds text, and returns the index of the character that has its first byte.
func (o *runeOffsets) add(text string) int {
	before, at := len(o.partial), o.count
	o.partial = append(o.partial, text...)
	i := 0
	for i < len(o.partial) && utf8.FullRune(o.partial[i:]) {
		_, size := utf8.DecodeRune(o.partial[i:])
		if i += size; i <= before {
			at++
		}
		o.count++
	}
	o.partial = append(o.partial[:0], o.partial[i:]...)
	return at
}

package schema

// Unique: arrays whose items differ. A frame keeps the items so far, as it keeps names.

import (
	"fmt"
	"math/big"
	"slices"

	"picogpt/constrain/internal/automaton"
)

// unique prepares an array of unique items. What comes from few values is listed. Of others an item
// can always be continued to one that was not there yet: strings that may be longer, whole numbers.
func (c *compiler) unique(s *arraySpec) error {
	if s.max >= 0 && s.max <= 1 {
		s.unique = false
		return nil
	}
	refuse := func(what string) error {
		return fmt.Errorf("%s: keyword uniqueItems is supported for items of up to %d values, whole numbers, "+
			"and strings of any length; found %s", s.from.at(), maxFew, what)
	}
	v := s.items
	if len(s.prefix) > 0 {
		return refuse("prefixItems")
	}
	if len(v.arrays) > 0 || len(v.objects) > 0 {
		return refuse("arrays or objects")
	}
	texts, few := c.few(v)
	if err := c.meter.Failed(); err != nil {
		return err
	}
	if few {
		n := len(texts)
		s.max = tighter(s.max, n)
		if s.items = listed(texts); s.min > n {
			s.items = &value{}
		}
		return nil
	}
	most, endless := 0, false
	for _, spec := range v.strings {
		if spec.texts == nil && !spec.endless() {
			return refuse("others")
		}
		most, endless = max(most, len(spec.texts)), endless || spec.texts == nil
	}
	for _, spec := range v.numbers {
		switch {
		case spec.texts != nil:
			most = max(most, len(spec.texts))
		case !spec.whole:
			return refuse("numbers that need not be whole")
		default:
			n := spec.size()
			most, endless = max(most, n), endless || n < 0
		}
	}
	if !endless {
		s.max = tighter(s.max, most)
	}
	if s.max >= 0 && s.min > s.max {
		s.items = &value{}
	}
	return nil
}

// endless reports whether after any beginning of a string there are infinitely many.
func (s *stringSpec) endless() bool {
	if s.max >= 0 {
		return false
	}
	return s.table == nil || !slices.ContainsFunc(s.table.Count, func(n int) bool {
		return n < automaton.Unbounded
	})
}

// size returns the number of whole numbers of a spec; -1 if there are more than a billion.
func (s *numberSpec) size() int {
	n, most := new(big.Int), big.NewInt(automaton.Unbounded)
	for i, side := range []*bounds{s.pos, s.neg} {
		if side == nil {
			continue
		}
		lo, _ := new(big.Int).SetString(side.loInt, 10)
		hi, _ := new(big.Int).SetString(side.hiInt, 10)
		m := new(big.Int).SetUint64(s.multiple)
		if lo.Sign() > 0 {
			lo.Sub(lo, big.NewInt(1))
			n.Sub(n, lo.Div(lo, m))
		} else if i == 0 {
			n.Add(n, big.NewInt(1)) // 0, which is not counted below it
		}
		n.Add(n, hi.Div(hi, m))
	}
	if n.Cmp(most) > 0 {
		return -1
	}
	return int(n.Int64())
}

// few returns the JSON of all values, sorted; ok is false if they are many.
func (c *compiler) few(v *value) (texts []string, ok bool) {
	for _, word := range []struct {
		is   bool
		text string
	}{{v.null, "null"}, {v.yes, "true"}, {v.no, "false"}} {
		if word.is {
			texts = append(texts, word.text)
		}
	}
	for _, s := range v.strings {
		if s.texts == nil {
			return nil, false
		}
		for _, text := range s.escaped {
			texts = append(texts, `"`+text+`"`)
		}
	}
	for _, s := range v.numbers {
		if s.texts != nil {
			texts = append(texts, s.texts...)
			continue
		}
		if n := s.size(); !s.whole || n < 0 || n > maxFew || c.meter.Charge(200*(n+1)) != nil {
			return nil, false
		}
		s.each(numberState{}, "", func(text string) { texts = append(texts, canonicalWhole(text)) })
	}
	texts = sortedTexts(texts)
	return texts, len(texts) <= maxFew
}

// each calls f with the numbers that begin with a text.
func (s *numberSpec) each(st numberState, text string, f func(string)) {
	if s.accepts(st) {
		f(text)
	}
	for _, b := range []byte("-0123456789") {
		if next, ok := s.step(st, b); ok {
			s.each(next, text+string([]byte{b}), f)
		}
	}
}

// listed returns the value of some texts of JSON.
func listed(texts []string) *value {
	v, strs, nums := &value{possible: len(texts) > 0}, []string{}, []string{}
	for _, text := range texts {
		switch text[0] {
		case '"':
			strs = append(strs, text[1:len(text)-1])
		case 'n':
			v.null = true
		case 't':
			v.yes = true
		case 'f':
			v.no = true
		default:
			nums = append(nums, text)
		}
	}
	if len(strs) > 0 {
		v.strings = []*stringSpec{{texts: strs, escaped: sortedTexts(strs), max: -1}}
	}
	if len(nums) > 0 {
		v.numbers = []*numberSpec{{texts: sortedTexts(nums)}}
	}
	return v
}

// unique reports whether a frame is an array whose items differ.
func (f *frame) unique() bool { return f != nil && f.array != nil && f.array.unique }

// left returns those of a list that are not yet items; quote is " before strings.
func (f *frame) left(list []string, quote string) []string {
	if !f.unique() {
		return list
	}
	var left []string
	for _, text := range list {
		if !f.has(quote + text) {
			left = append(left, text)
		}
	}
	return left
}

// item returns the part after an item, whose JSON is text without a last quote.
func (j *Form) doneItem(f *frame, text string) part {
	if !f.unique() {
		return j.done(f)
	}
	g := *f
	g.used = &used{text, f.used}
	return j.done(&g)
}

// canonicalWhole returns a whole number in digits as it is kept: -0 is 0.
func canonicalWhole(text string) string {
	if text == "-0" {
		return "0"
	}
	return text
}

// fresh reports whether a number that begins with a text is not yet an item.
func (s *numberSpec) fresh(st numberState, text string, f *frame) bool {
	if s.accepts(st) && !f.has(canonicalWhole(text)) {
		return true
	}
	for _, b := range []byte("0123456789") {
		if next, ok := s.step(st, b); ok && s.fresh(next, text+string([]byte{b}), f) {
			return true
		}
	}
	return false
}

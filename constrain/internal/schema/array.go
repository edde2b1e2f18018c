package schema

// Arrays: their items, also those that must differ: a frame keeps the items so far, as it keeps
// names.

import "fmt"

// An arraySpec says which arrays are allowed.
type arraySpec struct {
	prefix   []*value
	items    *value
	min, max int // max -1: any number
	unique   bool
	from     *schema // for errors
	tally    *tally  // nil if items are not counted
}

// item returns the value of the i-th item.
func (s *arraySpec) item(i int) *value {
	if i < len(s.prefix) {
		return s.prefix[i]
	}
	return s.items
}

// array adds the arrays of an alternative to a value.
func (c *compiler) array(v *value, a alternative) error {
	s := &arraySpec{max: -1}
	var counts []count
	prefix := 0
	for _, id := range a {
		p := c.all[id]
		s.min = max(s.min, p.minItems)
		if p.unique {
			s.unique, s.from = true, p
		}
		s.max = tighter(s.max, p.maxItems)
		prefix = max(prefix, len(p.prefix))
		for _, k := range p.counts {
			counts, prefix = append(counts, k), max(prefix, k.from)
		}
	}
	if s.max >= 0 && s.min > s.max {
		return nil
	}
	var err error
	if s.tally, err = c.tallyOf(s, counts, a); err != nil {
		return err
	}
	for i := range prefix + 1 {
		if err := c.meter.Charge(4 + 4*len(a)); err != nil {
			return err
		}
		var conj []*schema
		for _, id := range a {
			switch p := c.all[id]; {
			case i < len(p.prefix):
				conj = append(conj, p.prefix[i])
			case p.items != nil:
				conj = append(conj, p.items)
			}
			if l := c.all[id].left; l != nil && l.items != nil {
				conj = append(conj, c.leftItem(l, i)...)
			}
		}
		if item := c.valueOf(conj...); i < prefix {
			s.prefix = append(s.prefix, item)
		} else {
			s.items = item
		}
		if err := c.choices(s.tally, i, conj); err != nil {
			return err
		}
	}
	v.arrays = append(v.arrays, s)
	return nil
}

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
	if s.tally != nil {
		return refuse("counted items")
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
		case !spec.whole || spec.besides != nil:
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

package schema

// Tagged: branches of oneOf that a required property tells apart, without comparing all pairs.

import "slices"

// tagged returns a function that reports whether a property tells two branches apart: of all
// objects that a branch accepts it has one of some strings, and of those of the other it has none
// of these. The property is the one that most branches have.
func (c *compiler) tagged(branches []*schema) (apart func(i, j int) bool) {
	tags := make([]map[string][]string, len(branches))
	count := map[string]int{}
	best := ""
	for i, b := range branches {
		tags[i] = map[string][]string{}
		c.tags(b, tags[i], 0)
		for name := range tags[i] {
			count[name]++
		}
	}
	for name, n := range count {
		if n > count[best] || n == count[best] && name < best {
			best = name
		}
	}
	return func(i, j int) bool {
		a, b := tags[i][best], tags[j][best]
		return a != nil && b != nil && !slices.ContainsFunc(a, func(text string) bool {
			return slices.Contains(b, text)
		})
	}
}

// tags finds the required properties of a schema of objects that are one of a few strings.
func (c *compiler) tags(s *schema, tags map[string][]string, depth int) {
	const most, deepest = 8, 8 // strings of one tag, and schemas that lead to it
	if depth > deepest || c.meter.Charge(8+2*len(s.properties)) != nil {
		return
	}
	if s.ref != nil {
		c.tags(s.ref, tags, depth+1)
	}
	for _, part := range s.allOf {
		c.tags(part, tags, depth+1)
	}
	if s.types != objectType {
		return
	}
	for _, p := range s.properties {
		v := p.value
		if !v.hasEnum || len(v.enum) > most || !slices.Contains(s.required, p.name) {
			continue
		}
		texts := []string{}
		for _, item := range v.enum {
			if item.kind == '"' {
				texts = append(texts, item.text)
			}
		}
		if len(texts) == len(v.enum) {
			tags[p.name] = texts
		}
	}
}

// WordLevel: each part of a text is one token or unknown.

package tokenizer

// wordLevel implements WordLevel.
type wordLevel struct {
	ids     map[string]uint32
	unknown uint32 // none if an unknown part is an error
}

func (m *wordLevel) tokenize(e *encoded, p passage) error {
	id, ok := m.ids[p.text]
	if !ok {
		return e.unknown(m.unknown, p, 0, len(p.text))
	}
	e.add(int(id), p.span(0, len(p.text)))
	return nil
}

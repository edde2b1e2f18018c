package serve

// Prompts: strings, ids, or lists of either, and what the model is given for them.

import (
	"net/http"

	"picogpt/internal/strictjson"
)

// A prompt is one of a request's.
type prompt struct {
	text  string // as it is echoed
	asIDs bool   // it came as ids
	ids   []int
}

// prompts are all of a request.
type prompts []prompt

// read reads a prompt of any of the four shapes. No prompt at all is one, the end of text.
func (p *prompts) read(vocabulary, most int) field {
	return func(r *strictjson.Reader) error {
		switch r.Kind() {
		case '"':
			text, err := r.String()
			*p = prompts{{text: text}}
			return err
		case '[':
		default:
			return wrong(r, "a string, a list of strings, a list of ids or a list of those")
		}
		kind := byte(0) // of the first element
		return r.Array(func(i int) error {
			if i == 0 {
				kind = r.Kind()
			}
			switch {
			case kind != '"' && kind != '0' && kind != '[':
				return wrong(r, "strings, ids or lists of ids")
			case r.Kind() != kind:
				return wrong(r, map[byte]string{
					'"': "a string, as before", '0': "an id, as before", '[': "a list, as before",
				}[kind])
			case kind != '0' && i == most:
				return r.Errorf("want at most %d prompts, found more", most)
			}
			return p.element(r, kind, vocabulary)
		})
	}
}

// element reads an element of a list.
func (p *prompts) element(r *strictjson.Reader, kind byte, vocabulary int) error {
	switch kind {
	case '"':
		text, err := r.String()
		*p = append(*p, prompt{text: text})
		return err
	case '0':
		id, err := r.Natural(int64(vocabulary) - 1)
		if len(*p) == 0 {
			*p = prompts{{asIDs: true}}
		}
		(*p)[0].ids = append((*p)[0].ids, int(id))
		return err
	}
	one := prompt{asIDs: true}
	err := ids(&one.ids, vocabulary, mostTokens)(r)
	if err == nil && len(one.ids) == 0 {
		return r.Errorf("list %d: want at least one id, found none", len(*p)+1)
	}
	*p = append(*p, one)
	return err
}

// encode makes ids of the prompts, and texts of ids where those are wanted. Together with the new
// tokens each has to fit the model's context.
func (s *Server) encode(q *completion) error {
	if len(q.prompt) == 0 {
		q.prompt = prompts{{}}
	}
	config := s.model.Config()
	for i := range q.prompt {
		p := &q.prompt[i]
		if !p.asIDs && len(p.text) > config.Positions*s.vocabulary.longest {
			return tooLong(config.Positions, len(p.text)/s.vocabulary.longest, q.maxTokens)
		}
		if !p.asIDs {
			var err error
			if p.ids, err = s.vocabulary.Encode(p.text); err != nil {
				return fieldf("prompt", "%v", err)
			}
		} else if q.echo {
			p.text = s.vocabulary.textOf(p.ids)
		}
		if len(p.ids) == 0 {
			start, ok := config.StartToken()
			if !ok {
				return fieldf("prompt", "want at least one id, because the model has none that "+
					"begins a text, found none")
			}
			p.ids = []int{start}
		}
		if len(p.ids) > config.Positions-min(config.Positions, q.maxTokens) {
			return tooLong(config.Positions, len(p.ids), q.maxTokens)
		}
	}
	return nil
}

func tooLong(positions, prompt, tokens int) error {
	e := errorf(http.StatusBadRequest, "context_length_exceeded",
		"prompt: at least %d tokens, and max_tokens %d, want at most %d together, which is this "+
			"model's maximum context length", prompt, tokens, positions)
	e.param = "prompt"
	return e
}

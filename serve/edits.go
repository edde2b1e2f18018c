package serve

// What requests change inside of the model: control vectors by name, and edits of their own.

import (
	"errors"
	"strconv"

	"picogpt/inside"
	"picogpt/inside/steer"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// Limits of the edits of a request: each costs a little at every token, and their numbers are kept
// as long as the request waits.
const (
	mostEdits  = 512
	mostValues = 1 << 14 // of all edits together
)

// changes are what a request changes inside of the model.
type changes struct {
	steer []steered
	own   []model.Edit // the field edits
}

// addFields adds the fields of changes to a table.
func (c *changes) addFields(s *Server, table map[string]field, ignored *[]string) {
	table["steer"] = s.readSteer(&c.steer, ignored)
	table["edits"] = s.readEdits(&c.own, ignored)
}

// all returns the edits of control vectors, and those of the request after them.
func (c *changes) all(s *Server) ([]model.Edit, error) {
	var list []steer.Scaled
	for _, w := range c.steer {
		v := s.steering(w.name)
		list = append(list, steer.Scaled{Vector: v.Vector, Scale: float32(float64(v.Scale) * w.scale)})
	}
	edits, err := steer.Edits(list)
	if err != nil {
		return nil, fieldf("steer", "%v", err)
	}
	return append(edits, c.own...), nil
}

// blame returns the error of numbers that are not finite as one of the fields that caused it, if the
// request has any.
func (c *changes) blame(err error) error {
	var infinite *model.NonFiniteError
	if !errors.As(err, &infinite) && !errors.Is(err, inside.ErrNonFinite) {
		return err
	}
	switch {
	case len(c.own) > 0:
		return fieldf("edits", "the model's numbers are not finite with them: want smaller values")
	case len(c.steer) > 0:
		return fieldf("steer", "the model's logits are not finite with it: want smaller scales")
	}
	return err
}

// readEdits reads a list of edits, as model.Edit has them in JSON, and checks them.
func (s *Server) readEdits(to *[]model.Edit, ignored *[]string) field {
	return func(r *strictjson.Reader) error {
		if s.options.NoInside {
			return r.Errorf("this server takes none (gpt serve --inside off)")
		}
		values := 0
		return r.Array(func(i int) error {
			if i == mostEdits {
				return r.Errorf("want at most %d, found more", mostEdits)
			}
			e, err := s.readEdit(r, ignored, &values)
			if err == nil {
				if err = s.model.CheckEdits([]model.Edit{e}); err != nil {
					err = r.Errorf("%v", err)
				}
			}
			*to = append(*to, e)
			return err
		})
	}
}

// readEdit reads an edit. values counts the numbers of all.
func (s *Server) readEdit(
	r *strictjson.Reader, ignored *[]string, values *int,
) (e model.Edit, err error) {
	e.Head = model.AllHeads
	config, op, at := s.model.Config(), "", ""
	position := func(to *int) field { return whole(to, 0, config.Positions) }
	err = object("edits", ignored, map[string]field{
		"at": func(r *strictjson.Reader) error {
			err := text(&at)(r)
			if err == nil {
				e.At, err = model.ParsePoint(at)
			}
			return err
		},
		"head": whole(&e.Head, model.AllHeads, config.Head-1),
		"op":   text(&op), "values": readValues(&e.Values, values),
		"from": position(&e.From), "to": position(&e.To),
		"keys_from": position(&e.KeysFrom), "keys_to": position(&e.KeysTo),
	})(r)
	if err == nil && at == "" {
		err = r.Errorf("want at in each, found none")
	}
	e.Op = model.Op(op)
	return e, err
}

// readValues reads the numbers of an edit, of which count has those of the edits before.
func readValues(to *[]float32, count *int) field {
	return func(r *strictjson.Reader) error {
		return r.Array(func(int) error {
			if *count++; *count > mostValues {
				return r.Errorf("want at most %d numbers in all edits together, found more", mostValues)
			}
			written, err := r.Number()
			if err != nil {
				return err
			}
			x, err := strconv.ParseFloat(written, 32)
			if err != nil {
				return r.Errorf("want a number of 32 bits, found %s", short(written))
			}
			*to = append(*to, float32(x))
			return nil
		})
	}
}

package serve

// What requests change inside of the model: control vectors by name, and edits of their own.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/inside"
	"picogpt/inside/steer"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/serve/internal/openapi"
)

// A Steering is a control vector, or a dictionary whose features are directions, that requests may
// ask for by its name, in the field steer.
type Steering struct {
	Name       string
	Vector     steer.Vector // must not change
	Scale      float32      // multiplies the request's; 0 means 1
	Dictionary *Dictionary  // in place of Vector: of the model, and open while the server is
}

// A Dictionary is what the server needs of a sae.Reader. It is no interface, and the server's program
// has no code of package inside/sae unless something opens one: the playground in a browser has not.
type Dictionary struct {
	Model    *model.Model
	Features int
	Digest   string
	Edits    func(changes ...Change) ([]model.Edit, error)
}

// A Change is what becomes of a feature: a sae.Change.
type Change = struct {
	Feature int
	Add     bool
	To      float32
}

// mostScale bounds a request's scale of a vector. What it makes infinite is refused.
const mostScale = 1e6

// A steered is a vector that a request asks for, and how much of it; or a feature of a dictionary,
// of which scale is added, or which becomes to.
type steered struct {
	name    string
	scale   float64
	feature int // -1: none
	to      *float64
}

// checkSteering returns an error for vectors that requests could not ask for, or the model not
// make.
func checkSteering(m *model.Model, list []Steering) error {
	for i := range list {
		s := &list[i]
		switch {
		case s.Name == "" || len(s.Name) > mostName:
			return fmt.Errorf("steering %d: a name of %d bytes, want 1 to %d", i, len(s.Name),
				mostName)
		case slices.ContainsFunc(list[:i], func(o Steering) bool { return o.Name == s.Name }):
			return fmt.Errorf("steering %s: two vectors of that name", short(s.Name))
		case s.Dictionary != nil && len(s.Vector) == 0 && s.Dictionary.Model == m:
			continue
		case len(s.Vector) == 0 || s.Dictionary != nil:
			return fmt.Errorf("steering %s: a vector without a direction", short(s.Name))
		}
		err := s.Vector.Check(m.Config())
		if err == nil {
			var edits []model.Edit
			edits, err = steer.Edits([]steer.Scaled{{Vector: s.Vector, Scale: s.Scale}})
			if err == nil {
				err = m.CheckEdits(edits)
			}
		}
		if err != nil {
			return fmt.Errorf("steering %s: %w", short(s.Name), err)
		}
	}
	return nil
}

// mostFeatures bounds the features of a request: each has the numbers of its encoder and decoder.
const mostFeatures = 64

// readSteer reads a list of vectors: objects with name, and scale where it is not 1; of a
// dictionary with a feature, and scale or to.
func (s *Server) readSteer(to *[]steered, ignored *[]string) field {
	most, largest := 0, -1
	for _, v := range s.options.Steer {
		if most++; v.Dictionary != nil {
			most, largest = most+mostFeatures, max(largest, v.Dictionary.Features-1)
		}
	}
	one := func(v *steered) field {
		fields := map[string]field{
			"name":  must(among(text(&v.name), s.steerings()...)),
			"scale": number(&v.scale, -mostScale, mostScale)}
		if largest >= 0 {
			v.to = new(math.NaN())
			fields["feature"] = whole(0, largest)(&v.feature)
			fields["to"] = number(v.to, -mostScale, mostScale)
		}
		return object("steer", ignored, fields)
	}
	list := listed(most, func() field { return one(new(steered)) })
	return as(list, func(r *strictjson.Reader) error {
		return r.Array(func(i int) error {
			if i == most && i > 0 {
				return r.Errorf("want at most %d, each vector once, found more", most)
			}
			v := steered{scale: 1, feature: -1}
			if err := one(&v).read(r); err != nil {
				return err
			}
			if v.name == "" {
				return r.Errorf("want a name in each, found none")
			}
			if s.steering(v.name) == nil {
				return r.Errorf("%s", s.noSteering(v.name))
			}
			d := s.steering(v.name).Dictionary
			set := v.to != nil && *v.to == *v.to
			if (d != nil) != (v.feature >= 0) || d != nil && v.feature >= d.Features ||
				set && (d == nil || v.scale != 1) {
				return r.Errorf("%s: want a feature of a dictionary, with scale or to, and none "+
					"of a vector", short(v.name))
			}
			if slices.ContainsFunc(*to, func(o steered) bool {
				return o.name == v.name && o.feature == v.feature
			}) {
				return r.Errorf("%s comes twice", short(v.name))
			}
			*to = append(*to, v)
			return nil
		})
	})
}

// steering returns the vector of a name, nil if there is none.
func (s *Server) steering(name string) *Steering {
	for i := range s.options.Steer {
		if v := &s.options.Steer[i]; v.Name == name {
			return v
		}
	}
	return nil
}

// noSteering says that there is no vector of a name, and which there are.
func (s *Server) noSteering(name string) string {
	names := s.steerings()
	if len(names) == 0 {
		return "this server has no control vectors (gpt serve --steer NAME=FILE loads one), " +
			"found " + short(name)
	}
	return "want " + strings.Join(names, ", ") + ", found " + short(name)
}

// steerings returns the names of the vectors.
func (s *Server) steerings() (names []string) {
	for i := range s.options.Steer {
		names = append(names, s.options.Steer[i].Name)
	}
	return names
}

// writeSteering writes all that the texts depend on, whatever the order of the list.
func writeSteering(w io.Writer, list []Steering) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Steering) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range list {
		orDefault(&s.Scale, 1)
		if s.Dictionary != nil {
			fmt.Fprintf(w, "%q %s\n", s.Name, s.Dictionary.Digest)
			continue
		}
		fmt.Fprintf(w, "%q %x %d\n", s.Name, math.Float32bits(s.Scale), s.Vector.Layers())
		for _, n := range s.Vector.Layers() {
			binary.Write(w, binary.LittleEndian, s.Vector[n])
		}
	}
}

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
	features := map[*Dictionary][]Change{}
	for _, w := range c.steer {
		v := s.steering(w.name)
		if d := v.Dictionary; d != nil {
			one := Change{Feature: w.feature, Add: *w.to != *w.to, To: float32(w.scale)}
			if !one.Add {
				one.To = float32(*w.to)
			}
			features[d] = append(features[d], one)
			continue
		}
		scale := float32(float64(v.Scale) * w.scale)
		list = append(list, steer.Scaled{Vector: v.Vector, Scale: scale})
	}
	edits, err := steer.Edits(list)
	for _, v := range s.options.Steer {
		if changes := features[v.Dictionary]; changes != nil && err == nil {
			var more []model.Edit
			more, err = v.Dictionary.Edits(changes...)
			edits = append(edits, more...)
		}
	}
	if err != nil {
		return nil, fieldf("steer", "%v", err)
	}
	return append(edits, c.own...), nil
}

// blame returns the error of numbers that are not finite as one of the fields that caused it, if
// the request has any.
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
	one := func() field { return s.readEdit(new(model.Edit), new(string), ignored, new(int)) }
	most := mostEdits
	if s.options.NoInside {
		most = 0
	}
	return as(listed(most, one), func(r *strictjson.Reader) error {
		values := 0
		return r.Array(func(i int) error {
			if s.options.NoInside {
				return r.Errorf("this server takes none (gpt serve --inside off)")
			}
			if i == mostEdits {
				return r.Errorf("want at most %d, found more", mostEdits)
			}
			e, at := model.Edit{Head: model.AllHeads}, ""
			err := s.readEdit(&e, &at, ignored, &values).read(r)
			if err == nil && at == "" {
				err = r.Errorf("want at in each, found none")
			}
			if err == nil {
				if err = s.model.CheckEdits([]model.Edit{e}); err != nil {
					err = r.Errorf("%v", err)
				}
			}
			*to = append(*to, e)
			return err
		})
	})
}

// readEdit reads an edit, and where it is as written. values counts the numbers of all.
func (s *Server) readEdit(e *model.Edit, at *string, ignored *[]string, values *int) field {
	config := s.model.Config()
	position := whole(0, config.Positions)
	return object("edits", ignored, map[string]field{
		"at": must(as(openapi.String, func(r *strictjson.Reader) (err error) {
			if *at, err = ownString(r); err == nil {
				e.At, err = model.ParsePoint(*at)
			}
			return err
		})),
		"head": whole(model.AllHeads, config.Head-1)(&e.Head),
		"op": must(among(text((*string)(&e.Op)), string(model.Set), string(model.Add),
			string(model.Scale), string(model.Hide))), "values": readValues(&e.Values, values),
		"from": position(&e.From), "to": position(&e.To),
		"keys_from": position(&e.KeysFrom), "keys_to": position(&e.KeysTo),
	})
}

// readValues reads the numbers of an edit, of which count has those of the edits before.
func readValues(to *[]float32, count *int) field {
	return as(func() openapi.Schema {
		return openapi.AtMost(mostValues, openapi.Schema{"type": "number"})
	}, func(r *strictjson.Reader) error {
		return r.Array(func(int) error {
			if *count++; *count > mostValues {
				return r.Errorf("want at most %d numbers in all edits together, found more",
					mostValues)
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
	})
}

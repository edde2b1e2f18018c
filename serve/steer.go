package serve

// Control vectors, by the names that requests have for them.

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"picogpt/inside/steer"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// A Steering is a control vector that requests may ask for by its name, in the field steer.
type Steering struct {
	Name   string
	Vector steer.Vector // must not change
	Scale  float32      // multiplies the request's; 0 means 1
}

// mostScale bounds a request's scale of a vector. What it makes infinite is refused.
const mostScale = 1e6

// A steered is a vector that a request asks for, and how much of it.
type steered struct {
	name  string
	scale float64
}

// checkSteering returns an error for vectors that requests could not ask for, or the model not make.
func checkSteering(m *model.Model, list []Steering) error {
	for i := range list {
		s := &list[i]
		switch {
		case s.Name == "" || len(s.Name) > mostName:
			return fmt.Errorf("steering %d: a name of %d bytes, want 1 to %d", i, len(s.Name), mostName)
		case slices.ContainsFunc(list[:i], func(o Steering) bool { return o.Name == s.Name }):
			return fmt.Errorf("steering %s: two vectors of that name", short(s.Name))
		case len(s.Vector) == 0:
			return fmt.Errorf("steering %s: a vector without a direction", short(s.Name))
		}
		err := s.Vector.Check(m.Config())
		if err == nil {
			var edits []model.Edit
			if edits, err = steer.Edits([]steer.Scaled{{Vector: s.Vector, Scale: s.Scale}}); err == nil {
				err = m.CheckEdits(edits)
			}
		}
		if err != nil {
			return fmt.Errorf("steering %s: %w", short(s.Name), err)
		}
	}
	return nil
}

// readSteer reads a list of vectors: objects with name, and scale where it is not 1.
func (s *Server) readSteer(to *[]steered, ignored *[]string) field {
	return func(r *strictjson.Reader) error {
		return r.Array(func(i int) error {
			if most := len(s.options.Steer); i == most && i > 0 {
				return r.Errorf("want at most %d, each vector once, found more", most)
			}
			v := steered{scale: 1}
			if err := object("steer", ignored, map[string]field{
				"name": text(&v.name), "scale": number(&v.scale, -mostScale, mostScale),
			})(r); err != nil {
				return err
			}
			if v.name == "" {
				return r.Errorf("want a name in each, found none")
			}
			if s.steering(v.name) == nil {
				return r.Errorf("%s", s.noSteering(v.name))
			}
			if slices.ContainsFunc(*to, func(o steered) bool { return o.name == v.name }) {
				return r.Errorf("%s comes twice", short(v.name))
			}
			*to = append(*to, v)
			return nil
		})
	}
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
		return "this server has no control vectors (gpt serve --steer NAME=FILE loads one), found " +
			short(name)
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
		fmt.Fprintf(w, "%q %x %d\n", s.Name, math.Float32bits(s.Scale), s.Vector.Layers())
		for _, n := range s.Vector.Layers() {
			binary.Write(w, binary.LittleEndian, s.Vector[n])
		}
	}
}

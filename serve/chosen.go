package serve

// Who answers a request: the model, a variant of it with an adapter, or another model.

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/serve/internal/turns"
)

// An Adapter is a variant of the model that requests may choose.
type Adapter struct {
	Name        string
	Scale       float64 // that it is merged with, which is llama.cpp's in the field lora
	Bytes       int64   // of what Open copies
	Fingerprint string  // of its answers: as Options.Fingerprint

	// Open makes the variant, when a request chooses it and it is not there.
	Open func(context.Context) (*model.Model, error)
}

// shelve makes the shelf of the adapters' variants.
func (s *Server) shelve() *turns.Shelf[*model.Model] {
	most := cmp.Or(s.options.AdapterBytes, math.MaxInt64)
	var items []turns.Item[*model.Model]
	for _, a := range s.options.Adapters {
		items = append(items, turns.Item[*model.Model]{Name: a.Name, Bytes: a.Bytes,
			Make: func(ctx context.Context) (_ *model.Model, err error) {
				defer s.tell("adapter", a.Name, a.Bytes, time.Now(), &err)
				return a.Open(ctx)
			},
			Drop: func(m *model.Model) { s.batcher.Drop(m) }})
	}
	return turns.NewShelf(most, items)
}

// tell logs that something was loaded, unless there is an error, which ends the request.
func (s *Server) tell(what, name string, bytes int64, start time.Time, err *error) {
	if *err == nil {
		s.options.Log.Info(what+" is loaded", what, name, "bytes", bytes,
			milliseconds("took_ms", time.Since(start)))
	}
}

// A choosing is what a request says of who answers: nil and 0 for nothing.
type choosing struct {
	model *string
	lora  int // 1 + the index of the adapter, −1 for none of them
}

// addFields adds the fields of a choice to a table.
func (c *choosing) addFields(s *Server, table map[string]field, ignored *[]string) {
	table["model"] = among(optional(&c.model, text), s.modelNames()...)
	if len(s.options.Adapters) > 0 {
		table["lora"] = s.readLora(&c.lora, ignored)
	}
}

// chosen returns 1 + the index of the adapter that a request chooses, 0 for none, or an error if it
// names what is not here.
func (s *Server) chosen(c choosing) (adapter int, err error) {
	if c.model == nil || slices.Contains(s.options.ids(), *c.model) {
		return max(c.lora, 0), nil
	}
	name := *c.model // which vLLM's clients have alone
	for _, id := range s.options.ids() {
		if after, ok := strings.CutPrefix(*c.model, id+":"); ok {
			name = after
		}
	}
	adapter = s.adapters.Find(name) + 1
	switch {
	case adapter == 0:
		e := fieldf("model", "%s is not here, want %s", quote.Short(*c.model, 80),
			strings.Join(s.modelNames(), " or "))
		e.status, e.code = http.StatusNotFound, "model_not_found"
		return 0, e
	case c.lora < 0:
		return 0, fieldf("lora", "want the adapter of model, %s, found none with a scale", name)
	case c.lora != 0 && c.lora != adapter:
		return 0, fieldf("lora", "want the adapter of model, %s, found %s", name,
			s.options.Adapters[c.lora-1].Name)
	}
	return adapter, nil
}

// nameOf returns the name of the model with an adapter, as chosen returns it.
func (s *Server) nameOf(adapter int) string {
	if adapter == 0 {
		return s.options.Name
	}
	return s.options.Name + ":" + s.options.Adapters[adapter-1].Name
}

// names returns all names that the field model may have.
func (s *Server) modelNames() []string {
	all := s.options.ids()
	for i := range s.options.Adapters {
		all = append(all, s.nameOf(i+1))
	}
	for _, m := range s.options.Models {
		all = append(all, m.Name)
	}
	return all
}

// variant returns the model that a visit chooses. The caller calls back when it no longer uses it.
func (s *Server) variant(ctx context.Context, v *visit) (m *model.Model, back func(), err error) {
	if v.adapter == 0 {
		return s.model, func() {}, nil
	}
	return s.adapters.Take(ctx, v.client.id, v.adapter-1)
}

// fingerprint returns that of answers with an adapter, as chosen returns it.
func (s *Server) fingerprint(adapter int) string {
	if adapter == 0 {
		return s.options.Fingerprint
	}
	return s.options.Adapters[adapter-1].Fingerprint
}

// loraJSON is the JSON of an adapter, with llama.cpp's fields: none is applied unless a request
// asks for it.
type loraJSON struct {
	ID    int     `json:"id"`
	Path  string  `json:"path"` // its name
	Scale float64 `json:"scale"`
}

func (s *Server) loraAdapters(v *visit) error {
	var all []loraJSON
	for i, a := range s.options.Adapters {
		all = append(all, loraJSON{ID: i, Path: a.Name})
	}
	return v.replyJSON(all)
}

// readLora reads llama.cpp's list of objects with id, an index, and scale. There is one copy of
// each adapter, with the scale that the server was started with: so at most one has a scale, which
// is that. A list without one says that none is meant.
func (s *Server) readLora(to *int, ignored *[]string) field {
	most := len(s.options.Adapters)
	one := func(i *int, scale *float64) field {
		return object("lora", ignored, map[string]field{"id": must(whole(0, most-1)(i)),
			"scale": number(scale, -mostScale, mostScale)})
	}
	list := listed(most, func() field { return one(new(int), new(float64)) })
	return as(list, func(r *strictjson.Reader) error {
		*to = -1
		return r.Array(func(n int) error {
			i, scale := -1, math.NaN()
			if n == most {
				return r.Errorf("want at most %d, each adapter once, found more", most)
			}
			err := one(&i, &scale).read(r)
			switch {
			case err != nil:
			case i < 0:
				err = r.Errorf("want id in each, found none")
			case scale == 0:
			case scale == scale && scale != s.options.Adapters[i].Scale:
				err = r.Errorf("scale of %s: want 0, or %v as the server has it, found %v",
					s.options.Adapters[i].Name, s.options.Adapters[i].Scale, scale)
			case *to > 0:
				err = r.Errorf("want one adapter, found %s and %s", s.options.Adapters[*to-1].Name,
					s.options.Adapters[i].Name)
			default:
				*to = i + 1
			}
			return err
		})
	})
}

// Other models.

// An Other is another model that requests may choose.
type Other struct {
	Name    string
	Bytes   int64 // of its weights
	Context int   // max_model_len

	// Check returns an error where Open would, if that is known before it: those that are there are
	// closed for a model only after it. Nil is none.
	Check func(context.Context) error

	// Open makes its server, when a request names it and it is not there, and close ends the model
	// after the server is closed. The server's own keys, Adapters and Models are not used.
	Open func(context.Context) (_ *Server, close func(), err error)
}

// An opened is another model that is there.
type opened struct {
	*Server
	close func()
}

// shelveModels makes the shelf of the other models.
func (s *Server) shelveModels() *turns.Shelf[opened] {
	var items []turns.Item[opened]
	for _, o := range s.options.Models {
		items = append(items, turns.Item[opened]{Name: o.Name, Bytes: o.Bytes, Check: o.Check,
			Make: func(ctx context.Context) (_ opened, err error) {
				defer s.tell("model", o.Name, o.Bytes, time.Now(), &err)
				to, end, err := o.Open(ctx)
				return opened{to, end}, err
			},
			Drop: func(o opened) {
				o.Server.Close()
				o.close()
			}})
	}
	return turns.NewShelf(cmp.Or(s.options.ModelBytes, math.MaxInt64), items)
}

// dispatchByModel lets the server of the model that a body names answer.
func (s *Server) dispatchByModel(v *visit) error {
	body, err := s.read(v)
	if err != nil {
		return err
	}
	v.text = &body
	name, streams, r := "", false, strictjson.NewReader(body)
	err = r.Table(func(key string) (err error) {
		switch kind := r.Kind(); {
		case key == "model" && kind == '"':
			name, err = r.String()
		case key == "stream" && kind == 't' && v.route.events != nil:
			streams, err = r.Bool()
		default:
			_, err = r.Raw()
		}
		return err
	})
	i := s.others.Find(name)
	if err != nil || i < 0 { // what is wrong, the handler tells
		return v.route.answer(v)
	}
	// one time for the wait and the answer
	ctx, cancel := s.bounded(v)
	defer cancel()
	v.request = v.request.WithContext(ctx)
	j := &job{completion: new(completion), server: s, visit: v}
	if v.route.pattern == "/v1/responses" {
		j.response = new(response)
	}
	e := newEvents(j) // of a stream that waits, and then its errors are events
	// a place in this server's queue, until the model is there: so those that wait are bounded
	var to opened
	var back func()
	err = s.placed(v, 1, func(ctx context.Context, _ *place) (err error) {
		if streams {
			defer e.keepAlive()()
		}
		to, back, err = s.others.Take(ctx, v.client.id, i)
		return err
	})
	if err == nil {
		defer back()
		v.server, v.route = to.Server, to.find(v.request.URL.Path)
		err = v.route.answer(v)
	}
	if streams {
		err = e.fail(err)
	}
	return err
}

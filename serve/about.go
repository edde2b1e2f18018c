package serve

// What the server tells of itself: whether it is there, its models and its API; and when the tokens of a
// prompt arrived, for metrics.

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"picogpt/batch"
	"picogpt/inside"
	"picogpt/serve/internal/openapi"
)

func health(v *visit) error {
	v.reply(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

// ready answers load balancers: 503 once the end has begun.
func (s *Server) ready(v *visit) error {
	if s.queue.draining.Load() || s.retired.Load() {
		return errDraining()
	}
	v.reply(http.StatusOK, []byte(`{"status":"ready"}`))
	return nil
}

// version answers as vLLM does.
func (s *Server) version(v *visit) error {
	says := map[string]string{"version": s.options.Version}
	if s.options.Build != "" {
		says["build"] = s.options.Build
	}
	return v.replyJSON(says)
}

// aModel is the JSON of a model, with OpenAI's and vLLM's fields.
type aModel struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len"`
	Root        string `json:"root,omitempty"`   // of a model with an adapter, the adapter
	Parent      string `json:"parent,omitempty"` // and the model

	// the fields whose defaults the checkpoint's generation_config.json gives
	Defaults map[string]any `json:"generation_config,omitempty"`

	Steer  []string `json:"steer,omitempty"`  // the control vectors that requests may name
	Inside bool     `json:"inside,omitempty"` // /inside answers, and edits are taken
}

func (s *Server) describe(id string) aModel {
	m := aModel{ID: id, Object: "model", Created: s.created.Unix(), OwnedBy: "picogpt"}
	if i := s.others.Find(id); i >= 0 {
		m.MaxModelLen = s.options.Models[i].Context
		return m
	}
	if adapter, _ := s.chosen(choosing{model: &id}); adapter > 0 {
		m.ID, m.Root, m.Parent = s.nameOf(adapter), s.options.Adapters[adapter-1].Name, s.options.Name
	}
	m.MaxModelLen, m.Defaults, m.Steer = s.model.Config().Positions, s.saved, s.steerings()
	m.Inside = !s.options.NoInside && s.canTrace() == nil
	return m
}

func (s *Server) models(v *visit) error {
	var all []aModel
	for _, id := range s.modelNames() {
		all = append(all, s.describe(id))
	}
	return v.replyJSON(modelList{"list", all})
}

type modelList struct {
	Object string   `json:"object"`
	Data   []aModel `json:"data"`
}

// modelPath is before the name of a model, which may have slashes, and oneModel the pattern of both.
const (
	modelPath = "/v1/models/"
	oneModel  = modelPath + "{id}"
)

func (s *Server) oneModel(v *visit) error {
	id := strings.TrimPrefix(v.request.URL.Path, modelPath)
	if s.others.Find(id) < 0 {
		if _, err := s.chosen(choosing{model: &id}); err != nil {
			return err
		}
	}
	return v.replyJSON(s.describe(id))
}

// replyJSON answers with the JSON of a value.
func (v *visit) replyJSON(value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	v.reply(http.StatusOK, b)
	return nil
}

// onWire has values of the types that types stand for whose JSON they make themselves.
var onWire = map[reflect.Type][]any{
	reflect.TypeFor[choiceList]():     {[]choiceJSON{}},
	reflect.TypeFor[logProb]():        {new(float64)}, // or null
	reflect.TypeFor[scores]():         {logprobs{}, new(chatLogprobs)},
	reflect.TypeFor[likeliest]():      {new(map[string]logProb)},
	reflect.TypeFor[promptScore]():    {new(map[string]rankedToken)},
	reflect.TypeFor[idOrText]():       {new(int), ""},
	reflect.TypeFor[textOrNull]():     {new(string)},
	reflect.TypeFor[vector]():         {[]float64{}},
	reflect.TypeFor[source]():         {[]float64{}},
	reflect.TypeFor[inside.Parts]():   {map[string]float64{}},
	reflect.TypeFor[vectorOrBase64](): {vector{}, ""},
	reflect.TypeFor[idsOrPieces]():    {[]int{}, []piece{}},
	reflect.TypeFor[textOrBytes]():    {"", []int{}},
	reflect.TypeFor[jsontext.Value](): {new(any)},
}

// document returns the document of the API, in OpenAPI: what the tables of the paths read, and the
// types that are sent.
func (s *Server) document() []byte {
	d := openapi.Document{Title: "gpt serve", Version: s.options.Version,
		Description: "Lengths of strings are bytes of UTF-8. A field that is null is absent. Streams " +
			"are server-sent events, whose data has the schema; but the last is [DONE], if any is.",
		Types: openapi.Types{Named: map[string]openapi.Schema{}, Like: onWire}}
	of := func(value any) openapi.Schema { return d.Types.Of(reflect.TypeOf(value)) }
	if d.Error = of(errorAnswer{}); s.door.keys.wanted {
		d.Keys = []string{"bearer", "basic"}
	}
	for _, pattern := range slices.Sorted(maps.Keys(s.routes)) {
		r := s.routes[pattern]
		if r.gives == nil || r.refused {
			continue
		}
		o := openapi.Operation{Path: pattern, Method: r.method, Errors: s.failures(r), Open: r.open,
			Answers: map[string]openapi.Schema{"application/json": of(r.gives)}}
		if _, plain := r.gives.(string); plain {
			o.Answers = map[string]openapi.Schema{"text/plain": of("")}
		}
		if r.events != nil {
			o.Answers["text/event-stream"] = of(r.events)
		}
		if r.fields != nil {
			table := r.fields()
			new(choosing).addFields(s, table, new([]string))
			o.Body = schemaOf(table)
		}
		d.Operations = append(d.Operations, o)
	}
	return d.JSON()
}

// A pace records when the tokens of one prompt arrived.
type pace struct {
	progress batch.Progress
	last     []time.Time // by sample
}

// token records the arrival of a token.
func (m *metrics) token(p *pace, sample int) {
	now := time.Now()
	if last := p.last[sample]; !last.IsZero() {
		m.betweenTokens.Observe(now.Sub(last).Seconds())
	}
	p.last[sample] = now
}

// prompt records the times of a prompt's texts.
func (m *metrics) prompt(p *pace) {
	g := &p.progress
	if g.Placed.IsZero() {
		return
	}
	m.queued.Observe(g.Placed.Sub(g.Submitted).Seconds())
	if g.First.IsZero() {
		return
	}
	m.prefill.Observe(g.First.Sub(g.Placed).Seconds())
	m.decode.Observe(time.Since(g.First).Seconds())
}

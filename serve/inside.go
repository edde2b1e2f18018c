package serve

// /inside: what the model computes for one token of a text: where its heads look, what each layer
// would predict, and which parts add up to a logit.

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"picogpt/inside"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/serve/internal/openapi"
)

// Limits of an answer: of a model of 48 layers and 25 heads it has at most 2 MB.
const (
	mostLens    = 20   // top
	mostSources = 64   // of each head
	mostParts   = 4096 // of the model
	mostWord    = 1024 // bytes of target and against
)

// A look is the fields of a request.
type look struct {
	prompt          prompts
	at              *int
	target, against aToken
	changes         changes
	ignored         []string

	top, sources, parts int
}

// fields returns the table of a look.
func (q *look) fields(s *Server) map[string]field {
	table := map[string]field{
		"prompt": must(q.prompt.read(s, 1)), "user": anyText,
		"at":     optional(&q.at, whole(0, s.model.Config().Positions-1)),
		"target": s.readToken(&q.target), "against": s.readToken(&q.against),
		"top": whole(1, mostLens)(&q.top), "sources": whole(1, mostSources)(&q.sources),
		"parts": whole(1, mostParts)(&q.parts),
	}
	q.changes.addFields(s, table, &q.ignored)
	return table
}

func (s *Server) inside(v *visit) error {
	q := look{top: 5, sources: 8, parts: 16}
	err := s.readRequest(v, &q.ignored, q.fields(s), "prompt")
	if err != nil {
		return err
	}
	if err := s.canTrace(); err != nil {
		return err
	}
	if len(q.prompt) != 1 {
		return fieldf("prompt", "want one text, found %d", len(q.prompt))
	}
	return s.placed(v, 1, func(ctx context.Context, place *place) error {
		answer, err := s.lookInside(ctx, v, place, &q)
		if err != nil {
			return q.changes.blame(err)
		}
		return s.replyLarge(v, encode(answer))
	})
}

// canTrace returns an error where a device computes the model: it makes no edits.
func (s *Server) canTrace() error {
	nothing := model.Edit{At: model.Point{Kind: model.Z}, Head: model.AllHeads, Op: model.Scale,
		Values: []float32{1}}
	if err := s.model.CheckEdits([]model.Edit{nothing}); err != nil {
		return errorf(http.StatusBadRequest, "no_inside", "%v", err)
	}
	return nil
}

// lookInside answers a request. It takes its turn among the searches, and reads the text in parts
// as they do; what it does then for one token is no more than one of the parts.
func (s *Server) lookInside(
	ctx context.Context, v *visit, place *place, q *look,
) (*insideAnswer, error) {
	p := &q.prompt[0]
	if err := s.encodeOne(ctx, v.client.id, p, "prompt", 0, allowance{}); err != nil {
		return nil, err
	}
	ids, at := p.ids, len(p.ids)-1
	if q.at != nil {
		at = *q.at
	}
	if at >= len(ids) {
		return nil, fieldf("at", "want a token of the text, 0 to %d, found %d", len(ids)-1, at)
	}
	edits, err := q.changes.all(s)
	if err != nil {
		return nil, err
	}
	o := inside.AtOptions{Top: q.top, Edits: edits}
	if o.Metric, err = q.metric(); err != nil {
		return nil, err
	}
	if err := s.fits("prompt", at+1, 0, 0); err != nil {
		return nil, err
	}
	v.note.prompts, v.note.promptTokens = 1, len(ids)
	m, back, err := s.variant(ctx, v)
	if err != nil {
		return nil, err
	}
	defer back()
	turn, err := s.searches.Enter(ctx, v.client.id, at+1)
	if err != nil {
		return nil, err
	}
	defer s.searches.Leave(turn)
	place.begun.Add(1)
	session := m.NewSession()
	defer session.Release()
	last, err := s.readPrompt(ctx, session, ids[:at+1], edits)
	if err != nil {
		return nil, err
	}
	found, err := inside.At(ctx, session, last[0], o)
	if err != nil {
		return nil, err
	}
	answer := s.newInside(q, ids, at, found)
	answer.Model = s.nameOf(v.adapter)
	return answer, nil
}

// metric returns what is explained, nil if the request leaves it to the model.
func (q *look) metric() (*inside.Metric, error) {
	switch {
	case q.target.id == nil && q.against.id != nil:
		return nil, fieldf("against", "want target with it")
	case q.target.id == nil:
		return nil, nil
	case q.against.id != nil && *q.against.id == *q.target.id:
		return nil, fieldf("against", "want another token than target, found %d twice",
			*q.target.id)
	}
	return &inside.Metric{Target: *q.target.id, Against: q.against.id}, nil
}

// An aToken is one token of a request: an id, or a text that is one token.
type aToken struct{ id *int }

// readToken reads one token.
func (s *Server) readToken(to *aToken) field {
	size := s.model.Config().VocabSize
	word := atMost(mostWord)
	schema := func() openapi.Schema {
		return openapi.Either(openapi.Whole(0, size-1), openapi.Text(1, mostWord))
	}
	return as(schema, func(r *strictjson.Reader) error {
		switch r.Kind() {
		case '0':
			id, err := wholeNumber(r, 0, size-1)
			to.id = &id
			return err
		case '"':
		default:
			return wrong(r, "one token, as a string or an id")
		}
		var text string
		if err := word(&text).read(r); err != nil {
			return err
		}
		ids, err := s.vocabulary.Encode(text)
		if err != nil {
			return err
		}
		if len(ids) != 1 {
			return r.Errorf("want one token, found %d in %s", len(ids), strconv.Quote(short(text)))
		}
		to.id = &ids[0]
		return nil
	})
}

// insideAnswer is the JSON of an answer.
type insideAnswer struct {
	Object      string       `json:"object"`
	Model       string       `json:"model"`
	Tokens      []int        `json:"tokens"`
	Texts       []string     `json:"texts"`     // of the tokens
	At          int          `json:"at"`        // the token that all else is of
	Attention   [][][]source `json:"attention"` // [n_layer][n_head], the largest weights first
	Lens        []insideLens `json:"lens"`      // [n_layer+1]
	Target      insideToken  `json:"target"`
	Against     *insideToken `json:"against"`     // null: the mean of all
	Attribution *insideParts `json:"attribution"` // null: the parts do not add up
}

type insideLens struct {
	inside.Prediction
	Texts []string `json:"texts"` // of top
}

type insideToken struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

type insideParts struct {
	Difference float64      `json:"difference"`
	Sum        float64      `json:"sum"` // of all parts
	Parts      inside.Parts `json:"parts"`
}

// A source is a token that a head looks at, and its weight: a pair in JSON.
type source struct {
	position int
	weight   float32
}

func (x source) MarshalJSONTo(e *jsontext.Encoder) error {
	return vector{float32(x.position), x.weight}.MarshalJSONTo(e)
}

// newInside makes an answer of what was found for a token of a text.
func (s *Server) newInside(q *look, ids []int, at int, found *inside.Position) *insideAnswer {
	a := &insideAnswer{Object: "inside", Tokens: ids, Texts: s.names(ids),
		At: at, Attention: make([][][]source, len(found.Attention))}
	for i, layer := range found.Attention {
		for weights := range slices.Chunk(layer, at+1) {
			a.Attention[i] = append(a.Attention[i], largest(weights, q.sources))
		}
	}
	for _, p := range found.Lens {
		a.Lens = append(a.Lens, insideLens{p, s.names(p.Top)})
	}
	token := func(id int) insideToken { return insideToken{id, s.vocabulary.name(id, false)} }
	a.Target = token(found.Target)
	if id := q.against.id; id != nil {
		a.Against = new(token(*id))
	}
	if x := found.Attribution; x != nil {
		slices.SortStableFunc(x.Parts, func(a, b inside.Part) int {
			return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value))
		})
		a.Attribution = &insideParts{x.Difference, x.Sum, x.Parts[:min(len(x.Parts), q.parts)]}
	}
	return a
}

// largest returns the n largest weights, the largest first; of equal ones, the first token's first.
func largest(weights []float32, n int) []source {
	all := make([]source, len(weights))
	for i, w := range weights {
		all[i] = source{i, w}
	}
	slices.SortStableFunc(all, func(a, b source) int { return cmp.Compare(b.weight, a.weight) })
	return all[:min(n, len(all))]
}

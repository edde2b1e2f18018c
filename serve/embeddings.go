package serve

// /v1/embeddings and /classify: vectors and labels of texts, from hidden states after ln_f.

import (
	"context"
	"encoding/binary"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"picogpt/batch"
	"picogpt/eval"
)

// An embedding is the fields of a request.
type embedding struct {
	input  prompts
	format string
}

func (q *embedding) fields(s *Server) map[string]field {
	width := s.model.Config().Embd
	return map[string]field{
		"input": must(q.input.read(s, s.options.MaxPrompts)), "user": anyText,
		"encoding_format": word(&q.format, []string{"float", "base64"}),
		"dimensions":      whole(width, width)(new(int)),
	}
}

func (s *Server) embeddings(v *visit) error {
	q := embedding{format: "float"}
	if err := s.readRequest(v, nil, q.fields(s), "input"); err != nil {
		return err
	}
	width := s.model.Config().Embd
	list := embeddings{Object: "list", Model: s.nameOf(v.adapter),
		Data: make([]embedded, len(q.input))}
	how := eval.Pooling(s.options.Pooling)
	tokens, err := s.evaluate(v, q.input, how.From, func(i int, rows []float32) {
		pooled := how.Vector(rows, width, true)
		list.Data[i] = embedded{"embedding", i, vector(pooled)}
		if q.format == "base64" { // of the bits, little-endian
			list.Data[i].Embedding, _ = binary.Append(nil, binary.LittleEndian, pooled)
		}
	})
	if err != nil {
		return err
	}
	list.Usage.Prompt, list.Usage.Total = tokens, tokens
	v.reply(http.StatusOK, encode(&list))
	return nil
}

// evaluate evaluates the texts of a request in the batch, several at a time, and calls use with the
// hidden states [tokens, n_embd] of each, from the token on that from returns for a number of
// tokens. It returns the number of their tokens.
func (s *Server) evaluate(
	v *visit, input prompts, from func(n int) int, use func(int, []float32),
) (tokens int, err error) {
	if len(input) == 0 {
		return 0, fieldf("input", "want a string, strings, ids or lists of ids, found none")
	}
	err = s.placed(v, len(input), func(ctx context.Context, p *place) error {
		for i := range input {
			text := &input[i]
			if !text.asIDs && text.text == "" {
				return fieldf("input", "text %d: want at least one byte, found none", i+1)
			}
			err := s.encodeOne(ctx, v.client.id, text, "input", 0, allowance{})
			if err != nil {
				return err
			}
			if err := s.fits("input", len(text.ids), 0, 0); err != nil {
				return err
			}
			tokens += len(text.ids)
		}
		v.note.prompts, v.note.promptTokens = len(input), tokens
		if err := p.expect(float64(tokens), 0); err != nil {
			return err
		}
		progress := make([]batch.Progress, len(input))
		defer func() {
			for i := range progress {
				v.note.phases.add(&progress[i])
			}
		}()
		m, back, err := s.variant(ctx, v)
		if err != nil {
			return err
		}
		defer back()
		return s.each(ctx, len(input), func(ctx context.Context, i int) error {
			ids := input[i].ids
			rows, err := s.batcher.States(ctx, batch.Request{Prompt: ids, Model: m,
				Client: v.client.id, Salt: saltOf(v.tenant, ""), Begun: &p.begun, Progress: &progress[i],
			}, from(len(ids)))
			if err == nil {
				use(i, rows)
			}
			return err
		})
	})
	return tokens, err
}

// embeddings is the JSON of an answer.
type embeddings struct {
	Object string     `json:"object"`
	Model  string     `json:"model"`
	Data   []embedded `json:"data"`
	Usage  struct {
		Prompt int `json:"prompt_tokens"`
		Total  int `json:"total_tokens"`
	} `json:"usage"`
}

type embedded struct {
	Object    string         `json:"object"`
	Index     int            `json:"index"`
	Embedding vectorOrBase64 `json:"embedding"`
}

type vectorOrBase64 any // of the second bytes, whose JSON it is

// A vector is numbers, each in the fewest digits that are read as the same one.
type vector []float32

func (v vector) MarshalJSONTo(e *jsontext.Encoder) error {
	b := append(e.AvailableBuffer(), '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return e.WriteValue(append(b, ']'))
}

// labelFields returns the table of /classify.
func (s *Server) labelFields(input *prompts) map[string]field {
	return map[string]field{"input": must(input.read(s, s.options.MaxPrompts)), "user": anyText}
}

// classify answers /classify: the labels of texts, with vLLM's fields.
func (s *Server) classify(v *visit) error {
	var input prompts
	if err := s.readRequest(v, nil, s.labelFields(&input), "input"); err != nil {
		return err
	}
	switch head := s.options.Head; {
	case head == nil:
		return errorf(http.StatusNotFound, "", "this model has no head that classifies texts")
	case head.PerToken:
		return errorf(http.StatusNotFound, "", "this model's head classifies tokens, not texts; "+
			"gpt classify answers that")
	}
	list := classes{ID: "classify-" + v.id, Object: "list", Created: time.Now().Unix(),
		Model: s.nameOf(v.adapter), Data: make([]class, len(input))}
	tokens, err := s.evaluate(v, input, eval.Last.From, func(i int, hidden []float32) {
		c := eval.ClassOf(s.options.Head, hidden)
		list.Data[i] = class{i, c.Label, c.Scores, len(c.Scores)}
	})
	if err != nil {
		return err
	}
	list.Usage.Prompt, list.Usage.Total = tokens, tokens
	v.reply(http.StatusOK, encode(&list))
	return nil
}

// classes is the JSON of an answer.
type classes struct {
	ID      string  `json:"id"`
	Object  string  `json:"object"`
	Created int64   `json:"created"`
	Model   string  `json:"model"`
	Data    []class `json:"data"`
	Usage   struct {
		Prompt     int `json:"prompt_tokens"`
		Total      int `json:"total_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

type class struct {
	Index  int       `json:"index"`
	Label  string    `json:"label"`
	Scores []float64 `json:"probs"` // of a regression, its numbers
	Labels int       `json:"num_classes"`
}

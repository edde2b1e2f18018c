package serve

// /v1/embeddings: a vector for each text, from the model's hidden states after ln_f.

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"picogpt/model"
)

// An embedding is the fields of a request.
type embedding struct {
	model      *string
	input      prompts
	format     string
	dimensions *int
}

func (s *Server) embeddings(v *visit) error {
	q := embedding{format: "float"}
	width := s.model.Config().Embd
	release, err := s.readRequest(v, map[string]field{
		"model": optional(&q.model, text), "input": q.input.read(s, "input"),
		"encoding_format": text(&q.format), "user": anyText,
		"dimensions": optional(&q.dimensions, upTo(width, width)),
	}, "input")
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkModel(q.model); err != nil {
		return err
	}
	switch {
	case q.format != "float" && q.format != "base64":
		return fieldf("encoding_format", "want float or base64, found %s", short(q.format))
	case len(q.input) == 0:
		return fieldf("input", "want a string, strings, ids or lists of ids, found none")
	}
	if err := s.queue.reserve(len(q.input)); err != nil {
		return err
	}
	defer s.queue.release(len(q.input), 0)
	ctx, cancel := s.bounded(v)
	defer cancel()
	tokens, err := s.encodeInput(ctx, v.client.id, q.input)
	if err != nil {
		return s.explain(v, err)
	}
	v.note.prompts, v.note.promptTokens = len(q.input), tokens
	list := embeddings{Object: "list", Model: s.options.Name}
	list.Usage.Prompt, list.Usage.Total = tokens, tokens
	for i := range q.input {
		pooled, err := s.pool(ctx, q.input[i].ids)
		if err != nil {
			return s.explain(v, err)
		}
		list.Data = append(list.Data, embedded{"embedding", i, vector{pooled, q.format == "base64"}})
	}
	v.reply(http.StatusOK, encode(&list))
	return nil
}

// encodeInput returns the ids of the texts, and how many there are.
func (s *Server) encodeInput(
	ctx context.Context, client string, input prompts,
) (tokens int, err error) {
	for i := range input {
		if p := &input[i]; !p.asIDs && p.text == "" {
			return 0, fieldf("input", "text %d: want at least one byte, found none", i+1)
		}
		if err := s.encodeOne(ctx, client, &input[i], "input", 0); err != nil {
			return 0, err
		}
		tokens += len(input[i].ids)
	}
	return tokens, nil
}

// poolRows is how many tokens of a text are evaluated at a time. Other texts have their turns in
// between.
const poolRows = 64

// pool returns the vector [n_embd] of a text, normalised to length 1.
func (s *Server) pool(ctx context.Context, ids []int) ([]float32, error) {
	session := s.model.NewSession()
	defer session.Release()
	width := s.model.Config().Embd
	sum, rows := make([]float64, width), make([]float32, poolRows*width)
	for from := 0; from < len(ids); from += poolRows {
		part := ids[from:min(from+poolRows, len(ids))]
		in := model.Input{
			Session: session, Tokens: part, NoLogits: true,
			Visit: func(r model.Row) { copy(rows[r.Index*width:], r.Hidden) },
		}
		last := s.options.Pooling == "last"
		if last {
			in.VisitFrom = len(part) - 1
		}
		if err := s.evaluate(ctx, in); err != nil {
			return nil, err
		}
		for i := range part {
			row := rows[i*width : (i+1)*width]
			for k, x := range row {
				switch {
				case !last:
					sum[k] += float64(x)
				case from+i == len(ids)-1:
					sum[k] = float64(x)
				}
			}
		}
	}
	return normalised(sum), nil
}

// evaluate evaluates an input at its turn. Only one text to be pooled is evaluated at a time, so
// that the batch has every second turn.
func (s *Server) evaluate(ctx context.Context, in model.Input) error {
	select {
	case s.pooling <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.pooling }()
	return s.model.Eval(ctx, in)
}

// normalised returns a vector of length 1 in the direction of v.
func normalised(v []float64) []float32 {
	squares := 0.0
	for _, x := range v {
		squares += float64(x * x)
	}
	length, to := math.Sqrt(squares), make([]float32, len(v))
	for i, x := range v {
		if length > 0 {
			to[i] = float32(x / length)
		}
	}
	return to
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
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding vector `json:"embedding"`
}

// A vector is written as numbers, or as the base64 of their bits, little-endian.
type vector struct {
	numbers []float32
	encoded bool
}

func (v vector) MarshalJSONTo(e *jsontext.Encoder) error {
	b := e.AvailableBuffer()
	if v.encoded {
		bits := make([]byte, 0, 4*len(v.numbers))
		for _, x := range v.numbers {
			bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(x))
		}
		b = append(b, '"')
		return e.WriteValue(append(base64.StdEncoding.AppendEncode(b, bits), '"'))
	}
	b = append(b, '[')
	for i, x := range v.numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return e.WriteValue(append(b, ']'))
}

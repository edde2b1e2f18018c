package serve

// /classify: the labels of texts, with vLLM's fields.

import (
	"net/http"
	"time"

	"picogpt/eval"
)

func (s *Server) classify(v *visit) error {
	var name *string
	var input prompts
	release, err := s.readRequest(v, map[string]field{
		"model": optional(&name, text), "input": input.read(s, "input"), "user": anyText,
	}, "input")
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkModel(name); err != nil {
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
		Model: s.options.Name, Data: make([]class, len(input))}
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

package serve

// /v1/models: the one model, under each of its names.

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"picogpt/internal/quote"
)

// aModel is the JSON of a model, with OpenAI's and vLLM's fields.
type aModel struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len"`

	Steer  []string `json:"steer,omitempty"`  // the control vectors that requests may name
	Inside bool     `json:"inside,omitempty"` // /inside answers, and edits are taken
}

func (s *Server) describe(id string) aModel {
	return aModel{
		ID: id, Object: "model", Created: s.created.Unix(), OwnedBy: "picogpt",
		MaxModelLen: s.model.Config().Positions, Steer: s.steerings(),
		Inside: !s.options.NoInside && s.canTrace() == nil,
	}
}

func (s *Server) models(v *visit) error {
	all := []aModel{s.describe(s.options.Name)}
	for _, id := range s.options.Aliases {
		all = append(all, s.describe(id))
	}
	return v.replyJSON(struct {
		Object string   `json:"object"`
		Data   []aModel `json:"data"`
	}{"list", all})
}

// modelPath returns the model's id in the path of one model. The id may have slashes.
func modelPath(path string) (id string, ok bool) {
	id, ok = strings.CutPrefix(path, "/v1/models/")
	return id, ok && id != ""
}

func (s *Server) oneModel(v *visit, id string) error {
	if err := s.checkModel(&id); err != nil {
		return err
	}
	return v.replyJSON(s.describe(id))
}

// checkModel returns an error if the name is none of the model's. A nil name is accepted.
func (s *Server) checkModel(name *string) error {
	names := append([]string{s.options.Name}, s.options.Aliases...)
	if name == nil || slices.Contains(names, *name) {
		return nil
	}
	e := errorf(http.StatusNotFound, "model_not_found", "model: %s is not here, want %s",
		quote.Short(*name, 80), strings.Join(names, " or "))
	e.param = "model"
	return e
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

package serve

// The one model, as clients ask for it.

import (
	"encoding/json"
	"net/http"
	"strings"

	"picogpt/internal/quote"
)

// aModel is how OpenAI and vLLM describe one.
type aModel struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len"`
}

func (s *Server) describe() aModel {
	return aModel{
		ID: s.options.Name, Object: "model", Created: s.created.Unix(), OwnedBy: "picogpt",
		MaxModelLen: s.model.Config().Positions,
	}
}

func (s *Server) models(v *visit) error {
	return v.replyJSON(struct {
		Object string   `json:"object"`
		Data   []aModel `json:"data"`
	}{"list", []aModel{s.describe()}})
}

// modelPath returns the id of a path of one model. It may have slashes.
func modelPath(path string) (id string, ok bool) {
	id, ok = strings.CutPrefix(path, "/v1/models/")
	return id, ok && id != ""
}

func (s *Server) oneModel(v *visit, id string) error {
	if err := s.checkModel(&id); err != nil {
		return err
	}
	return v.replyJSON(s.describe())
}

// checkModel refuses the name of a model that is not there. Nil is the one that is.
func (s *Server) checkModel(name *string) error {
	if name == nil || *name == s.options.Name {
		return nil
	}
	e := errorf(http.StatusNotFound, "model_not_found", "model: %s is not here, want %s",
		quote.Short(*name, 80), s.options.Name)
	e.param = "model"
	return e
}

// replyJSON answers with a value.
func (v *visit) replyJSON(value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	v.reply(http.StatusOK, b)
	return nil
}

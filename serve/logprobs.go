package serve

// Log-probabilities of completions: four lists, each with an element for every token.

import (
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type logprobs struct {
	Tokens   []string    `json:"tokens"`
	LogProbs []logProb   `json:"token_logprobs"`
	Top      []likeliest `json:"top_logprobs"`
	Offsets  []int       `json:"text_offset"`
}

// logprobsJSON returns the log-probabilities of a choice, in the format of its endpoint.
func (j *job) logprobsJSON(entries []entry) any {
	if j.chat {
		return j.chatLogprobs(entries)
	}
	n := len(entries)
	lists := &logprobs{make([]string, n), make([]logProb, n), make([]likeliest, n), make([]int, n)}
	for i, e := range entries {
		lists.Tokens[i], lists.LogProbs[i] = j.name(e.id), logProb(e.logProb)
		lists.Top[i], lists.Offsets[i] = likeliest{j, &entries[i]}, e.offset
	}
	return lists
}

// likeliest is the JSON object of the likeliest tokens in place of one, and of that one if it is
// not among them. The likeliest comes first, and each name once.
type likeliest struct {
	job   *job
	entry *entry
}

func (l likeliest) MarshalJSONTo(e *jsontext.Encoder) error {
	if math.IsNaN(l.entry.logProb) {
		return e.WriteToken(jsontext.Null)
	}
	var names []string
	member := func(id int, x float64) error {
		name := l.job.name(id)
		if slices.Contains(names, name) {
			return nil
		}
		names = append(names, name)
		if err := e.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		return json.MarshalEncode(e, logProb(x))
	}
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, a := range l.entry.top {
		if err := member(a.ID, a.LogProb); err != nil {
			return err
		}
	}
	if err := member(l.entry.id, l.entry.logProb); err != nil {
		return err
	}
	return e.WriteToken(jsontext.EndObject)
}

func (j *job) name(id int) string { return j.server.vocabulary.name(id, j.idTokens) }

package serve

// Log-probabilities of completions: four lists, each with an element for every token; and vLLM's of
// prompts.

import (
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"picogpt/sample"
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

// promptScores returns vLLM's prompt_logprobs of a prompt.
func (j *job) promptScores(p *prompt) []promptScore {
	all := make([]promptScore, len(p.scores))
	for i := range p.scores {
		all[i] = promptScore{j, &p.scores[i]}
	}
	return all
}

// A promptScore is the JSON object of a token of a prompt and of the likeliest in its place, by id:
// the token comes first. It is null for the first token, which nothing precedes.
type promptScore struct {
	job   *job
	entry *entry
}

func (p promptScore) MarshalJSONTo(e *jsontext.Encoder) error {
	if math.IsNaN(p.entry.logProb) {
		return e.WriteToken(jsontext.Null)
	}
	member := func(id, rank int, x float64) error {
		if err := e.WriteToken(jsontext.String(strconv.Itoa(id))); err != nil {
			return err
		}
		one := rankedToken{LogProb: logProb(x)}
		if rank > 0 {
			one.Rank = &rank
		}
		if j := p.job; j.server.vocabulary.has(id) {
			one.Text = characters(j.server.vocabulary.texts[id])
		}
		return json.MarshalEncode(e, one)
	}
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	own := slices.IndexFunc(p.entry.top, func(a sample.Alternative) bool { return a.ID == p.entry.id })
	if err := member(p.entry.id, own+1, p.entry.logProb); err != nil {
		return err
	}
	for i, a := range p.entry.top {
		if i == own {
			continue
		}
		if err := member(a.ID, i+1, a.LogProb); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}

// A rankedToken is a token with its place among the likeliest, from 1; the rank is null if it is not
// among those that are told.
type rankedToken struct {
	LogProb logProb `json:"logprob"`
	Rank    *int    `json:"rank"`
	Text    string  `json:"decoded_token"`
}

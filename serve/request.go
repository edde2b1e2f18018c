package serve

// The request of /v1/completions: its fields, their types and their bounds.

import (
	"math"
	"math/rand/v2"
	"strconv"

	"picogpt/internal/strictjson"
)

// A completion is what a request asks for. Pointers are nil where it does not say.
type completion struct {
	model  *string
	prompt prompts
	suffix string

	maxTokens        int
	temperature      float64
	topP, minP       float64
	topK             int
	presence         float64
	frequency        float64
	repetition       float64
	minTokens        int
	n                int
	bestOf           *int
	logprobs         *int
	stop, badWords   []string
	stopIDs          []int
	ignoreEOS        bool
	bias             []idBias
	echo, stream     bool
	usage, usages    bool // at the end of a stream; in each of its chunks
	hasStreamOptions bool
	seed             *uint64
	idTokens, idsToo bool // return_tokens_as_token_ids, return_token_ids
	form             form
	filters          filters
	chat             bool   // it is of a conversation
	salt             string // what keeps prompts apart in the cache

	ignored []string
}

// An idBias is added to the logit of an id.
type idBias struct {
	id    int
	value float64
}

// Bounds of fields that have none of their own.
const (
	mostTop       = 100 // logprobs
	mostStops     = 32
	mostBad       = 1000 // bad_words
	mostSalt      = 256  // bytes of cache_salt
	mostPenalty   = 1e6
	mostTokens    = math.MaxInt32
	defaultTokens = 16
)

// newCompletion returns OpenAI's defaults.
func newCompletion() *completion {
	return &completion{maxTokens: defaultTokens, temperature: 1, topP: 1, n: 1, repetition: 1,
		filters: newFilters()}
}

// parseCompletion reads a body.
func (s *Server) parseCompletion(body string) (*completion, error) {
	q := newCompletion()
	return q, q.parse(s, body, q.fields(s), "prompt")
}

// parse reads a body by a table of fields, of which it needs one.
func (q *completion) parse(s *Server, body string, table map[string]field, needed string) error {
	n := needs(table, needed)
	ignored, err := readFields(body, table)
	if err != nil {
		return err
	}
	q.ignored = append(ignored, q.ignored...)
	if err := n.check(q.ignored, table); err != nil {
		return err
	}
	return q.check(s)
}

// fields is what each field is read by.
func (q *completion) fields(s *Server) map[string]field {
	vocabulary := s.model.Config().VocabSize
	table := map[string]field{
		"model":  optional(&q.model, text),
		"prompt": q.prompt.read(s, "prompt"),
		"suffix": text(&q.suffix),
		"user":   anyText, // who asks is of no use here

		"cache_salt": atMost(&q.salt, mostSalt),

		"max_tokens":         whole(&q.maxTokens, 0, mostTokens),
		"temperature":        number(&q.temperature, 0, 2),
		"top_p":              number(&q.topP, 0, 1),
		"top_k":              whole(&q.topK, -1, mostTokens),
		"min_p":              number(&q.minP, 0, 1),
		"presence_penalty":   number(&q.presence, -2, 2),
		"frequency_penalty":  number(&q.frequency, -2, 2),
		"repetition_penalty": number(&q.repetition, 1/mostPenalty, mostPenalty),
		"min_tokens":         whole(&q.minTokens, 0, mostTokens),
		"n":                  whole(&q.n, 1, s.options.MaxN),
		"best_of":            optional(&q.bestOf, upTo(1, s.options.MaxN)),
		"logprobs":           optional(&q.logprobs, upTo(0, mostTop)),
		"seed":               optional(&q.seed, anySeed),

		"stop":           oneOrMore(&q.stop, mostStops),
		"bad_words":      texts(&q.badWords, mostBad),
		"stop_token_ids": ids(&q.stopIDs, vocabulary, mostBad),
		"ignore_eos":     yes(&q.ignoreEOS),
		"logit_bias":     q.readBias(vocabulary),

		"echo":   yes(&q.echo),
		"stream": yes(&q.stream),

		"return_tokens_as_token_ids": yes(&q.idTokens),
		"return_token_ids":           yes(&q.idsToo),
	}
	options := object("stream_options", &q.ignored, map[string]field{
		"include_usage": yes(&q.usage), "continuous_usage_stats": yes(&q.usages),
	})
	table["stream_options"] = func(r *strictjson.Reader) error {
		q.hasStreamOptions = true
		return options(r)
	}
	q.form.addFields(table, &q.ignored)
	q.filters.addFields(table)
	return table
}

// readBias reads logit_bias: an object of numbers by ids.
func (q *completion) readBias(vocabulary int) field {
	return func(r *strictjson.Reader) error {
		if r.Kind() != '{' {
			return wrong(r, "an object")
		}
		return r.Object(func(name string) error {
			id, err := strconv.Atoi(name)
			if err != nil || id < 0 || id >= vocabulary || name != strconv.Itoa(id) {
				return r.Errorf("want ids from 0 to %d, found %s", vocabulary-1, short(name))
			}
			b := idBias{id: id}
			if err := number(&b.value, -100, 100)(r); err != nil {
				return err
			}
			q.bias = append(q.bias, b)
			return nil
		})
	}
}

// check refuses fields that do not go together.
func (q *completion) check(s *Server) error {
	if err := s.checkModel(q.model); err != nil {
		return err
	}
	switch {
	case q.suffix != "":
		return fieldf("suffix", "this model continues texts, and cannot fill one in")
	case q.hasStreamOptions && !q.stream && (q.usage || q.usages):
		return fieldf("stream_options", "want stream, found it false or absent")
	case q.bestOf != nil && *q.bestOf < q.n:
		return fieldf("best_of", "want at least n, which is %d, found %d", q.n, *q.bestOf)
	case q.drawn() > q.n && q.stream:
		return fieldf("best_of", "the best are known at the end: want n, which is %d, for a "+
			"stream, found %d", q.n, *q.bestOf)
	case len(q.prompt)*q.drawn() > max(s.options.MaxPrompts, s.options.MaxN):
		return fieldf("n", "want at most %d texts for all prompts together, found %d prompts of %d",
			max(s.options.MaxPrompts, s.options.MaxN), len(q.prompt), q.drawn())
	case q.maxTokens == 0 && q.minTokens > 0:
		return fieldf("min_tokens", "want at most max_tokens, which is 0, found %d", q.minTokens)
	case q.minTokens > q.maxTokens && q.maxTokens >= 0:
		return fieldf("min_tokens", "want at most max_tokens, which is %d, found %d", q.maxTokens,
			q.minTokens)
	}
	return q.form.check()
}

// drawn is how many texts are written for a prompt, of which n are sent.
func (q *completion) drawn() int {
	if q.bestOf == nil {
		return q.n
	}
	return *q.bestOf
}

// seedOrAny returns the seed, a new one where the request has none: short enough to type.
func (q *completion) seedOrAny() uint64 {
	if q.seed == nil {
		return uint64(rand.Uint32())
	}
	return *q.seed
}

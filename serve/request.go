package serve

// The request of /v1/completions: its fields, their limits, and package decode's options.

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/internal/option"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/search"
	"picogpt/serve/internal/openapi"
)

// A completion is the fields of a request. Pointers are nil, and bestOf is 0, where the request
// lacks the field.
type completion struct {
	decode.Options // from the fields; complete adds the rest

	who     choosing
	adapter int // as Server.chosen returns it
	prompt  prompts
	suffix  string
	limit   string // the field that says how many new tokens there may be; "": a default

	n                int
	bestOf           int
	logprobs         *int
	stopIDs          []int
	ignoreEOS        bool
	echo, stream     bool
	usage, usages    bool // usage at the end of a stream; in each of its chunks
	idTokens, idsToo bool // return_tokens_as_token_ids, return_token_ids
	promptLogprobs   *int
	skipSpecial      bool // skip_special_tokens
	newest           int  // truncate_prompt_tokens; 0: none, -1: as many as there is room for
	noPenalties      bool // repeat_last_n is 0
	heated           bool // the request has a temperature
	least            bool // the request has min_tokens
	beams            search.BeamOptions
	searched         bool // use_beam_search
	form             form
	chat             bool // the request is of a conversation
	talk             conversation
	response         *response // of /v1/responses
	salt             string    // cache_salt: separates prompts in the cache
	changes          changes
	editsKey         string // of Options.Edits, for the cache

	ignored []string
}

// Limits of fields that are not in the table of options.
const (
	mostTop  = 100  // logprobs
	mostIDs  = 1000 // stop_token_ids
	mostSalt = 256  // bytes of cache_salt
)

// outputLimit is the name of max_tokens in /v1/responses.
const outputLimit = "max_output_tokens"

// newCompletion returns OpenAI's defaults.
func newCompletion() *completion {
	q := &completion{skipSpecial: true}
	for _, o := range q.table(0) {
		if text := cmp.Or(o.Field.Default, o.Default); o.Field.Name != "" && text != "" {
			o.Set(text) // a test knows that each has its default
		}
	}
	return q
}

// defaultsOf returns OpenAI's defaults, and over them what a checkpoint says; fields has those of
// requests.
func defaultsOf(c model.Config) (q *completion, fields map[string]any, err error) {
	q, fields = newCompletion(), map[string]any{}
	options := option.Of(&q.Options)
	flags, err := option.TakeSaved(options, c.Generation.Sampling, c.VocabSize, c.EndTokens(), nil)
	for _, flag := range flags {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		if o := option.Find(options, name); o.Field.Name != "" {
			fields[o.Field.Name] = o.Value
		}
	}
	return q, fields, err
}

// newCompletion returns the defaults of a request, of which max_tokens is that unless the checkpoint
// says another, and a random seed, short enough to type.
func (s *Server) newCompletion(tokens int) *completion {
	q := *s.first
	q.Seed = uint64(rand.Uint32())
	if !q.Unasked {
		q.MaxTokens = tokens
	}
	q.Unasked = false // the allowance of each prompt is its limit
	return &q
}

// table returns the options of a request: package decode's, and the server's own.
func (q *completion) table(maxN int) []option.Option {
	n := option.Samples(&q.n)
	n.Field.Range.To = float64(maxN)
	return append(slices.Concat(option.Of(&q.Options), option.Of(&q.beams)), n, option.Option{
		Name: "ignore_eos", Value: &q.ignoreEOS,
		Field: option.Field{Name: "ignore_eos"},
		Setting: option.Setting{Group: "End", Label: "Write past the end",
			Help: "What the model holds for the end of the text does not end it."},
	}, option.Option{
		Name: "stop_token_ids", Value: &q.stopIDs,
		Field: option.Field{Name: "stop_token_ids", Most: mostIDs},
		Setting: option.Setting{Group: "End", Label: "Stop at tokens", Read: "ids",
			Help: "An id a line."},
	})
}

// parseCompletion reads the body of a request.
func (s *Server) parseCompletion(body string) (*completion, error) {
	q := s.newCompletion(s.first.MaxTokens)
	return q, q.parse(s, body, q.completionFields(s), "prompt")
}

// parse reads a body by a table of fields, of which needed must be there.
func (q *completion) parse(s *Server, body string, table map[string]field, needed string) error {
	n := needs(table, needed)
	ignored, err := readFields("", body, table)
	q.ignored = append(ignored, q.ignored...)
	if err := n.check(err, q.ignored, table); err != nil {
		return err
	}
	option.Settle(q.table(0))
	q.settle()
	if err := q.talk.tools.settle(s, &q.form, &q.ignored); err != nil {
		return err
	}
	return q.check(s)
}

// settle fills in what several fields decide.
func (q *completion) settle() {
	if q.limit == "" {
		q.MaxTokens = max(q.MaxTokens, q.MinTokens)
	} else if !q.least { // it is the checkpoint's
		q.MinTokens = min(q.MinTokens, q.MaxTokens)
	}
	if q.noPenalties {
		q.RepeatPenalty, q.FrequencyPenalty, q.PresencePenalty = 0, 0, 0
	}
	if q.searched {
		q.beams.Beams, q.beams.Return = cmp.Or(q.bestOf, q.n), q.n
		if !q.heated { // else the beams are sampled
			q.Temperature = 0
		}
	}
}

// completionFields returns the table of /v1/completions.
func (q *completion) completionFields(s *Server) map[string]field {
	table := q.fields(s)
	delete(table, outputLimit)
	return table
}

// fields returns the table of the fields that all texts have.
func (q *completion) fields(s *Server) map[string]field {
	vocabulary := s.model.Config().VocabSize
	table := map[string]field{
		"prompt": q.prompt.read(s, s.options.MaxPrompts),
		"suffix": text(&q.suffix),
		"user":   anyText, // accepted and not used
		"echo":   yes(&q.echo),
		"stream": yes(&q.stream),

		"best_of":    whole(1, s.options.MaxN)(&q.bestOf),
		"cache_salt": atMost(mostSalt)(&q.salt),

		"return_tokens_as_token_ids": yes(&q.idTokens),
		"return_token_ids":           yes(&q.idsToo),

		"prompt_logprobs":        optional(&q.promptLogprobs, whole(0, mostTop)),
		"skip_special_tokens":    yes(&q.skipSpecial),
		"truncate_prompt_tokens": whole(-1, option.Most)(&q.newest),
		"use_beam_search":        yes(&q.searched),

		"stream_options": object("stream_options", &q.ignored, map[string]field{
			"include_usage": yes(&q.usage), "continuous_usage_stats": yes(&q.usages),
		}),
	}
	q.who.addFields(s, table, &q.ignored)
	q.form.addFields(table, &q.ignored)
	q.changes.addFields(s, table, &q.ignored)
	for _, o := range q.table(s.options.MaxN) {
		if name := o.Field.Name; name != "" {
			table[name] = described(&o, fieldOf(&o, vocabulary))
		}
	}
	// OpenAI's names; GuideLLM sends the first and the last, with one number
	table[outputLimit] = q.limitedBy(table, outputLimit)
	table["max_completion_tokens"] = q.limitedBy(table, "max_completion_tokens")
	table["max_tokens"] = q.limitedBy(table, "max_tokens")
	table["logprobs"] = optional(&q.logprobs, whole(0, mostTop))
	table["min_tokens"] = noting(table["min_tokens"], func() { q.least = true })
	table["temperature"] = noting(table["temperature"], func() { q.heated = true })
	// llama.cpp's names
	table["repeat_penalty"] = table["repetition_penalty"]
	table["repeat_last_n"] = noting(table["repeat_last_n"], func() {
		q.noPenalties = q.RepeatLastN == 0
	})
	table["n_probs"] = as(table["logprobs"].schema, q.readProbs)
	return table
}

// readProbs reads n_probs, which is logprobs where it is above 0.
func (q *completion) readProbs(r *strictjson.Reader) error {
	n := 0
	if err := whole(0, mostTop)(&n).read(r); err != nil || n == 0 || q.logprobs != nil {
		return err
	}
	q.logprobs = &n
	return nil
}

// limitedBy returns max_tokens as a field of that name, which errors about its number have. Two of
// them say the same.
func (q *completion) limitedBy(table map[string]field, name string) field {
	f := table["max_tokens"]
	return as(f.schema, func(r *strictjson.Reader) error {
		said, before := q.limit, q.MaxTokens
		q.limit = name
		err := f.read(r)
		if err == nil && said != "" && q.MaxTokens != before {
			return r.Errorf("want what %s says, %d, found %d", said, before, q.MaxTokens)
		}
		return err
	})
}

// described returns the field of an option with what else is known of it: its help, and the default
// where that is JSON.
func described(o *option.Option, f field) field {
	schema := f.schema
	f.schema = func() openapi.Schema {
		s := schema()
		help := cmp.Or(o.Flag.Help, o.Setting.Help)
		if o.Setting.Help != "" && o.Flag.Range != (option.Range{}) { // the flag has other values
			help = o.Setting.Help
		}
		if s["description"] == nil {
			s["description"] = strings.ReplaceAll(help, "; the flag may be repeated", "")
		}
		switch o.Value.(type) {
		case *float64, *int, *bool:
			s["default"] = json.RawMessage(o.String())
		}
		return s
	}
	return f
}

// fieldOf returns the field of an option.
func fieldOf(o *option.Option, vocabulary int) field {
	r := o.Field.Range
	if r == (option.Range{}) {
		r = o.Range
	}
	switch p := o.Value.(type) {
	case *float64:
		return number(p, r.From, r.To)
	case *int:
		return whole(int(r.From), int(r.To))(p)
	case *uint64:
		return anySeed(p)
	case *bool:
		return yes(p)
	case *string:
		return word(p, o.Words)
	case *[]int:
		return ids(p, vocabulary, o.Field.Most)
	case *[]string:
		return stringList(o, p)
	case option.Biases:
		return biases(p, r, vocabulary)
	case option.TextBiases:
		return textBiases(p, r, o.Field.Most)
	case option.Value:
		return written(p, r, o.Field.Most)
	}
	return field{}
}

// check refuses fields that cannot be combined.
func (q *completion) check(s *Server) (err error) {
	if q.adapter, err = s.chosen(q.who); err != nil {
		return err
	}
	if q.limit == "" && len(q.form.fields) > 0 { // the room of the context bounds its text
		q.MaxTokens = s.model.Config().Positions
	}
	switch {
	case q.suffix != "":
		return fieldf("suffix", "this model continues texts, and cannot fill one in")
	case !q.stream && (q.usage || q.usages):
		return fieldf("stream_options", "want stream, found it false or absent")
	case q.bestOf != 0 && q.bestOf < q.n:
		return fieldf("best_of", "want at least n, which is %d, found %d", q.n, q.bestOf)
	case q.drawn() > q.n && q.stream:
		return fieldf("best_of", "the best are known at the end: want n, which is %d, for a "+
			"stream, found %d", q.n, q.bestOf)
	case len(q.prompt)*q.drawn() > max(s.options.MaxPrompts, s.options.MaxN):
		return fieldf("n", "want at most %d texts for all prompts together, found %d prompts of %d",
			max(s.options.MaxPrompts, s.options.MaxN), len(q.prompt), q.drawn())
	case q.promptLogprobs != nil && q.stream:
		return fieldf("prompt_logprobs", "want stream false with it")
	case q.MaxTokens == 0 && q.MinTokens > 0:
		return fieldf("min_tokens", "want at most max_tokens, which is 0, found %d", q.MinTokens)
	case q.MinTokens > q.MaxTokens:
		return fieldf("min_tokens", "want at most max_tokens, which is %d, found %d", q.MaxTokens,
			q.MinTokens)
	}
	return cmp.Or(q.checkBeams(s.options.Batcher.MaxStreams), q.form.check())
}

// checkBeams refuses what a search for beams cannot do, and more beams than most.
func (q *completion) checkBeams(most int) error {
	if !q.searched {
		return nil
	}
	wrong := func(format string, args ...any) error {
		return fieldf("use_beam_search", format, args...)
	}
	switch {
	case q.beams.Beams > most:
		return wrong("want at most %d beams, which are n or best_of, found %d", most, q.beams.Beams)
	case q.stream:
		return wrong("the beams are known at the end: want stream false with it")
	case q.scored():
		return wrong("want neither prompt_logprobs nor echo with logprobs with it")
	case len(q.form.fields) > 0:
		return wrong("want no form with it, found %s", q.form.fields[0])
	}
	if err := q.beams.Check(q.Options); err != nil {
		return wrong("%v", err)
	}
	return nil
}

// scored reports whether the tokens of the prompts are scored.
func (q *completion) scored() bool {
	return q.logprobs != nil && q.echo || q.promptLogprobs != nil
}

// drawn returns how many texts are generated for a prompt. n of them are sent.
func (q *completion) drawn() int {
	if q.searched {
		return q.n
	}
	return cmp.Or(q.bestOf, q.n)
}

// complete adds to a request's options what only the server knows: ids, and the tokens of texts.
func (s *Server) complete(ctx context.Context, q *completion) error {
	o := &q.Options
	var err error
	if o.Edits, err = q.changes.all(s); err != nil {
		return err
	}
	if len(o.Edits) > 0 { // once for all texts of the request
		q.editsKey = batch.KeyOf(o.Edits)
	}
	o.Vocabulary = s.vocabulary.Tokenizer
	for _, top := range []*int{q.logprobs, q.promptLogprobs} {
		if top != nil {
			o.Top = max(o.Top, *top)
		}
	}
	if q.scored() {
		o.Echo = decode.EchoPrompt
		if o.MaxTokens == 0 {
			o.Echo = decode.EchoOnly
		}
	}
	switch {
	case q.ignoreEOS:
		o.EndOfText = append([]int{}, q.stopIDs...)
		if q.skipSpecial {
			o.Vocabulary = silent{s.vocabulary.Tokenizer, s.ends} // the end of text adds no text
		}
	case len(q.stopIDs) > 0:
		o.EndOfText = slices.Concat(s.ends, q.stopIDs)
	}
	return o.Open(ctx, s.vocabulary.Tokenizer)
}

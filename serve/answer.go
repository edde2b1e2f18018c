package serve

// The JSON of an answer: of a whole one, or of one event of a stream.

import (
	"bufio"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"picogpt/sample"
)

// An answer is the JSON of /v1/completions and /v1/chat/completions, or of one event of a stream.
type answer struct {
	ID          string     `json:"id"`
	Object      string     `json:"object"`
	Created     int64      `json:"created"` // seconds since 1970
	Model       string     `json:"model"`
	Choices     choiceList `json:"choices"`
	Fingerprint string     `json:"system_fingerprint,omitzero"`
	Usage       **usage    `json:"usage,omitzero"` // a nil *usage is null

	PromptScores []promptScore `json:"prompt_logprobs,omitzero"` // of a conversation
}

// A usage counts tokens. A prompt counts once, whatever n is.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"` // filled in by newAnswer

	Details *promptDetails `json:"prompt_tokens_details,omitzero"`
}

// promptDetails tell how many tokens of the prompts needed no evaluation because the same client
// had asked for it before. What others asked is not told.
type promptDetails struct {
	Cached int `json:"cached_tokens"`
}

// newAnswer returns an answer. used is nil if it has no usage; in the events of a stream before the
// last, usage is null.
func (j *job) newAnswer(choices []*choice, used *usage) *answer {
	a := &answer{
		ID: "cmpl-" + j.visit.id, Object: "text_completion", Created: j.visit.start.Unix(),
		Model: j.server.nameOf(j.adapter), Choices: choiceList{j, choices},
		Fingerprint: j.server.fingerprint(j.adapter),
	}
	if j.chat {
		a.ID, a.Object = "chatcmpl-"+j.visit.id, "chat.completion"
		if j.stream {
			a.Object = "chat.completion.chunk"
		}
		if j.promptLogprobs != nil {
			a.PromptScores = j.promptScores(&j.prompt[0])
		}
	}
	if used != nil {
		used.Total = used.Prompt + used.Completion
	}
	if used != nil || j.stream && j.usage {
		a.Usage = &used
	}
	return a
}

// A choiceList is the choices of an answer. Each choice of a whole answer is cleared once its JSON
// is made: the JSON of numbers is several times their size.
type choiceList struct {
	job  *job
	list []*choice
}

func (c choiceList) MarshalJSONTo(e *jsontext.Encoder) error {
	if err := e.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, one := range c.list {
		if err := json.MarshalEncode(e, c.job.choiceJSON(one)); err != nil {
			return err
		}
		if !c.job.stream {
			*one = choice{}
		}
	}
	return e.WriteToken(jsontext.EndArray)
}

// A choiceJSON is the JSON of a choice. It has Text in a completion, Message in a conversation, and
// Delta in the stream of a conversation.
type choiceJSON struct {
	Index        int           `json:"index"`
	Text         *string       `json:"text,omitzero"`
	Message      *messageJSON  `json:"message,omitzero"`
	Delta        *messageJSON  `json:"delta,omitzero"`
	Logprobs     scores        `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
	Error        *errorJSON    `json:"error,omitzero"` // of a dead end
	Budget       *budgetJSON   `json:"form_budget,omitzero"`
	StopReason   idOrText      `json:"stop_reason"`
	PromptScores []promptScore `json:"prompt_logprobs,omitzero"`
	PromptIDs    **[]int       `json:"prompt_token_ids,omitzero"` // a nil *[]int is null
	IDs          *[]int        `json:"token_ids,omitzero"`
}

type (
	scores   any // of each token, in the format of the endpoint; or null
	idOrText any // or null
)

// A budgetJSON tells what max_tokens changed in a text of a form: how many masks were narrowed so
// that it ends in time, and the product of what of the form's probability they kept; and the options
// that left no id which ends in time, so that the text is cut.
type budgetJSON struct {
	Masks     int     `json:"masks"`
	Kept      float64 `json:"kept"`
	Outranked string  `json:"outranked,omitzero"`
}

type messageJSON struct {
	Role     string        `json:"role,omitzero"`
	Content  **string      `json:"content,omitzero"` // a nil *string is null
	Calls    []callJSON    `json:"tool_calls,omitzero"`
	Function *functionJSON `json:"function_call,omitzero"` // by OpenAI's older fields
}

type callJSON struct {
	Index    *int         `json:"index,omitzero"` // in a stream
	ID       string       `json:"id,omitzero"`
	Type     string       `json:"type,omitzero"`
	Function functionJSON `json:"function"`
}

type functionJSON struct {
	Name      string `json:"name,omitzero"`
	Arguments string `json:"arguments"`
}

// messageJSON returns what a choice says, or what of it is new. Its content is null in a message with
// calls that has none.
func (j *job) messageJSON(c *choice, text string) *messageJSON {
	content := &text
	if text == "" && c.reader != nil && c.reader.Calls > 0 {
		content = nil
	}
	m := &messageJSON{Content: &content}
	if c.first {
		m.Role = "assistant"
	} else if content == nil {
		m.Content = nil
	}
	for i := range c.calls {
		one := &c.calls[i]
		f := functionJSON{one.Name, string(one.Arguments)}
		switch last := len(m.Calls) - 1; {
		case j.talk.tools.functions && m.Function == nil:
			m.Function = &f
		case j.talk.tools.functions:
			m.Function.Arguments += f.Arguments
		case one.ID == "" && last >= 0:
			m.Calls[last].Function.Arguments += f.Arguments
		default:
			call := callJSON{ID: one.ID, Function: f}
			if one.ID != "" {
				call.Type = "function"
			}
			if j.stream {
				call.Index = &one.Index
			}
			m.Calls = append(m.Calls, call)
		}
	}
	return m
}

// finishJSON returns why a text ended: with calls that nobody told it to make, because of them.
func (j *job) finishJSON(c *choice) string {
	if c.finish == "stop" && c.reader != nil && c.reader.Calls > 0 && j.talk.tools.choice != "named" {
		if j.talk.tools.functions {
			return "function_call"
		}
		return "tool_calls"
	}
	return c.finish
}

func (j *job) choiceJSON(c *choice) *choiceJSON {
	text := characters(c.echo) + characters(string(c.text)) // no character spans both
	o := &choiceJSON{Index: c.index}
	switch {
	case !j.chat:
		o.Text = &text
	case j.stream:
		o.Delta = j.messageJSON(c, text)
	default:
		o.Message = j.messageJSON(c, text)
	}
	if j.logprobs != nil {
		o.Logprobs = j.logprobsJSON(c.entries)
	}
	if j.promptLogprobs != nil && !j.chat {
		o.PromptScores = j.promptScores(c.prompt)
	}
	if c.finish != "" {
		o.FinishReason, o.Budget = new(j.finishJSON(c)), c.budget
	}
	if c.failed != nil {
		o.Error = c.failed.json()
	}
	switch {
	case c.stop.isID:
		o.StopReason = c.stop.id
	case c.stop.text != "":
		o.StopReason = c.stop.text
	}
	if j.idsToo {
		o.PromptIDs, o.IDs = new(*[]int), &c.ids
		if c.first {
			*o.PromptIDs = &c.prompt.ids
		}
	}
	return o
}

// characters returns a text with U+FFFD in place of each byte that is not part of a character.
func characters(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// A logProb is a log-probability: the shortest digits that parse to the same number, so that equal
// numbers are equal texts. NaN is null, and −∞ is OpenAI's −9999.
type logProb float64

func (x logProb) MarshalJSONTo(e *jsontext.Encoder) error {
	b := e.AvailableBuffer()
	switch x := float64(x); {
	case math.IsNaN(x):
		b = append(b, "null"...)
	case x < -9999:
		b = append(b, "-9999"...)
	default:
		b = strconv.AppendFloat(b, x, 'g', -1, 64)
	}
	return e.WriteValue(b)
}

// wire holds the options of all JSON that is sent. Names are distinct already. A byte that is not
// part of a character becomes U+FFFD.
var wire = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// encode returns the JSON of a value.
func encode(value any) []byte {
	b, err := json.Marshal(value, wire)
	if err != nil { // the server's types always have JSON
		panic(err)
	}
	return b
}

// sentAtOnce is how many bytes of an answer are made before they are sent.
const sentAtOnce = 64 << 10

// sendAnswer sends an answer in parts.
func (v *visit) sendAnswer(a any) error {
	w := bufio.NewWriterSize(answerParts{v}, sentAtOnce)
	if err := json.MarshalWrite(w, a, wire); err != nil {
		return errGone // only a write can fail
	}
	w.WriteByte('\n')
	w.Flush() // an error means that the client is gone
	return nil
}

// answerParts writes the body of a successful answer in parts. All parts together have the time of
// one write, because unsent data stays in memory.
type answerParts struct{ *visit }

func (p answerParts) Write(b []byte) (int, error) {
	if p.status == 0 {
		p.beginJSON(http.StatusOK)
		p.deadline = time.Now().Add(p.patience.write)
	}
	return p.visit.Write(b)
}

// A logprobs is the log-probabilities of a completion: four lists, each with an element for every
// token.
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

// writeScores writes the JSON object of an entry, whose members the caller adds: null if nothing
// precedes the token.
func (x *entry) writeScores(e *jsontext.Encoder, members func(add func(string, any))) error {
	if math.IsNaN(x.logProb) {
		return e.WriteToken(jsontext.Null)
	}
	err := e.WriteToken(jsontext.BeginObject)
	members(func(name string, value any) {
		if err == nil {
			err = e.WriteToken(jsontext.String(name))
		}
		if err == nil {
			err = json.MarshalEncode(e, value)
		}
	})
	if err != nil {
		return err
	}
	return e.WriteToken(jsontext.EndObject)
}

// likeliest is the JSON object of the likeliest tokens in place of one, and of that one if it is
// not among them. The likeliest comes first, and each name once.
type likeliest struct {
	job   *job
	entry *entry
}

func (l likeliest) MarshalJSONTo(e *jsontext.Encoder) error {
	return l.entry.writeScores(e, func(add func(string, any)) {
		var names []string
		member := func(id int, x float64) {
			if name := l.job.name(id); !slices.Contains(names, name) {
				names = append(names, name)
				add(name, logProb(x))
			}
		}
		for _, a := range l.entry.top {
			member(a.ID, a.LogProb)
		}
		member(l.entry.id, l.entry.logProb)
	})
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
	x := p.entry
	own := slices.IndexFunc(x.top, func(a sample.Alternative) bool { return a.ID == x.id })
	return x.writeScores(e, func(add func(string, any)) {
		member := func(id, rank int, x float64) {
			one := rankedToken{LogProb: logProb(x)}
			if rank > 0 {
				one.Rank = &rank
			}
			if j := p.job; j.server.vocabulary.has(id) {
				one.Text = characters(j.server.vocabulary.texts[id])
			}
			add(strconv.Itoa(id), one)
		}
		member(x.id, own+1, x.logProb)
		for i, a := range x.top {
			if i != own {
				member(a.ID, i+1, a.LogProb)
			}
		}
	})
}

// A rankedToken is a token with its place among the likeliest, from 1; the rank is null if it is
// not among those that are told.
type rankedToken struct {
	LogProb logProb `json:"logprob"`
	Rank    *int    `json:"rank"`
	Text    string  `json:"decoded_token"`
}

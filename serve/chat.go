package serve

// /v1/chat/completions: conversations, which a template turns into a prompt.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/internal/chat"
	"picogpt/internal/strictjson"
)

// A message is one message of a conversation.
type message struct {
	role, text string
}

// roles are those of messages. The template gives all but the assistant's their text.
var roles = []string{"assistant", "user", chat.System, chat.Developer}

// longestAnswer is the default of max_tokens in a conversation, as in gpt chat.
const longestAnswer = 256

// mostMessages bounds the messages of a conversation, and the parts of all its messages.
const mostMessages = 10000

func (s *Server) chat(v *visit) error {
	if s.template == nil {
		return errorf(404, "no_chat_template",
			"this model continues texts and knows no conversations: ask /v1/completions, or start "+
				"the server with a chat template (gpt serve --template)")
	}
	return s.generate(v, s.parseChat)
}

// parseChat reads the body of a request.
func (s *Server) parseChat(body string) (*completion, error) {
	q := s.newCompletion(longestAnswer)
	q.chat = true
	var messages []message
	var listed bool
	top := 0
	table := q.fields(s)
	for _, name := range []string{"prompt", "suffix", "echo"} {
		delete(table, name)
	}
	table["messages"] = readMessages(&messages, &q.ignored)
	table["logprobs"], table["top_logprobs"] = yes(&listed), whole(0, mostTop)(&top)
	if err := q.parse(s, body, table, "messages"); err != nil {
		return nil, err
	}
	if listed {
		q.logprobs = &top
	} else if top > 0 {
		return nil, fieldf("top_logprobs", "want logprobs true with it")
	}
	ids, err := s.conversation(messages, q.allowance())
	if err != nil {
		return nil, err
	}
	q.prompt = prompts{{asIDs: true, ids: ids}}
	return q, nil
}

// readMessages reads a conversation.
func readMessages(to *[]message, ignored *[]string) field {
	return func(r *strictjson.Reader) error {
		parts := 0
		return r.Array(func(i int) error {
			if i == mostMessages {
				return r.Errorf("want at most %d messages, found more", mostMessages)
			}
			var m message
			name := fmt.Sprintf("messages[%d]", i)
			err := object(name, ignored, map[string]field{
				"role": text(&m.role), "content": content(&m.text, &parts, ignored),
				"name": anyText,
			})(r)
			if err == nil && !slices.Contains(roles, m.role) {
				return r.Errorf("message %d: want the role system, developer, user or assistant, "+
					"found %s", i, short(m.role))
			}
			*to = append(*to, m)
			return err
		})
	}
}

// content reads the content of a message: a text, or a list of parts that are texts.
func content(to *string, parts *int, ignored *[]string) field {
	return func(r *strictjson.Reader) error {
		if r.Kind() != '[' {
			return text(to)(r)
		}
		var all strings.Builder
		err := r.Array(func(i int) error {
			if *parts++; *parts > mostMessages {
				return r.Errorf("want at most %d parts, found more", mostMessages)
			}
			var kind, part string
			err := object("content", ignored, map[string]field{
				"type": text(&kind), "text": text(&part),
			})(r)
			if err == nil && kind != "text" {
				return r.Errorf("part %d: want the type text, found %s", i, short(kind))
			}
			all.WriteString(part)
			return err
		})
		*to = all.String()
		return err
	}
}

// conversation returns the ids of the messages. The model is to answer the last.
func (s *Server) conversation(messages []message, wanted allowance) (all []int, err error) {
	if len(messages) == 0 || messages[len(messages)-1].role != "user" {
		return nil, fieldf("messages", "want a message of the user at the end")
	}
	bytes := 0
	for _, m := range messages {
		bytes += len(m.text)
	}
	if err := s.mayFit("messages", bytes, wanted); err != nil {
		return nil, err
	}
	turn := 0
	for _, m := range messages {
		var ids []int
		if m.role == "assistant" {
			ids, err = s.plain.Encode(m.text)
		} else {
			ids, err = s.template.Encode(chat.Line{Text: m.text, Turn: turn, Role: m.role})
		}
		if m.role == "user" {
			turn++
		}
		if err != nil {
			return nil, fieldf("messages", "%v", err)
		}
		all = append(all, ids...)
	}
	return s.vocabulary.WithStart(all), nil
}

// A chatLogprobs is the JSON of the log-probabilities of a conversation's tokens.
type chatLogprobs struct {
	Content []chatEntry `json:"content"`
}

type chatEntry struct {
	chatToken
	Top []chatToken `json:"top_logprobs"`
}

type chatToken struct {
	Token   string  `json:"token"`
	LogProb logProb `json:"logprob"`
	Bytes   *[]int  `json:"bytes"`
}

func (j *job) chatLogprobs(entries []entry) *chatLogprobs {
	lists := &chatLogprobs{make([]chatEntry, len(entries))}
	for i, e := range entries {
		one := chatEntry{j.chatToken(e.id, e.logProb), make([]chatToken, len(e.top))}
		for k, a := range e.top {
			one.Top[k] = j.chatToken(a.ID, a.LogProb)
		}
		lists.Content[i] = one
	}
	return lists
}

func (j *job) chatToken(id int, x float64) chatToken {
	t := chatToken{Token: j.name(id), LogProb: logProb(x)}
	if !math.IsNaN(x) && j.server.vocabulary.has(id) {
		t.Bytes = new(j.server.vocabulary.bytes(id))
	}
	return t
}

package serve

// The vocabulary: the texts of tokens; /tokenize and /detokenize.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"picogpt/tokenizer"
)

// A vocabulary is the tokenizer, with tables that are used at every token.
type vocabulary struct {
	*tokenizer.Tokenizer          // reads special tokens in a text as their ids
	texts                []string // of each token by itself; "" where an id has none
	longest              int      // bytes of the longest
	drops                bool     // some bytes of a text have no token, and no id
}

func newVocabulary(t *tokenizer.Tokenizer) vocabulary {
	v := vocabulary{Tokenizer: t.WithSpecial(), texts: make([]string, t.Size()), longest: 1}
	missing, unknown := t.Missing()
	v.drops = len(missing) > 0 && unknown < 0
	for id := range v.texts {
		v.texts[id], _ = t.Text(id) // a gap has no text
		v.longest = max(v.longest, len(v.texts[id]))
	}
	return v
}

// has reports whether the vocabulary, which may be smaller than the model's, has an id.
func (v *vocabulary) has(id int) bool { return id < len(v.texts) && v.texts[id] != "" }

// bytes returns the bytes of a token, as numbers.
func (v *vocabulary) bytes(id int) []int {
	bytes := make([]int, len(v.texts[id]))
	for i, x := range []byte(v.texts[id]) {
		bytes[i] = int(x)
	}
	return bytes
}

// textOf returns the text of ids. It skips ids that have no token.
func (v *vocabulary) textOf(ids []int) string {
	var b strings.Builder
	d := v.NewDecoder(nil)
	for _, id := range ids {
		text, _ := d.Push(id) // an unknown id has no effect
		b.WriteString(text)
	}
	b.WriteString(d.Flush())
	return b.String()
}

// name returns the name of a token in log-probabilities. JSON cannot hold a part of a character: it
// is written as OpenAI did, bytes:\xe2\x80.
func (v *vocabulary) name(id int, asID bool) string {
	if asID || !v.has(id) {
		return "token_id:" + strconv.Itoa(id)
	}
	text := v.texts[id]
	if utf8.ValidString(text) {
		return text
	}
	b := []byte("bytes:")
	for i := range len(text) {
		b = fmt.Appendf(b, `\x%02x`, text[i])
	}
	return string(b)
}

// A silent vocabulary has tokens that add nothing to a text.
type silent struct {
	*tokenizer.Tokenizer
	ids []int
}

func (s silent) NewDecoder(before []int) tokenizer.Decoder {
	return silentDecoder{s.Tokenizer.NewDecoder(before), s.ids}
}

type silentDecoder struct {
	tokenizer.Decoder
	ids []int
}

func (d silentDecoder) Push(id int) (string, error) {
	if slices.Contains(d.ids, id) {
		return "", nil
	}
	return d.Decoder.Push(id)
}

func (d silentDecoder) Fork() tokenizer.Decoder { return silentDecoder{d.Decoder.Fork(), d.ids} }

// readRequest reads the body of a request by a table of fields and those of who answers. One of
// needed must be there. nested has the unknown fields inside of others.
func (s *Server) readRequest(
	v *visit, nested *[]string, table map[string]field, needed ...string,
) error {
	var who choosing
	if nested == nil {
		nested = new([]string)
	}
	who.addFields(s, table, nested)
	body, err := s.read(v)
	if err != nil {
		return err
	}
	n := needs(table, needed...)
	ignored, err := readFields("", body, table)
	if err := n.check(err, ignored, table); err != nil {
		return err
	}
	v.ignore(append(ignored, *nested...))
	v.adapter, err = s.chosen(who)
	return err
}

// mostText is the most bytes of a text that /tokenize accepts, and that /detokenize returns.
const mostText = 1 << 20

// A tokenizing is the fields of a request for ids.
type tokenizing struct {
	prompt, content *string
	pieces, strs    bool
	talk            conversation
	ignored         []string
}

func (q *tokenizing) fields(s *Server) map[string]field {
	table := map[string]field{
		"prompt":  optional(&q.prompt, atMost(mostText)),
		"content": optional(&q.content, atMost(mostText)), "with_pieces": yes(&q.pieces),
		"return_token_strs": yes(&q.strs), "add_special_tokens": yes(new(bool)),
		"add_special": yes(new(bool)), "parse_special": yes(new(bool)),
	}
	if s.template != nil {
		q.talk.addFields(s, table, &q.ignored)
	}
	return table
}

func (s *Server) tokenize(v *visit) error {
	var q tokenizing
	needed := []string{"prompt", "content"}
	if s.template != nil {
		needed = append(needed, "messages")
	}
	if err := s.readRequest(v, &q.ignored, q.fields(s), needed...); err != nil {
		return err
	}
	prompt, content, talk := q.prompt, q.content, &q.talk
	if err := talk.tools.settle(s, new(form), new([]string)); err != nil {
		return err
	}
	given := 0
	for _, is := range []bool{prompt != nil, content != nil, talk.messages != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return fieldf("prompt", "want it, or content in the way of llama-server, or messages, "+
			"and not both")
	}
	return s.placed(v, 1, func(ctx context.Context, _ *place) (err error) {
		var ids []int
		switch {
		case prompt != nil:
			ids, err = s.idsOf(ctx, v.client.id, s.vocabulary.Tokenizer, *prompt, "prompt")
		case content != nil:
			ids, err = s.idsOf(ctx, v.client.id, s.vocabulary.Tokenizer, *content, "content")
		default:
			ids, err = s.conversation(talk, allowance{})
		}
		if err != nil {
			return err
		}
		answer := tokenized{Tokens: ids}
		if q.pieces {
			answer.Tokens = s.pieces(ids)
		}
		if content == nil {
			answer.vllm = &vllm{Count: len(ids), MaxModelLen: s.model.Config().Positions}
			if q.strs {
				answer.TokenStrs = new(s.names(ids))
			}
		}
		return s.replyLarge(v, encode(answer))
	})
}

// tokenized is the JSON of /tokenize.
type tokenized struct {
	Tokens idsOrPieces `json:"tokens"`
	*vllm
}

type idsOrPieces any

// vllm is vLLM's fields beside the tokens.
type vllm struct {
	Count       int       `json:"count"`
	MaxModelLen int       `json:"max_model_len"`
	TokenStrs   *[]string `json:"token_strs"`
}

// names returns the texts of ids.
func (s *Server) names(ids []int) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = s.vocabulary.name(id, false)
	}
	return names
}

// A piece is an id with its text, or with its bytes if it is a part of a character.
type piece struct {
	ID   int         `json:"id"`
	Text textOrBytes `json:"piece"`
}

type textOrBytes any

func (s *Server) pieces(ids []int) []piece {
	pieces := make([]piece, len(ids))
	for i, id := range ids {
		pieces[i] = piece{id, s.vocabulary.texts[id]}
		if !utf8.ValidString(s.vocabulary.texts[id]) {
			pieces[i].Text = s.vocabulary.bytes(id)
		}
	}
	return pieces
}

// mostAnswers bounds the memory of all answers of /tokenize that are being sent, in bytes: a client
// that reads slowly keeps its answer in memory. The client with most of it makes room for others.
const mostAnswers = 64 << 20

// replyLarge sends an answer whose size the client chooses, if mostAnswers has room for it.
func (s *Server) replyLarge(v *visit, b []byte) error {
	share := s.answers.hold(v.client.id, func() stage { return partly }, v.drop)
	defer share.release()
	if !share.take(int64(len(b))) {
		return errorf(http.StatusTooManyRequests, "queue_full",
			"the answers to other requests take all memory there is for them")
	}
	v.reply(http.StatusOK, b)
	return nil
}

// idsFields returns the table of /detokenize.
func (s *Server) idsFields(to *[]int) map[string]field {
	return map[string]field{"tokens": must(ids(to, len(s.vocabulary.texts), mostText))}
}

func (s *Server) detokenize(v *visit) error {
	var tokens []int
	given, table := false, s.idsFields(&tokens)
	table["tokens"] = noting(table["tokens"], func() { given = true })
	if err := s.readRequest(v, nil, table, "tokens"); err != nil {
		return err
	}
	if !given {
		return fieldf("tokens", "want a list of ids, found none")
	}
	size := 0
	for _, id := range tokens {
		if size += len(s.vocabulary.texts[id]); size > mostText {
			return fieldf("tokens", "want ids of at most %d bytes of text, found more", mostText)
		}
	}
	whole, err := s.vocabulary.Decode(tokens)
	if err != nil {
		return fieldf("tokens", "%v", err)
	}
	return s.replyLarge(v, encode(detokenized{whole, whole}))
}

// detokenized is the JSON of /detokenize.
type detokenized struct {
	Prompt  string `json:"prompt"`  // vLLM's field
	Content string `json:"content"` // llama-server's field
}

// tokenizerInfo returns the contents that a tokenizer_config.json would have.
func (s *Server) tokenizerInfo(v *visit) error {
	info := map[string]any{
		"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": false,
		"model_max_length": s.model.Config().Positions, "vocab_size": len(s.vocabulary.texts),
	}
	if id, ok := s.vocabulary.EndOfText(); ok { // GPT-2 has one token for all of these
		text := s.vocabulary.texts[id]
		info["tokenizer_class"] = "GPT2Tokenizer"
		info["eos_token"], info["bos_token"], info["unk_token"] = text, text, text
	} else if len(s.ends) > 0 && s.vocabulary.has(s.ends[0]) {
		info["eos_token"] = s.vocabulary.texts[s.ends[0]]
	}
	return v.replyJSON(info)
}

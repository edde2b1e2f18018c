package serve

// /tokenize and /detokenize, as clients of vLLM and llama-server use them.

import (
	"net/http"
	"unicode/utf8"

	"picogpt/internal/strictjson"
)

// readRequest reads the body of a request by a table of fields, of which one of needed must be
// there.
func (s *Server) readRequest(
	v *visit, table map[string]field, needed ...string,
) (release func(), err error) {
	body, release, err := s.read(v)
	if err != nil {
		return nil, err
	}
	n := needs(table, needed...)
	ignored, err := readFields("", body, table)
	if err := n.check(err, ignored, table); err != nil {
		release()
		return nil, err
	}
	v.ignore(ignored)
	return release, nil
}

// mostText is the most bytes of a text that /tokenize accepts, and that /detokenize returns.
const mostText = 1 << 20

func (s *Server) tokenize(v *visit) error {
	var name, prompt, content *string
	var pieces, strs bool
	release, err := s.readRequest(v, map[string]field{
		"model": optional(&name, text), "prompt": optional(&prompt, mostBytes(mostText)),
		"content": optional(&content, mostBytes(mostText)), "with_pieces": yes(&pieces),
		"return_token_strs": yes(&strs), "add_special_tokens": yes(new(bool)),
		"add_special": yes(new(bool)), "parse_special": yes(new(bool)),
	}, "prompt", "content")
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkModel(name); err != nil {
		return err
	}
	if (prompt == nil) == (content == nil) {
		return fieldf("prompt", "want it, or content in the way of llama-server, and not both")
	}
	asked, field := prompt, "prompt"
	if asked == nil {
		asked, field = content, "content"
	}
	place, err := s.queue.reserve(v, 1)
	if err != nil {
		return err
	}
	defer place.release()
	ctx, cancel := s.bounded(v)
	defer cancel()
	ids, err := s.idsOf(ctx, v.client.id, s.vocabulary.Tokenizer, *asked, field)
	if err != nil {
		return s.explain(v, err)
	}
	answer := tokenized{Tokens: ids}
	if pieces {
		answer.Tokens = s.pieces(ids)
	}
	if prompt != nil {
		answer.vllm = &vllm{Count: len(ids), MaxModelLen: s.model.Config().Positions}
		if strs {
			names := s.names(ids)
			answer.TokenStrs = &names
		}
	}
	return s.replyLarge(v, encode(answer))
}

// tokenized is the JSON of /tokenize.
type tokenized struct {
	Tokens any `json:"tokens"` // ids, or pieces
	*vllm
}

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
	ID   int `json:"id"`
	Text any `json:"piece"`
}

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

func (s *Server) detokenize(v *visit) error {
	var name *string
	var tokens []int
	given := false
	release, err := s.readRequest(v, map[string]field{
		"model": optional(&name, text),
		"tokens": func(r *strictjson.Reader) error {
			given = true
			return ids(&tokens, len(s.vocabulary.texts), mostText)(r)
		},
	}, "tokens")
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkModel(name); err != nil {
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
	return s.replyLarge(v, encode(struct {
		Prompt  string `json:"prompt"`  // vLLM's field
		Content string `json:"content"` // llama-server's field
	}{whole, whole}))
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

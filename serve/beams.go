package serve

// Texts that are searched for (use_beam_search): beside the batch, one search at a time.

import (
	"context"

	"picogpt/decode"
	"picogpt/model"
	"picogpt/search"
)

// searchRows is how many tokens of the prompt of a search are evaluated at a time.
const searchRows = 64

// readPrompt evaluates all ids but the last in parts, and returns the last.
func (s *Server) readPrompt(
	ctx context.Context, session *model.Session, ids []int, edits []model.Edit,
) (last []int, err error) {
	for len(ids) > 1 {
		n := min(searchRows, len(ids)-1)
		in := model.Input{Session: session, Tokens: ids[:n], NoLogits: true,
			Trace: model.Editing(edits)}
		if err := s.model.Eval(ctx, in); err != nil {
			return nil, err
		}
		ids = ids[n:]
	}
	return ids, nil
}

// search finds the best texts of a prompt, and gives them to its choices, the best to the first;
// choices for which there is no text get none. Searches take turns as long texts do, and read their
// prompt in parts: each Eval has at most searchRows rows or those of the beams, of which there are
// no more than the batch has slots, and other texts have theirs in between.
func (j *job) search(
	ctx context.Context, p *prompt, choices []*choice, took func(*choice, *decode.Token) error,
) error {
	s := j.server
	turn, err := s.searches.enter(ctx, j.visit.client.id, len(p.ids))
	if err != nil {
		return err
	}
	defer s.searches.leave(turn)
	j.place.begun.Add(int32(len(choices)))
	session := s.model.NewSession()
	defer session.Release()
	last, err := s.readPrompt(ctx, session, p.ids, j.Options.Edits)
	if err != nil {
		return err
	}
	o := j.Options
	o.MaxTokens = p.tokens
	found, err := search.Beams(ctx, session, last, j.beams, o)
	if err != nil {
		return err
	}
	for i := range found {
		for k := range found[i].Tokens {
			if err := j.take(choices[i], &found[i].Tokens[k], took); err != nil {
				return err
			}
		}
	}
	return nil
}

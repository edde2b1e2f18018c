package batch

// Hidden states of texts, in the batch with those that are written.

import (
	"context"
	"fmt"

	"picogpt/decode"
)

// States evaluates the prompt of a request in the batch, in turns with other texts, and returns the
// hidden states after ln_f of its tokens from index from on, [len(prompt)-from, n_embd]. No token
// follows: the request's Options and Samples are not used. While the text has a slot, the hidden
// states take memory beside the cache.
func (b *Batcher) States(ctx context.Context, wanted Request, from int) ([]float32, error) {
	if from < 0 || from >= max(1, len(wanted.Prompt)) {
		return nil, fmt.Errorf("states: from token %d of %d: want one of them", from,
			len(wanted.Prompt))
	}
	caller, err := watch(ctx)
	if err != nil {
		return nil, err
	}
	st, err := decode.NewReading(b.model.NewSession(), wanted.Prompt, from)
	if err != nil {
		return nil, err
	}
	r := newRequest(st, &decode.Options{}, 1)
	r.client, r.salt, r.apart = wanted.Client, wanted.Salt, from == 0
	if st.SetAccess(decode.AccessNever); wanted.Progress != nil {
		r.progress = wanted.Progress
	}
	if wanted.Begun != nil {
		r.begun = wanted.Begun
	}
	b.serve(caller, r, func(_ decode.Token, failed error) bool {
		err = failed
		return true
	})
	return r.states, err
}

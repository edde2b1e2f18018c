package inside

// Sweeps: one text with many lists of edits.

import (
	"context"
	"errors"
	"fmt"

	"picogpt/model"
)

// sweepRows and sweepRuns bound the rows and the runs of one Eval, and so its memory.
const sweepRows, sweepRuns = 512, 32

// Sweep evaluates a text once for each run, with the edits of the run, and calls each, run by run,
// with the logits after the last token [vocab_size]. They are those of the run alone, to the last
// bit, and valid only during the call. A run costs the tokens from its first edited one on, at
// least the last token: what stands before them is evaluated once for all. Runs are evaluated side
// by side: at most 32, of 512 tokens together, and as many as Options.CacheBytes allows. An error
// that one run causes names its number.
func Sweep(ctx context.Context, m *model.Model, tokens []int, runs [][]model.Edit,
	each func(run int, logits []float32)) error {
	if err := checkText(m, tokens); err != nil {
		return err
	}
	for i, edits := range runs {
		if err := m.CheckEdits(edits); err != nil {
			return runError(i, err)
		}
	}
	last := len(tokens) - 1 // it is evaluated in each run, for its logits
	from, shared := make([]int, len(runs)), 0
	for i, edits := range runs {
		from[i] = last
		for _, e := range edits {
			from[i] = min(from[i], e.From)
		}
		shared = max(shared, from[i])
	}
	s := m.NewSession()
	defer s.Release()
	if shared > 0 {
		in := model.Input{Session: s, Tokens: tokens[:shared], NoLogits: true}
		if err := eval(ctx, m, in); err != nil {
			return err
		}
	}
	for first, most := 0, sweepRuns; first < len(runs); {
		var batch []model.Input
		for rows := 0; first+len(batch) < len(runs) && len(batch) < most; {
			i := first + len(batch)
			rows += len(tokens) - from[i]
			if rows > sweepRows && len(batch) > 0 {
				break
			}
			batch = append(batch, model.Input{Session: s.Fork(from[i]), Tokens: tokens[from[i]:],
				Trace: model.Editing(runs[i])})
		}
		err := m.Eval(ctx, batch...)
		for i := range batch {
			if err == nil {
				each(first+i, batch[i].Session.Logits())
			}
			batch[i].Session.Release()
		}
		if errors.Is(err, model.ErrCacheFull) && len(batch) > 1 {
			most = len(batch) / 2
			continue
		}
		if in := (*model.InputError)(nil); errors.As(err, &in) {
			return runError(first+in.Input, in.Err)
		} else if err != nil {
			return err
		}
		first += len(batch)
	}
	return nil
}

func runError(run int, err error) error { return fmt.Errorf("run %d: %w", run, err) }

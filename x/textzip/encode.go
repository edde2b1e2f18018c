package textzip

// A group's text to a payload: windows of all streams, evaluated as prompts are.

import (
	"bytes"
	"context"
	"math/bits"

	"picogpt/internal/engine"
	"picogpt/model"
)

// A window is a part of a stream that is evaluated at once.
type window struct {
	inputs  []int    // [≤ Window]
	targets []int    // predicted by the last inputs
	symbols []symbol // of the targets
}

// windows returns the windows of a stream's tokens. Symbols are written to symbols.
func (k *codec) windows(tokens []int, symbols []symbol) (all []window) {
	for from := 0; from < len(tokens); {
		begin, to := from-k.Overlap, from-k.Overlap+k.Window+1
		var inputs []int
		if from == 0 {
			to = min(k.Window, len(tokens))
			inputs = append([]int{k.start}, tokens[:to-1]...)
		} else {
			to = min(to, len(tokens))
			inputs = tokens[begin : to-1]
		}
		all = append(all, window{inputs, tokens[from:to], symbols[from:to]})
		from = to
	}
	return all
}

// encode returns the payload of a group, or nil if its tokens do not give it back, or as soon as
// they cost more than most bytes. done is called with the share that is evaluated.
func (k *codec) encode(
	ctx context.Context, text []byte, most int, done func(float64),
) ([]byte, error) {
	var streams [][]symbol
	var all []window
	tokens := 0
	for _, segment := range k.cut(text) {
		ids, err := k.tokenizer.Encode(string(segment))
		if err != nil || !bytes.Equal(join(k.bytes, ids), segment) {
			return nil, nil
		}
		symbols := make([]symbol, len(ids))
		streams = append(streams, symbols)
		all = append(all, k.windows(ids, symbols)...)
		tokens += len(ids)
	}
	evaluated, cost := 0, 0 // cost is in bits, each token's rounded down
	for len(all) > 0 {
		n, rows := 0, 0
		for ; n < len(all) && rows < engine.PassRows; n++ { // a pass at least, if there is as much
			rows += len(all[n].inputs)
			evaluated += len(all[n].targets)
		}
		if err := k.evaluate(ctx, all[:n]); err != nil {
			return nil, err
		}
		for _, w := range all[:n] {
			for _, s := range w.symbols {
				cost += bits.Len64(s.total/s.size) - 1
			}
		}
		if cost/8 > most {
			return nil, nil
		}
		all = all[n:]
		done(float64(evaluated) / float64(tokens))
	}
	return interleave(streams), nil
}

// evaluate computes the symbols of windows.
func (k *codec) evaluate(ctx context.Context, windows []window) error {
	batch := make([]model.Input, len(windows))
	for i, w := range windows {
		first := len(w.inputs) - len(w.targets)
		batch[i] = model.Input{
			Session: k.model.NewSession(), Tokens: w.inputs, NoLogits: true, VisitFrom: first,
			Visit: func(row model.Row) {
				f := k.rows.Get().(*frequencies)
				defer k.rows.Put(f)
				if f.set(k.model.Leaves(), row.Logits); f.total > 0 {
					w.symbols[row.Index-first] = f.symbol(w.targets[row.Index-first])
				}
			},
		}
	}
	defer release(batch)
	return model.Cause(k.model.Eval(ctx, batch...))
}

func release(batch []model.Input) {
	for _, in := range batch {
		in.Session.Release()
	}
}

// interleave encodes the first symbol of each stream, then the second of each, and so on: the order
// in which a reader finds them.
func interleave(streams [][]symbol) []byte {
	e := newEncoder()
	for i, left := 0, true; left; i++ {
		left = false
		for _, s := range streams {
			if i < len(s) {
				e.encode(s[i])
				left = true
			}
		}
	}
	return e.end()
}

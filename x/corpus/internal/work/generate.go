package work

// Generating: gpt generate --prompts for the lines of a file.

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"
	"time"

	"picogpt/batch"
	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/eval"
	"picogpt/internal/lines"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/x/corpus/internal/ledger"
)

// The most prompts, and the most bytes of them, that were read and are not written yet. Texts of
// one piece that are generated at the same time are in one batch.
const (
	textsAhead    = 64
	bytesAhead    = 64 << 20
	textsTogether = 16
)

// generate makes the records of gpt generate --prompts.
func (r *run) generate(ctx context.Context, items iter.Seq[*item]) iter.Seq2[outcome, error] {
	return func(yield func(outcome, error) bool) {
		g, err := r.newGenerator()
		if err != nil {
			yield(outcome{}, err)
			return
		}
		defer g.batcher.Close()
		ctx, cancel := context.WithCancel(ctx)
		var started []*text // in the order of their items
		size := 0           // of their rows
		defer func() {
			cancel()
			for _, t := range started {
				<-t.done
			}
		}()
		first := func() bool {
			t := started[0]
			started, size = started[1:], size-t.size
			<-t.done
			return yield(t.outcome, t.err)
		}
		for it := range items {
			for len(started) >= textsAhead || size > bytesAhead {
				if !first() {
					return
				}
			}
			t := g.begin(ctx, it)
			started, size = append(started, t), size+t.size
		}
		for len(started) > 0 && first() {
		}
	}
}

// A generator continues the prompts of a piece.
type generator struct {
	run     *run
	batcher *batch.Batcher
	options decode.Options
	samples int
	in      lines.PromptReader
	form    lines.Form
	out     lines.Output
}

func (r *run) newGenerator() (*generator, error) {
	o, l := r.job.Generate.Options(), r.loaded
	options := o.Meant()
	if l.Tokenizer != nil {
		options.Vocabulary = l.Tokenizer
	} else if !errors.Is(l.Missing, checkpoint.ErrNoTokenizer) || len(o.Stop) > 0 {
		return nil, l.Missing // without a tokenizer, ids can still be continued
	}
	return &generator{
		run: r, options: options, samples: o.Samples,
		// Nobody waits for single tokens here, so that prompts may take their time.
		batcher: batch.New(l.Model, batch.Options{
			MaxStreams: textsTogether, MaxDelay: time.Second,
		}),
		in: lines.PromptReader{TextField: r.job.Fields.Text, Tokenizer: l.Tokenizer,
			Missing: l.Missing, Special: r.job.Fields.Special},
		form: lines.Form{Text: l.Tokenizer != nil, Top: o.Top > 0},
		out:  lines.Output{Fields: o.Fields, Keep: o.Keep},
	}, nil
}

// A text is the future outcome of an item.
type text struct {
	outcome outcome
	err     error // an error of the work, not of the record
	size    int   // memory that it takes, in bytes
	done    chan struct{}
}

// begin encodes a prompt, one at a time because it may be large, and starts continuing it.
func (g *generator) begin(ctx context.Context, it *item) *text {
	t := &text{outcome: outcome{item: it, err: it.Err}, size: len(it.Text),
		done: make(chan struct{})}
	for _, m := range it.Object {
		t.size += len(m.Value)
	}
	var p lines.Prompt
	switch {
	case it.Err != nil:
	case it.Object != nil:
		p, t.outcome.err = g.in.Object(it.Object)
	default:
		p, t.outcome.err = g.in.Of(it.Text)
	}
	if t.outcome.err != nil {
		close(t.done)
		return t
	}
	t.size += 8 * len(p.IDs)
	seed := seedOf(g.options.Seed, it.canonical, &p)
	go func() {
		defer close(t.done)
		err := g.finish(ctx, &t.outcome, p.IDs, seed)
		if ofWork(ctx, err) {
			t.err = err
		} else {
			t.outcome.err = err
		}
	}()
	return t
}

// ofWork reports whether an error is one of the work, not of the record.
func ofWork(ctx context.Context, err error) bool {
	var option *sample.OptionError // the same for all records
	return err != nil && (ctx.Err() != nil || errors.As(err, &option) ||
		errors.Is(err, batch.ErrClosed) || errors.Is(err, model.ErrClosed))
}

// finish continues a prompt.
func (g *generator) finish(ctx context.Context, o *outcome, ids []int, seed uint64) error {
	options, n := g.options, g.samples
	options.Seed = seed
	tokens := g.batcher.Run(ctx, batch.Request{Prompt: ids, Options: options, Samples: n})
	samples, err := g.form.Collect(tokens, n, seed, ids)
	if err != nil {
		return err
	}
	for _, s := range samples {
		if err := g.add(o, s); err != nil {
			return err
		}
	}
	return nil
}

// add adds one of the texts of an item to its outcome.
func (g *generator) add(o *outcome, s *lines.Sample) error {
	row := &o.item.Row
	line, err := g.out.Line(row, lines.TextRecord{
		Source: row.Source, Line: row.First, ID: row.ID, Sample: s,
	})
	if err != nil {
		return err
	}
	o.line = append(o.line, line...)
	o.records = append(o.records, generated(&o.entry, row, s))
	return nil
}

// generated returns the record of a text for the digest, and adds its numbers to those of its item.
// The manifest's digest is an eval.Digest of a Record for each text, also for each of several
// samples of a prompt: of the id, the generated tokens (the member ids, without one that ends a
// text) and their log-probabilities (the member logprobs).
func generated(to *ledger.Entry, row *lines.Row, s *lines.Sample) *eval.Record {
	r := &eval.Record{ID: row.ID, Tokens: s.IDs}
	for i := range s.LogProbs {
		r.LogProbs = append(r.LogProbs, &s.LogProbs[i])
		to.Sum += s.LogProbs[i]
	}
	to.Count += len(s.IDs)
	return r
}

// The seeds of texts.

// seedOf returns the seed of the first text that continues a prompt; text i, counted from 0, has
// that seed + i, mod 2⁶⁴. A record's member seed, if it has one, is used instead. Otherwise the
// seed depends on --seed and the record's id, or on --seed and the prompt if there is no id (or
// null). So it does not depend on where, when and with which other records the record is processed,
// and another program can compute it: it is the first 53 bits, the most significant bit first, of
// the SHA-256 of these bytes. (Every JSON reader has numbers of 53 bits exactly.) Integers have 64
// bits, the least significant byte first.
//
//	version   the 21 bytes "picogpt corpus seed 1"
//	--seed    an integer
//	kind      the byte "i" for an id, "p" for a prompt that is a text, "t" for one that is tokens
//	length    of what follows, an integer
//	value     i: the id as an eval.Digest has it: the byte 1, the length of the UTF-8 (an integer)
//	             and the UTF-8 for a string, its escapes resolved; the byte 2, the length of the JSON
//	             and the JSON without white space between its parts for any other value
//	          p: the SHA-256 of the text's UTF-8, 32 bytes
//	          t: the SHA-256 of the token ids, each an integer, 32 bytes
func seedOf(seed uint64, canonical []byte, p *lines.Prompt) uint64 {
	integer := binary.LittleEndian.AppendUint64
	kind, value := byte('i'), canonical
	switch {
	case p.Seed != nil:
		return *p.Seed
	case canonical != nil:
	case p.Text != nil:
		sum := sha256.Sum256([]byte(*p.Text))
		kind, value = 'p', sum[:]
	default:
		var ids []byte
		for _, id := range p.IDs {
			ids = integer(ids, uint64(id))
		}
		sum := sha256.Sum256(ids)
		kind, value = 't', sum[:]
	}
	b := integer([]byte("picogpt corpus seed 1"), seed)
	b = integer(append(b, kind), uint64(len(value)))
	sum := sha256.Sum256(append(b, value...))
	return binary.BigEndian.Uint64(sum[:]) >> 11
}

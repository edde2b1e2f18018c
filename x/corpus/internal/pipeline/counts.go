package pipeline

// Beam's metrics.

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"picogpt/x/corpus/internal/work"
)

const space = "corpus" // prefix of the names of metrics

// counts are the metrics of a piece of work.
type counts struct {
	records, errors, tokens, pieces beam.Counter
	speed                           beam.Distribution // tokens a second of a piece
}

func newCounts() counts {
	return counts{
		beam.NewCounter(space, "records"), beam.NewCounter(space, "errors"),
		beam.NewCounter(space, "tokens"), beam.NewCounter(space, "pieces"),
		beam.NewDistribution(space, "tokens_per_second"),
	}
}

func (c *counts) add(ctx context.Context, s *work.Summary) {
	c.records.Inc(ctx, int64(s.Records))
	c.errors.Inc(ctx, int64(s.Errors))
	c.tokens.Inc(ctx, int64(s.Tokens))
	c.pieces.Inc(ctx, 1)
	if s.Seconds > 0 && !s.Resumed {
		c.speed.Update(ctx, int64(float64(s.Tokens)/s.Seconds))
	}
}

// selectCounts are those of a filter's second phase.
type selectCounts struct{ kept, dropped, unranked beam.Counter }

func newSelectCounts() selectCounts {
	return selectCounts{beam.NewCounter(space, "kept"), beam.NewCounter(space, "dropped"),
		beam.NewCounter(space, "unranked")}
}

func (c *selectCounts) add(ctx context.Context, k *work.Kept) {
	c.kept.Inc(ctx, int64(k.Kept))
	c.dropped.Inc(ctx, int64(k.Dropped))
	c.unranked.Inc(ctx, int64(k.Unranked))
}

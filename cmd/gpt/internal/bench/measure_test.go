package bench

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// tiny returns a random model in memory.
func tiny(t *testing.T, o fixture.Options) *model.Model {
	t.Helper()
	dir := t.TempDir()
	if err := fixture.Write(dir, o); err != nil {
		t.Fatal(err)
	}
	return testmodel.Open(t, dir, model.Options{Threads: 2})
}

func TestMeasureTakesTinyModels(t *testing.T) {
	cases.NotShort(t)
	models := []fixture.Options{{Positions: 2, Vocab: 1, Layer: 1},
		{Positions: 9, Vocab: 70, Layer: 1}}
	if cases.Long {
		for positions := 3; positions < 40; positions++ {
			models = append(models, fixture.Options{Positions: positions})
		}
	}
	for _, o := range models {
		r, err := Measure(context.Background(), tiny(t, o),
			Options{Rounds: 1, GenTokens: 2, Batch: []int{1, 20}})
		if err != nil {
			t.Errorf("%+v: %v", o, err)
			continue
		}
		for name, x := range map[string]float64{
			"decode": r.Decode.MSPerToken, "prefill": r.Prefill.MS, "batch": r.Batch[1].TokensPerSec,
			"batch ratio": r.Batch[1].Ratio,
			"early":       r.Context.MSAt50, "late": r.Context.MSAt900, "row": r.Rows.MS[0],
			"greedy": r.Choosing.GreedyMS, "top-k": r.Choosing.TopKMS, "top-p": r.Choosing.TopPMS,
		} {
			if !(x > 0) || math.IsInf(x, 0) {
				t.Errorf("%+v: %s %v, want a time", o, name, x)
			}
		}
		if early, late := r.Context.At[0], r.Context.At[1]; early < 1 || late < early ||
			late >= o.Positions {
			t.Errorf("%+v: contexts %d and %d, want 1 to n_positions", o, early, late)
		}
		want := rowCounts[:0:0]
		for _, n := range rowCounts {
			if r.Rows.At+n <= o.Positions {
				want = append(want, n)
			}
		}
		if rows := r.Rows; !slices.Equal(rows.Rows, want) || len(rows.MS) != len(want) ||
			len(rows.Ratio) != len(want) || rows.Ratio[0] != 1 {
			t.Errorf("%+v: %+v, want %v rows", o, rows, want)
		}
		if n := r.Prefill.Tokens; n < 1 || n > o.Positions {
			t.Errorf("%+v: a prompt of %d tokens", o, n)
		}
	}
}

func TestMeasureWantsRoomForTwoPositions(t *testing.T) {
	_, err := Measure(context.Background(), tiny(t, fixture.Options{Positions: 1}),
		Options{Rounds: 1})
	if err == nil || !strings.Contains(err.Error(), "n_positions: 1, want at least 2") {
		t.Errorf("got %v, want an error that names n_positions", err)
	}
}

package checkpoint_test

// What trainings leave behind: one model in the files of many programs, against float64.
// testdata/make_trainings.py says what each file is.

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/internal/testing/fixture"
	"picogpt/model"
)

// A training is one folder of trainings.tar.gz.
type training struct {
	Name   string
	Logits string // the name of those in the manifest; "" if the file is refused
	Heads  int    // Options.Heads
	GELU   string // Options.GELU
	Error  string // a part of it
	Unused []string
	Notes  int
}

func TestTrainings(t *testing.T) {
	dir := t.TempDir()
	b, err := fixture.Unpack("testdata/trainings.tar.gz", dir)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		IDs    []int
		Logits map[string][][]float64
		Cases  []training
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Cases) < 70 {
		t.Errorf("%d files", len(all.Cases))
	}
	for _, x := range all.Cases {
		c, err := checkpoint.Options{GELU: x.GELU, Heads: x.Heads}.Open(filepath.Join(dir, x.Name))
		var m *model.Model
		if err == nil {
			defer c.Close()
			if m, err = model.New(t.Context(), c.Config, c.Tensors, model.Options{Threads: 1}); err == nil {
				defer m.Close()
			}
		}
		switch {
		case x.Error != "":
			if err == nil || strings.Contains(err.Error(), "\n") ||
				!strings.Contains(strings.ReplaceAll(err.Error(), dir+"/"+x.Name+"/", ""), x.Error) {
				t.Errorf("%s: %v, want %s", x.Name, err, x.Error)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", x.Name, err)
			continue
		}
		if len(c.Notes) != x.Notes || !slices.Equal(c.Unused(), x.Unused) && len(x.Unused) > 0 {
			t.Errorf("%s: notes %q, unused %q; want %d, %q", x.Name, c.Notes, c.Unused(), x.Notes,
				x.Unused)
		}
		if off := farthest(logits(t, m, all.IDs), all.Logits[x.Logits]); !(off <= 1e-5) {
			t.Errorf("%s: %.2g of the largest logit off", x.Name, off)
		}
	}
}

// farthest returns the largest difference of two tables of logits over the largest logit.
func farthest(got [][]float32, want [][]float64) float64 {
	off, largest := 0.0, 0.0
	for i, row := range want {
		for j, x := range row {
			off = max(off, math.Abs(float64(got[i][j])-x))
			largest = max(largest, math.Abs(x))
		}
	}
	return off / largest
}

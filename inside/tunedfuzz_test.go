package inside_test

// Tuned lenses, from files of any bytes.

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/model"
)

func FuzzTuned(f *testing.F) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(f, config, file, model.Options{Threads: 1})
	good := newTunedFile(m.Config().Layer, m.Config().Embd)
	dir := good.write(f)
	params, err := os.ReadFile(filepath.Join(dir, "params.pt"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.config, params)
	f.Add(strings.Replace(good.config, `"bias"`, `"bais"`, 1), params[:len(params)/2])
	f.Add(`{"d_model":-1}`, []byte("PK"))
	f.Add(`{"d_model":15,"num_hidden_layers":1e9}`, []byte{})
	f.Fuzz(func(t *testing.T, config string, params []byte) {
		for name, b := range map[string][]byte{"config.json": []byte(config), "params.pt": params} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		lens, err := inside.OpenTuned(dir, m)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
				t.Errorf("an error of several lines, or without the file: %v", err)
			}
			return
		}
		table, err := inside.Lens(context.Background(), m, []int{1, 2, 3}, inside.LensOptions{Tuned: lens, Top: 2})
		if err == nil {
			for _, p := range table.Layers[0] {
				if math.IsNaN(p.KL) {
					t.Errorf("a prediction is no number: %+v", p)
				}
			}
		}
		if err := lens.Close(); err != nil {
			t.Error(err)
		}
	})
}

package gpu

// Which tiles a layer of many rows has.

import (
	"testing"

	"picogpt/internal/engine"
)

func TestTilesOfALayer(t *testing.T) {
	many, most := manyTile(1), mostTile(1)
	for _, c := range []struct {
		what          string
		rows, in, out int
		want          tile
	}{
		{"64 texts, 124M's c_attn", 64, 768, 2304, many},
		{"64 texts, 124M's c_proj", 64, 768, 768, many},
		{"64 texts, 1.5B's c_fc", 64, 1600, 6400, many},
		{"a prompt, 124M's c_attn", 512, 768, 2304, most},
		{"a prompt, 124M's c_proj", 512, 768, 768, many},
		{"a prompt, 124M's c_fc", 512, 768, 3072, many},
		{"a prompt, 124M's mlp.c_proj", 512, 3072, 768, many},
		{"a prompt, 1.5B's c_attn", 512, 1600, 4800, most},
		{"a prompt, 1.5B's mlp.c_proj", 512, 6400, 1600, most},
		{"a prompt, 355M's c_fc: each group adds four segments up, which is as many rounds", 512, 1024,
			4096, mostTile(4)},
		{"a prompt, 774M's c_attn", 512, 1280, 3840, mostTile(5)},
		{"a prompt, two segments", 512, 264, 3100, mostTile(2)},
		{"few outputs", 512, 768, 64, many},
		{"few rows", fewRows + 1, 40, 128, many},
		{"one segment", engine.PassRows, 100, 4096, most},
	} {
		if got := tilesOf(c.rows, c.out, groups(c.in, segment)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

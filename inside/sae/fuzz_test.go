package sae_test

// Hostile folders: no cfg.json makes Open, For or Read panic, or tells more than a line.

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/inside/sae"
	"picogpt/internal/folder"
	"picogpt/model"
)

func FuzzConfig(f *testing.F) {
	dir, all := unpack(f)
	m := opened(f, dir, model.Options{Threads: 1})
	weights := map[string][]byte{}
	for name := range all.Cases {
		for _, file := range []string{sae.ConfigFile, sae.WeightsFile} {
			b, err := os.ReadFile(filepath.Join(dir, name, file))
			if err != nil {
				f.Fatal(err)
			}
			if weights[name] = b; file == sae.ConfigFile {
				f.Add(string(b), name)
			}
		}
	}
	f.Add(`{"metadata":{"model_from_pretrained_kwargs":{"fold_ln":[1],"fold_value_biases":[1]},
		"hook_name":"blocks.0.attn.hook_z"},"architecture":"standard","d_in":8,"d_sae":40}`, "standard-z")
	f.Fuzz(func(t *testing.T, config, of string) {
		d, err := sae.Open(folder.Memory{sae.ConfigFile: []byte(config), sae.WeightsFile: weights[of]}, false)
		if err == nil {
			defer d.Close()
			var r *sae.Reader
			if r, err = d.For(context.Background(), m); err == nil {
				_, err = r.Read(context.Background(), all.IDs)
			}
			if err == nil {
				_, err = r.Edits(sae.Change{Feature: 3}, sae.Change{Feature: 4, Add: true, To: 1})
			}
			if err == nil {
				_, err = r.Effect(context.Background(), 3)
			}
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than a line: %q", err)
		}
	})
}

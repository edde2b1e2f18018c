package work

import (
	"os"
	"path/filepath"
	"testing"

	"picogpt/x/corpus/internal/job"
)

// TestPiecesOfBeforeAreNotMixedWithThoseOfAGenerationConfig: earlier versions did not read that
// file, and a piece that is done counts only where all of the identity is the same.
func TestPiecesOfBeforeAreNotMixedWithThoseOfAGenerationConfig(t *testing.T) {
	dir := t.TempDir()
	err := os.CopyFS(dir, os.DirFS("../../../../dev/fixture/testdata/goldens/plain"))
	if err != nil {
		t.Fatal(err)
	}
	identity := func() Identity {
		l, err := load(t.Context(), job.Model{Path: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Model.Close()
		return l.Identity
	}
	before := identity()
	if before.Generation != "" {
		t.Errorf("without the file: %q", before.Generation)
	}
	file := filepath.Join(dir, "generation_config.json")
	if err := os.WriteFile(file, []byte(`{"eos_token_id": [3, 5]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	after := identity()
	if after == before || after.Weights != before.Weights {
		t.Errorf("with the file %+v, without it %+v", after, before)
	}
}

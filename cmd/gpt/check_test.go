package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/check"
	"picogpt/cmd/gpt/internal/process"
)

// What differs is printed, as a table or as JSON, and is an error, so that the exit status is 1.
func TestABrokenPromiseIsAnError(t *testing.T) {
	for _, json := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), "out")
		out, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		a := newApp()
		a.stdout = process.NewOutput(out)
		c := compareCommand{JSON: json}
		if err := c.print(a, &check.Report{Agree: true, DType: "f32", Cache: "f32"}); err != nil {
			t.Errorf("they agree: %v", err)
		}
		place := "weights: wpe.weight [0 0]: 1, reference 2"
		r := &check.Report{Place: place, Rows: []check.Row{
			{What: "weights", Verdict: check.Fault, Where: "wpe.weight [0 0]: 1, reference 2"}}}
		err = c.print(a, r)
		if err == nil || err.Error() != "the engine and the reference differ: "+place {
			t.Errorf("they differ: %v", err)
		}
		printed, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(printed), "wpe.weight [0 0]") {
			t.Errorf("printed %q, %v", printed, err)
		}
	}
}

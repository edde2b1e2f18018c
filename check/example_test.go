package check_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"picogpt/check"
	"picogpt/model"
	"picogpt/weights/demo"
)

// The test of a fine-tuned model.
func ExampleExpect() {
	test := func(t *testing.T) {
		check.Expect(t, "models/mine", "A text of the kind that the model is for.")
	}
	_ = test
}

// What the demo, stored in f16, loses in q8.
func ExamplePair_Compare() {
	ctx := context.Background()
	dir, err := demoFolder()
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	p, closePair, err := check.Open(ctx, dir, model.Options{Format: "q8"})
	if err != nil {
		panic(err)
	}
	defer closePair()
	text := "Once upon a time, there was a little girl named Lily."
	r, err := p.Compare(ctx, check.Options{Text: &text, N: 12})
	if err != nil {
		panic(err)
	}
	for _, row := range r.Rows {
		if row.What == "first choice" {
			fmt.Println(row.Compared)
		}
	}
	// Output: 12 of 12 agree, 100.0 %
}

// demoFolder is the demo as a folder.
func demoFolder() (string, error) {
	dir, err := os.MkdirTemp("", "demo")
	if err == nil {
		err = os.CopyFS(dir, demo.FS())
	}
	return dir, err
}

package inside_test

import (
	"context"
	"fmt"

	"picogpt/inside"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// What each layer would predict after a sentence's beginning.
func Example() {
	ctx := context.Background()
	c, err := model.ParseConfig(demo.Config())
	if err != nil {
		panic(err)
	}
	tensors, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		panic(err)
	}
	m, err := model.New(ctx, c, tensors, model.Options{})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	tok := tokenizer.GPT2()
	tokens, err := tok.Encode("Once upon a time, there was a little girl named")
	if err != nil {
		panic(err)
	}
	table, err := inside.Lens(ctx, m, tokens, inside.LensOptions{From: len(tokens) - 1, Top: 1})
	if err != nil {
		panic(err)
	}
	for layer, row := range table.Layers {
		text, err := tok.Text(row[0].Top[0])
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d %q %.2f\n", layer, text, row[0].P[0])
	}
	// Output:
	// 0 " named" 0.59
	// 1 " Remember" 0.00
	// 2 "uy" 0.00
	// 3 " Tim" 0.00
	// 4 " Lily" 0.62
}

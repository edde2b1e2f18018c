package checkpoint_test

import (
	"context"
	"fmt"
	"log"

	"picogpt/checkpoint"
	"picogpt/model"
	"picogpt/weights/demo"
)

// The config and the tensors go to model.New. For a folder or a file, begin with checkpoint.Open.
func ExampleCheckpoint() {
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	tok, err := c.Tokenizer()
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.New(context.Background(), c.Config, c.Tensors, model.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Printf("%s, %d layers of %d in %s, %d tokens, a text ends with %d\n", c.Format(),
		c.Config.Layer, c.Config.Embd, m.Format(), tok.Size(), c.Config.EndTokens())
	// Output: safetensors, 4 layers of 128 in f16, 50257 tokens, a text ends with [50256]
}

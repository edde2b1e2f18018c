package textzip_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"picogpt/checkpoint"
	"picogpt/model"
	"picogpt/weights/demo"
	"picogpt/x/textzip"
)

func Example() {
	ctx := context.Background()
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{}) // or Open("models/gpt2", …)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	m, err := model.New(ctx, c.Config, c.Tensors, model.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	const text = "Once upon a time, there was a little girl named Lily. She loved to play outside."
	var file bytes.Buffer
	w, err := textzip.NewWriter(ctx, &file, c, m, textzip.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := textzip.NewReader(ctx, &file, c, m, textzip.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	again, err := io.ReadAll(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(again))
	// Output: Once upon a time, there was a little girl named Lily. She loved to play outside.
}

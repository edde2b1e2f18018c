// Command search tells how near texts are to a query, the first of them. A text's vector is the
// mean of the model's hidden states, as gpt serve's embeddings are. GPT-2 was not trained for that:
// only the order of the cosines means something, and a model that was tuned on pairs does better.
//
//	go run ./examples/search
//	go run ./examples/search -m models/gpt2 'the query' 'a text' 'another text'
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"picogpt"
	"picogpt/eval"
	"picogpt/weights/demo"
)

func main() {
	files := demo.FS()
	flag.Func("m", "a checkpoint", func(dir string) error { files = os.DirFS(dir); return nil })
	flag.Parse()
	texts := flag.Args()
	if len(texts) == 0 {
		texts = []string{"The puppy ran after the ball.", "Mom baked a cake for the party.",
			"It was a dark and rainy day.", "The dog likes to run and play with his toy."}
	}
	gpt, err := picogpt.OpenFS(context.Background(), files, picogpt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()
	requests := func(yield func(eval.Request) bool) {
		for _, text := range texts {
			if !yield(eval.Request{Text: text}) {
				return
			}
		}
	}
	var query []float32
	for e, err := range gpt.Embeddings(context.Background(), requests,
		eval.EmbedOptions{Normalize: true}) { // in batches, in order
		if err != nil {
			log.Fatal(err)
		}
		if query == nil {
			query = e.Vector
		}
		cosine := 0.0
		for k, x := range e.Vector {
			cosine += float64(query[k]) * float64(x)
		}
		fmt.Printf("%.3f %s\n", cosine, texts[e.Index])
	}
}

// Command search tells how near texts are to a query, the first of them. A text's vector is the
// mean of the model's hidden states, as gpt serve's embeddings are. GPT-2 was not trained for that:
// only the order of the cosines means something, and a model that was tuned on pairs does better.
//
//	go run ./examples/search
//	go run ./examples/search -m models/gpt2 'the query' 'a text' 'another text'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"slices"

	"picogpt"
	"picogpt/model"
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
	gpt, err := picogpt.OpenFS(context.Background(), files)
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		ids, err := gpt.Tokenizer().Encode(text)
		rows, m := make([][]float32, len(ids)), gpt.Model() // [tokens, n_embd]
		visit := func(r model.Row) { rows[r.Index] = slices.Clone(r.Hidden) }
		in := model.Input{Session: m.NewSession(), Tokens: ids, Visit: visit, NoLogits: true}
		if err := errors.Join(err, m.Eval(context.Background(), in)); err != nil {
			log.Fatalf("%q: %v", text, err)
		}
		vectors[i] = make([]float64, m.Config().Embd)
		for _, row := range rows {
			for k, x := range row {
				vectors[i][k] += float64(x)
			}
		}
		query, ab, aa, bb := vectors[0], 0.0, 0.0, 0.0
		for k, x := range vectors[i] {
			ab, aa, bb = ab+query[k]*x, aa+query[k]*query[k], bb+x*x
		}
		fmt.Printf("%.3f %s\n", ab/math.Sqrt(aa*bb), text)
	}
}

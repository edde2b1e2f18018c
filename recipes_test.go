package picogpt_test

// The recipes of docs/embedding.md, each an example whose output is compared.

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"strings"
	"sync"

	"picogpt"
	"picogpt/batch"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/search"
	"picogpt/weights/demo"
)

func openExample() *picogpt.GPT {
	gpt, err := picogpt.OpenFS(context.Background(), demo.FS(), picogpt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	return gpt
}

func ExampleOpenFS() {
	ctx := context.Background()
	gpt, err := picogpt.OpenFS(ctx, demo.FS(), picogpt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()

	fmt.Println(gpt.Model().Config().Layer, "layers")
	// Output: 4 layers
}

func ExampleConfig() {
	ctx := context.Background()
	c := picogpt.Config{
		Model:   model.Options{Threads: 2, Format: "q8", CacheBytes: 1 << 30},
		Batcher: batch.Options{MaxStreams: 8, PrefixBytes: 256 << 20},
	}
	gpt, err := picogpt.OpenFS(ctx, demo.FS(), c)
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()

	fmt.Println(gpt.Model().Format(), gpt.Model().Threads())
	// Output: q8 2
}

func ExampleSampling() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	o := picogpt.Sampling() // temperature 0.8, top-k 40
	o.MaxTokens, o.Seed, o.Stop = 60, 1, []string{"\n"}
	o.Bias = []sample.Bias{{Text: " Lily", Value: -100}}
	text, err := gpt.Complete(ctx, "Once upon a time", o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)

	// Output: there was a girl called Daisy. She was very excited because she had a surprise.
}

func ExampleGPT_Generate() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	for t, err := range gpt.Generate(ctx, "Once upon a time", picogpt.Options{Top: 2}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(t.Text) // also t.LogProb, the likeliest two in t.Top, and t.Finish in the last one
		if strings.Contains(t.Text, ".") {
			break
		}
	}

	// Output: , there was a little girl named Lily.
}

func ExampleGPT_Generate_cancel() {
	gpt := openExample()
	defer gpt.Close()

	ctx, cancel := context.WithCancel(context.Background()) // or a request's context
	defer cancel()
	endless, n := picogpt.Options{Overflow: decode.OverflowSlide, EndOfText: []int{}}, 0
	for _, err := range gpt.Generate(ctx, "Once upon a time", endless) {
		if errors.Is(err, context.Canceled) {
			fmt.Println("cancelled")
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if n++; n == 100 {
			cancel() // from anywhere
		}
	}

	// Output: cancelled
}

func ExampleGPT_Samples() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	o := picogpt.Sampling()
	o.MaxTokens, o.Seed = 8, 1
	texts := make([]string, 3)
	for t, err := range gpt.Samples(ctx, "Tom went to the", len(texts), o) {
		if err != nil {
			log.Fatal(err)
		}
		texts[t.Sample] += t.Text
	}
	for i, text := range texts {
		fmt.Printf("seed %d:%s\n", o.Seed+uint64(i), text)
	}

	// Output:
	// seed 1: zoo, looking up and saw that the
	// seed 2: park where he found. Tom said,
	// seed 3: park and the kids saw a huge tree
}

func ExampleGPT_NewChat() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	chat, err := gpt.NewChat("")
	if err != nil {
		log.Fatal(err)
	}
	var kept bytes.Buffer // or a file
	for _, line := range []string{"Lily had a red ball.", "Then her mom came."} {
		for t, err := range chat.Answer(ctx, line, picogpt.Options{MaxTokens: 8}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Print(t.Text)
		}
		fmt.Println()
		kept.Reset()
		if err := chat.Save(ctx, &kept); err != nil {
			log.Fatal(err)
		}
	}
	// In another run, or on another machine, the conversation goes on, and nothing is computed again.
	again, err := gpt.NewChat("")
	if err == nil {
		err = again.Restore(ctx, bytes.NewReader(kept.Bytes()), int64(kept.Len()))
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(again.Turns()), "turns, the first answer was", again.Turns()[0].Answer)

	// Output:
	// She liked to play with her ball.
	//  She saw her ball and said, "
	// 2 turns, the first answer was  She liked to play with her ball.
}

func ExampleGPT_Score() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	for _, text := range []string{"The cat sat on the mat.", "The mat sat on the cat."} {
		s, err := gpt.Score(ctx, text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f nats a token: %s\n", s.Mean, text)
	}

	// Output:
	// -4.57 nats a token: The cat sat on the mat.
	// -6.03 nats a token: The mat sat on the cat.
}

func ExampleGPT_Choose() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	labels := []string{" happy", " sad"}
	a, err := gpt.Choose(ctx, "Tom lost his ball. He was very", labels...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q %.2f\n", labels[a.Best], a.Probabilities[a.Best])

	// Output: " sad" 0.74
}

func ExampleGPT_Embed() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	v, err := gpt.Embed(ctx, "The dog ran home.", eval.EmbedOptions{Normalize: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d numbers, the first %.4f\n", len(v), v[0])

	// Output: 128 numbers, the first 0.0407
}

func ExampleGPT_Complete() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	vocabulary, err := constrain.VocabularyOf(gpt.Tokenizer(), gpt.Model().Config().EndTokens())
	if err != nil {
		log.Fatal(err)
	}
	form, err := constrain.Regex(vocabulary, ` [A-Z][a-z]+ and [A-Z][a-z]+[.]`)
	if err != nil {
		log.Fatal(err)
	}
	var o picogpt.Options
	if o.Constraint, err = form.Start(); err != nil {
		log.Fatal(err)
	}
	names, err := gpt.Complete(ctx, "The two friends were named", o)
	if err != nil {
		log.Fatal(err) // also if the text ended before it was of the form
	}
	fmt.Printf("%q\n", names)

	// Output: " Jack and Jack."
}

func ExampleGPT() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	prompts := []string{"The dog was", "Tom and Sue", "One day"}
	texts, errs := make([]string, len(prompts)), make([]error, len(prompts))
	var callers sync.WaitGroup
	for i, prompt := range prompts {
		callers.Go(func() { // their texts share one batch
			texts[i], errs[i] = gpt.Complete(ctx, prompt, picogpt.Options{MaxTokens: 6})
		})
	}
	callers.Wait()
	if err := errors.Join(errs...); err != nil {
		log.Fatal(err)
	}
	for i, text := range texts {
		fmt.Printf("%s|%s\n", prompts[i], text)
	}

	// Output:
	// The dog was| very happy and he was so
	// Tom and Sue| are happy. They are friends
	// One day|, a little girl named Lily
}

// A folder of the program's own, compiled into it.
//
//go:embed checkpoint/testdata/formats/hf
var files embed.FS

func ExampleOpenFS_embed() {
	ctx := context.Background()
	folder, err := fs.Sub(files, "checkpoint/testdata/formats/hf")
	if err != nil {
		log.Fatal(err)
	}
	gpt, err := picogpt.OpenFS(ctx, folder, picogpt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()

	fmt.Println(gpt.Model().Config().Layer, "layers")
	// Output: 2 layers
}

func ExampleGPT_Model() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	ids, err := gpt.Tokenizer().Encode("Once upon a time")
	if err != nil {
		log.Fatal(err)
	}
	o := decode.Options{MaxTokens: 6, Vocabulary: gpt.Tokenizer()}
	beams := search.BeamOptions{Beams: 4, Return: 2, LengthPenalty: 1}
	best, err := search.Beams(ctx, gpt.Model().NewSession(), ids, beams, o)
	if err != nil {
		log.Fatal(err)
	}
	for _, beam := range best {
		fmt.Printf("%.3f%s\n", beam.Score, beam.Text())
	}

	// Output:
	// -0.207, there was a little girl
	// -0.443, there was a little boy
}

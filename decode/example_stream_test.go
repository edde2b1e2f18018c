package decode_test

// Many texts at a time, in a program's own loop.

import (
	"context"
	"fmt"
	"log"

	"picogpt/decode"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A loop of the program's own: two streams in one Eval, one of which began earlier.
func ExampleStream() {
	m := loadDemo()
	defer m.Close()
	tok := tokenizer.GPT2()
	var streams [2]*decode.Stream
	var texts [2]string
	for i, prompt := range []string{"The dog was very", "Once upon a time"} {
		o := decode.Options{Vocabulary: tok, MaxTokens: 6 + 3*i}
		st, err := decode.NewStream(m.NewSession(), encode(tok, prompt), o)
		if err != nil {
			log.Fatal(err)
		}
		defer st.Stop()
		streams[i], texts[i] = st, prompt
	}
	for !streams[0].Done() || !streams[1].Done() {
		var batch []model.Input
		for _, st := range streams {
			if in, ok := st.Input(0); ok {
				batch = append(batch, in)
			}
		}
		if err := m.Eval(context.Background(), batch...); err != nil {
			log.Fatal(err)
		}
		for i, st := range streams {
			t, _, err := st.Next()
			if err != nil {
				log.Fatal(err)
			}
			texts[i] += t.Text
		}
	}
	fmt.Printf("%s\n%s\n", texts[0], texts[1])
	// Output:
	// The dog was very happy and he was so happy
	// Once upon a time, there was a little girl named Lily.
}

package tokenizer_test

import (
	"fmt"
	"iter"

	"picogpt/tokenizer"
)

func ExampleTokenizer() {
	tok := tokenizer.GPT2()
	ids, err := tok.Encode("Hello world<|endoftext|>")
	fmt.Println(ids, err)
	fmt.Println(tok.WithSpecial().Encode("Hello world<|endoftext|>"))
	text, err := tok.Decode(ids)
	fmt.Println(text, err)
	// Output:
	// [15496 995 27 91 437 1659 5239 91 29] <nil>
	// [15496 995 50256] <nil>
	// Hello world<|endoftext|> <nil>
}

func ExampleTokenizer_Stream() {
	tok := tokenizer.GPT2()
	ids, _ := tok.Encode("a 🦙!") // the llama is four tokens
	var generated iter.Seq2[int, error] = func(yield func(int, error) bool) {
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}
	for text, err := range tok.Stream(generated) {
		fmt.Printf("%q %v\n", text, err)
	}
	// Output:
	// "a" <nil>
	// " " <nil>
	// "🦙" <nil>
	// "!" <nil>
}

func ExampleTokenizer_EncodeSpans() {
	text := "tokens have offsets"
	ids, spans, err := tokenizer.GPT2().EncodeSpans(text)
	if err != nil {
		panic(err)
	}
	for i, s := range spans {
		fmt.Printf("%d: %d to %d, %q\n", ids[i], s.Start, s.End, text[s.Start:s.End])
	}
	// Output:
	// 83: 0 to 1, "t"
	// 482: 1 to 3, "ok"
	// 641: 3 to 6, "ens"
	// 423: 6 to 11, " have"
	// 49005: 11 to 19, " offsets"
}

package tokenizer_test

import (
	"fmt"
	"iter"

	"picogpt/tokenizer"
)

func ExampleTokenizer_Encode() {
	tok := tokenizer.GPT2()
	ids := tok.Encode("Hello world<|endoftext|>")
	fmt.Println(ids)
	fmt.Println(tok.EncodeSpecial("Hello world<|endoftext|>"))
	text, err := tok.Decode(ids)
	fmt.Println(text, err)
	// Output:
	// [15496 995 27 91 437 1659 5239 91 29]
	// [15496 995 50256]
	// Hello world<|endoftext|> <nil>
}

func ExampleTokenizer_Stream() {
	tok := tokenizer.GPT2()
	ids := tok.Encode("a 🦙!") // the llama is four tokens
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

func ExampleTokenizer_Bytes() {
	tok := tokenizer.GPT2()
	offset := 0
	for _, id := range tok.Encode("tokens have offsets") {
		token, _ := tok.Bytes(id)
		fmt.Printf("%d %q\n", offset, token)
		offset += len(token)
	}
	// Output:
	// 0 "t"
	// 1 "ok"
	// 3 "ens"
	// 6 " have"
	// 11 " offsets"
}

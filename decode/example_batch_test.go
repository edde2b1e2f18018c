package decode_test

// Many texts at a time: a Batcher behind HTTP, and a loop of one's own.

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"

	"picogpt/decode"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A web service: each request joins the batch, is written as its tokens come, and leaves the batch
// when its client does.
func ExampleBatcher() {
	m := loadDemo()
	defer m.Close()
	tok := tokenizer.GPT2()
	b := decode.NewBatcher(m, decode.BatcherOptions{})
	defer b.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prompt, err := tok.Encode(r.FormValue("prompt"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o := decode.Options{Vocabulary: tok, MaxTokens: 12}
		for t, err := range b.Generate(r.Context(), prompt, o) {
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			io.WriteString(w, t.Text)
			http.NewResponseController(w).Flush()
		}
	}))
	defer server.Close()

	prompts := []string{"The dog was very", "Tom and Sue", "Once upon a time"}
	texts := make([]string, len(prompts))
	var users sync.WaitGroup
	for i, prompt := range prompts {
		users.Go(func() {
			answer, err := http.PostForm(server.URL, url.Values{"prompt": {prompt}})
			if err != nil {
				log.Fatal(err)
			}
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			texts[i] = string(text)
		})
	}
	users.Wait()
	for i, prompt := range prompts {
		fmt.Printf("%s|%s\n", prompt, texts[i])
	}
	// Output:
	// The dog was very| happy and he was so happy. He thanked the dog for
	// Tom and Sue| are happy. They are friends. They are friends.
	// Once upon a time|, there was a little girl named Lily. She loved to
}

// A loop of one's own: two streams in one Eval, one of which began earlier.
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

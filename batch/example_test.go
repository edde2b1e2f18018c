package batch_test

// A Batcher behind HTTP.

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"

	"picogpt/batch"
	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// A web service: each request joins the batch, is written as its tokens come, and leaves the batch
// when its client does.
func ExampleBatcher() {
	ck, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{}) // Open takes a folder
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.New(context.Background(), ck.Config, ck.Tensors, model.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	tok := tokenizer.GPT2()
	b := batch.New(m, batch.Options{})
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

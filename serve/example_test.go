package serve_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"picogpt/checkpoint"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/weights/demo"
)

// A program mounts the server beside its other handlers.
func ExampleServer() {
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	m, err := model.New(context.Background(), c.Config, c.Tensors, model.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	tok, err := c.Tokenizer()
	if err != nil {
		log.Fatal(err)
	}
	s, err := serve.New(m, tok, serve.Options{Name: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	mux := http.NewServeMux()
	mux.Handle("/gpt/", http.StripPrefix("/gpt", s))

	listener := httptest.NewServer(mux) // http.ListenAndServe("127.0.0.1:8080", mux)
	defer listener.Close()
	answer, err := http.Post(listener.URL+"/gpt/v1/completions", "application/json",
		strings.NewReader(`{"prompt":"Once upon a time","max_tokens":6,"temperature":0}`))
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	_, text2, _ := strings.Cut(string(text), `"text":"`)
	fmt.Println(text2[:strings.IndexByte(text2, '"')])
	// Output: , there was a little girl
}

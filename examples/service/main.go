// Command service streams texts over HTTP, all of them in one batch. Each ends with its client.
//
//	go run ./examples/service
//	curl -N '127.0.0.1:8080/?prompt=Once+upon+a+time'
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"picogpt"
	"picogpt/weights/demo"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	gpt, err := picogpt.OpenFS(ctx, demo.FS(), picogpt.Config{}) // or Open(ctx, "models/gpt2", …)
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	http.Handle("GET /{$}", service{gpt})
	server := http.Server{ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); ctx.Err() == nil {
		log.Fatal(err)
	}
}

type service struct{ gpt *picogpt.GPT }

func (s service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o, client := picogpt.Sampling(), http.NewResponseController(w)
	o.MaxTokens, o.Overflow = 100, "truncate"
	for t, err := range s.gpt.Generate(r.Context(), r.FormValue("prompt"), o) {
		if err != nil {
			panic(http.ErrAbortHandler) // the client sees that its text is not complete
		}
		if _, err := io.WriteString(w, t.Text); err != nil || client.Flush() != nil {
			return // the client has gone
		}
	}
}

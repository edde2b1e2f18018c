package serve_test

// The cost of streaming a token, beside its computation.

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
)

// A counting listener counts the writes to its connections.
type counting struct {
	net.Listener
	writes *atomic.Int64
}

func (l counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.writes}, err
}

type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// streamed streams n tokens to a client that reads them, and returns the number of writes.
func streamed(t testing.TB, n int) int64 {
	s, err := serve.New(testmodel.Demo(t, model.Options{Threads: 1}), tokenizer.GPT2(), serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.AddStream("/stream", n)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	server := &http.Server{Handler: s}
	go server.Serve(counting{l, &writes})
	defer server.Close()
	if b, ok := t.(*testing.B); ok {
		b.ResetTimer()
	}
	r, err := http.Get("http://" + l.Addr().String() + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Fatal(err)
	}
	if b, ok := t.(*testing.B); ok {
		b.StopTimer()
	}
	return writes.Load()
}

func TestAStreamedTokenIsOneWrite(t *testing.T) {
	if got := streamed(t, 100); got < 100 || got > 103 { // the last line, and the end of the body
		t.Errorf("%d writes for 100 tokens", got)
	}
}

// BenchmarkAStreamedToken measures a token's event from the handler to a client on this machine,
// which reads it.
func BenchmarkAStreamedToken(b *testing.B) { streamed(b, b.N) }

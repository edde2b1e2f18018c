package serve_test

// Bodies that come slowly, in part or in vain, over connections of memory and a clock of the test.

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
)

// A pipes is a server whose connections are pipes, in a bubble of synctest.
type pipes struct {
	t      *testing.T
	server *serve.Server
	conns  chan net.Conn
	closed chan struct{}
}

// inPipes calls f with a server, in a bubble: time passes when all goroutines wait.
func inPipes(t *testing.T, o serve.Options, f func(t *testing.T, p *pipes)) {
	t.Helper()
	m := testmodel.Demo(t, model.Options{Threads: 1})
	synctest.Test(t, func(t *testing.T) {
		s, err := serve.New(m, tokenizer.GPT2(), behind(o))
		if err != nil {
			t.Fatal(err)
		}
		p := &pipes{t: t, server: s, conns: make(chan net.Conn), closed: make(chan struct{})}
		h := &http.Server{Handler: s}
		go h.Serve(p)
		f(t, p)
		h.Close()
		s.Close()
		if n := s.Bodies(); n != 0 {
			t.Errorf("%d bytes are held", n)
		}
	})
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// A remote is a connection whose server sees an address of TCP. close closes its half for writing.
type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9} }

// An exchange is a client's side of a connection. What the server sends is read as it comes.
type exchange struct {
	net.Conn
	mu     sync.Mutex
	answer bytes.Buffer
	ended  chan struct{} // the server has closed the connection
	first  time.Time     // when the answer began
}

func (p *pipes) dial() *exchange {
	client, server := net.Pipe()
	e := &exchange{Conn: client, ended: make(chan struct{})}
	p.conns <- remote{server}
	go func() {
		defer close(e.ended)
		for b := make([]byte, 4096); ; {
			n, err := client.Read(b)
			e.mu.Lock()
			if e.answer.Len() == 0 {
				e.first = time.Now()
			}
			e.answer.Write(b[:n])
			e.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return e
}

// status returns the status of the answer so far, and its body: 0 if none has come.
func (e *exchange) status() (int, string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(e.answer.Bytes())), nil)
	if err != nil {
		return 0, ""
	}
	text, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(text)
}

// post begins a request with a body of so many bytes.
func (e *exchange) post(path, address string, length int, header ...string) {
	fmt.Fprintf(e, "POST %s HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Length: %d\r\n%s\r\n",
		path, address, length, strings.Join(header, ""))
}

func TestABodyComesAtAPace(t *testing.T) {
	for _, x := range []struct {
		about  string
		pieces []int // bytes that come at once, a second between them
		again  int   // how often the last piece is repeated
		status int
		after  int // seconds until the answer
	}{
		{"at once", []int{20000}, 0, 200, 0},
		{"2 kB/s, for longer than a minute", []int{2000}, 89, 200, 89},
		{"1 kB/s", []int{1000}, 69, 200, 69},
		{"800 B/s", []int{800}, 99, 408, 10},
		{"nothing", []int{0}, 99, 408, 10},
		{"5,000 bytes and no more", []int{5000, 0}, 99, 408, 10},
		{"a fast beginning, then nothing", []int{90000, 0}, 99, 408, 10},
		{"a fast beginning, then 500 B/s", []int{90000, 500}, 99, 408, 20},
		{"nothing for 9 s", []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 20000}, 0, 200, 9},
	} {
		inPipes(t, serve.Options{}, func(t *testing.T, p *pipes) {
			pieces := x.pieces
			for range x.again {
				pieces = append(pieces, pieces[len(pieces)-1])
			}
			length := 0
			for _, n := range pieces {
				length += n
			}
			const begin, end = `{"tokens":[1`, "]}"
			if x.status != 200 {
				length += 5000 // the rest never comes
			}
			body := begin + strings.Repeat(" ", max(0, length-len(begin)-len(end))) + end
			e, start := p.dial(), time.Now()
			e.post("/detokenize", "192.0.2.1", length)
			for i, n := range pieces {
				if i > 0 {
					time.Sleep(time.Second)
				}
				if synctest.Wait(); x.status != 200 {
					if got, _ := e.status(); got != 0 {
						break
					}
				}
				if n > 0 {
					io.WriteString(e, body[:n])
				}
				body = body[n:]
			}
			synctest.Wait()
			got, text := e.status()
			if took := e.first.Sub(start).Round(time.Second); got != x.status ||
				took != time.Duration(x.after)*time.Second {
				t.Errorf("%s: status %d after %v, want %d after %d s: %s", x.about, got, took,
					x.status, x.after, text)
			}
			e.Close()
		})
	}
}

// TestLargeUploadsMakeRoom: clients that fill the memory for bodies, and stall, keep no others out.
func TestLargeUploadsMakeRoom(t *testing.T) {
	const most = 1 << 20 // of a body: two have room
	inPipes(t, serve.Options{MaxBody: most}, func(t *testing.T, p *pipes) {
		var stalled []*exchange
		for i, address := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2"} {
			e := p.dial()
			e.post("/tokenize", address, most)
			io.WriteString(e, strings.Repeat(" ", most-100))
			synctest.Wait()
			stalled = append(stalled, e)
			if n := p.server.Bodies(); i > 0 && n < 2*most*9/10 || n > 2*most {
				t.Errorf("%d bytes are held, want nearly %d", n, 2*most)
			}
		}
		if got, text := stalled[1].status(); got != 429 {
			t.Errorf("the newest of the client with two: status %d, want 429: %s", got, text)
		}
		for range 5 {
			e := p.dial()
			body := `{"prompt":"` + strings.Repeat("a ", 35000) + `"}`
			e.post("/tokenize", "192.0.2.9", len(body))
			io.WriteString(e, body)
			synctest.Wait()
			if got, text := e.status(); got != 200 {
				t.Errorf("a body of 70 kB: status %d: %s", got, text)
			}
			e.Close()
		}
		if got, _ := stalled[0].status(); got != 0 {
			t.Errorf("an upload that nobody needs to give way: status %d", got)
		}
		time.Sleep(20 * time.Second)
		if got, _ := stalled[0].status(); got != 408 {
			t.Errorf("the last that stalls: status %d, want 408", got)
		}
	})
}

// TestABodyThatDoesNotComeIsGivenUp, and is in nobody's way until then.
func TestABodyThatDoesNotComeIsGivenUp(t *testing.T) {
	inPipes(t, serve.Options{MaxBody: 32 << 20}, func(t *testing.T, p *pipes) {
		var all []*exchange
		for range 20 {
			e := p.dial()
			e.post("/v1/completions", "192.0.2.1", 32<<20)
			io.WriteString(e, strings.Repeat("[", 5000))
			all = append(all, e)
		}
		polite := p.dial()
		const body = `{"prompt":"Lily"}`
		polite.post("/tokenize", "192.0.2.1", len(body))
		io.WriteString(polite, body)
		synctest.Wait()
		if got, text := polite.status(); got != 200 {
			t.Errorf("meanwhile: status %d: %s", got, text)
		}
		polite.Close()
		time.Sleep(20 * time.Second)
		for _, e := range all {
			if got, text := e.status(); got != 408 || !strings.Contains(text, "body_too_slow") {
				t.Errorf("half a body: status %d: %s", got, text)
			}
		}
	})
}

// TestABodyThatIsRefusedIsTaken so that the refusal arrives: from a pipe that holds no byte.
func TestABodyThatIsRefusedIsTaken(t *testing.T) {
	for _, x := range []struct {
		path   string
		length int // of the body, of which sent come
		sent   int
		key    string
		status int
		after  time.Duration // of the connection's end; 0: it stays
	}{
		{"/v1/completions", 900 << 10, 900 << 10, "none", 401, time.Second},
		{"/v1/completions", 900, 900, "none", 401, 0},
		{"/nowhere", 200 << 10, 200 << 10, "k", 404, 0},
		{"/v1/completions", 200 << 10, 100 << 10, "none", 401, time.Second},
		{"/metrics", 900 << 10, 1, "k", 405, time.Second},
		{"/v1/completions", 30 << 20, 900 << 10, "k", 413, time.Second},
		{"/v1/completions", 30 << 20, 3 << 20, "k", 413, 0},
	} {
		inPipes(t, serve.Options{Keys: []string{"k"}}, func(t *testing.T, p *pipes) {
			e, start := p.dial(), time.Now()
			e.post(x.path, "192.0.2.1", x.length, "Authorization: Bearer "+x.key+"\r\n")
			n, err := e.Write(make([]byte, x.sent))
			if n < min(x.sent, 1<<20) {
				t.Errorf("%s: %d bytes of %d were taken: %v", x.path, n, x.sent, err)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got, text := e.status(); got != x.status || e.first.Sub(start) > time.Second {
				t.Errorf("%s: status %d after %v, want %d: %s", x.path, got, e.first.Sub(start),
					x.status, text)
			}
			ended := false
			select {
			case <-e.ended:
				ended = true
			default:
			}
			if ended != (x.after > 0 || x.sent > 1<<20) {
				t.Errorf("%s, %d of %d bytes: the connection has ended: %v", x.path, x.sent, x.length,
					ended)
			}
			e.Close()
		})
	}
}

// TestABodyThatWasAskedForIsTaken when it turns out to be too large: the client was told to send it,
// and would lose the refusal with the connection.
func TestABodyThatWasAskedForIsTaken(t *testing.T) {
	inPipes(t, serve.Options{MaxBody: 100 << 10}, func(t *testing.T, p *pipes) {
		e := p.dial()
		io.WriteString(e, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n")
		synctest.Wait()
		if got, _ := e.status(); got != 100 {
			t.Errorf("before the body: status %d, want 100", got)
		}
		body := fmt.Sprintf("%x\r\n%s\r\n", 900<<10, strings.Repeat(" ", 900<<10))
		if n, err := io.WriteString(e, body); err != nil {
			t.Errorf("%d bytes of %d were taken: %v", n, len(body), err)
		}
		time.Sleep(2 * time.Second) // until the server has closed the connection
		<-e.ended
		if _, then, _ := strings.Cut(e.answer.String(), "\r\n\r\n"); !strings.HasPrefix(then, "HTTP/1.1 413 ") {
			t.Errorf("after the body: %.300q", then)
		}
		e.Close()
	})
}

// Command page is the engine of the playground without a server, as WebAssembly: make page. It
// answers the page's requests with serve's own handler.
package main

// The engine, in a worker of the page. Calls from the worker's script, and to it:
//
//	engine.request(id, method, path, headers, body)   page.head(id, status, headers),
//	                                                  page.bytes(id, bytes), page.end(id, fault)
//	engine.stop(id)                                   a request that is not wanted any more
//	engine.open([{name, size, read(from, to)}, …])    page.opened(fault, said)

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall/js"
	"time"

	"picogpt/checkpoint"
	"picogpt/internal/chat"
	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/weights/demo"
)

var page = js.Global().Get("page") // what the worker's script lends

func main() {
	debug.SetGCPercent(25) // most of the memory is weights, of which there is no second set
	e := &engine{}
	e.use(demo.FS(), "", "demo")
	js.Global().Set("engine", map[string]any{"request": js.FuncOf(e.request),
		"stop": js.FuncOf(e.stop), "open": js.FuncOf(e.open)})
	page.Call("opened", "", "")
	select {}
}

// An engine has the model that answers. While another is opened, requests wait, and files too.
type engine struct {
	opening sync.RWMutex
	model   *model.Model
	server  *serve.Server
	stops   sync.Map // by the number of a request: its context.CancelFunc
}

// use makes the checkpoint in files the one that answers, in place of the one before, which is closed
// first: there may be no memory for both. id is its name from then on. It returns how long a token
// takes.
func (e *engine) use(files fs.FS, name, id string) (token time.Duration, err error) {
	c, err := openAlone(files, name)
	if err != nil {
		return 0, err
	}
	tok, err := c.Tokenizer()
	if err != nil {
		return 0, err
	}
	if e.server != nil {
		e.server.Close()
		e.model.Close()
		e.server, e.model = nil, nil
		debug.FreeOSMemory()
	}
	// Floats are held as F32, for which a browser has the fastest kernels: the bits are the same.
	ctx := context.Background()
	if e.model, err = model.New(ctx, c.Config, c.Tensors, model.Options{Format: "f32"}); err != nil {
		e.model, err = model.New(ctx, c.Config, c.Tensors, model.Options{})
	}
	if err != nil {
		return 0, err
	}
	o := serve.Options{Name: id}
	switch own, err := c.Template("default"); { // one that cannot be read refuses conversations
	case err == nil && own != nil:
		o.Template, o.TemplateJinja = own.Source, true
		o.TemplateTokens, _ = c.TemplateTokens()
	case err == nil:
		o.Template, o.TemplateNote = chat.Named[0].Source, chat.Untrained
	}
	if e.server, err = serve.New(e.model, tok, o); err != nil {
		return 0, err
	}
	s, start := e.model.NewSession(), time.Now()
	err = e.model.Eval(ctx, model.Input{Session: s, Tokens: []int{0}})
	return time.Since(start), err
}

// openAlone opens a checkpoint. Where no file says how many heads it has, and its width is that of one
// of GPT-2's sizes, it is that size.
func openAlone(files fs.FS, name string) (*checkpoint.Checkpoint, error) {
	c, err := checkpoint.OpenFS(files, name, checkpoint.Options{})
	for _, heads := range []int{12, 16, 20, 25} {
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if found, other := checkpoint.OpenFS(files, name, checkpoint.Options{Heads: heads}); other == nil {
			if found.Config.Embd == 64*heads {
				return found, nil
			}
			found.Close()
		}
	}
	return c, err
}

// open takes files of the reader's: weights, and beside them what they need. They are read here, and
// go nowhere else.
func (e *engine) open(_ js.Value, args []js.Value) any {
	given := args[0]
	go func() {
		e.opening.Lock()
		defer e.opening.Unlock()
		said, err := e.take(given)
		fault := ""
		if err != nil {
			fault = quote.OneLine(err)
			if e.server == nil { // the model before is gone
				e.use(demo.FS(), "", "demo")
			}
		}
		page.Call("opened", fault, said)
	}()
	return nil
}

// mostBytes is what the files may have together: WebAssembly has 4 GB of memory, in which a model and
// what is read of it must find room.
const mostBytes = 3 << 30

func (e *engine) take(given js.Value) (said string, err error) {
	files, name, sum := folder.Memory{}, "", 0
	for i := range given.Length() {
		file := given.Index(i)
		size := file.Get("size").Int()
		if sum += size; sum > mostBytes {
			return "", fmt.Errorf("%s: %s, want at most %s: a browser has no more memory for a page",
				file.Get("name").String(), quote.Size(int64(sum)), quote.Size(mostBytes))
		}
		b := make([]byte, size)
		for at := 0; at < size; at += 1 << 24 {
			end := min(size, at+1<<24)
			js.CopyBytesToGo(b[at:end], file.Call("read", at, end))
		}
		files[file.Get("name").String()] = b
		if weights := []string{".safetensors", ".gguf", ".bin", ".pt"}; name == "" ||
			slices.Contains(weights, path.Ext(file.Get("name").String())) {
			name = file.Get("name").String()
		}
	}
	id := strings.TrimSuffix(name, path.Ext(name))
	if len(files) > 1 {
		name = "" // they are a folder, in which the weights are found
	}
	token, err := e.use(files, name, id)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: want it too, dropped together with the weights", err)
	}
	return fmt.Sprintf("%s is open, on this machine only: a token takes about %.3g s.", id,
		token.Seconds()), err
}

// request answers a request of the page.
func (e *engine) request(_ js.Value, args []js.Value) any {
	id := args[0].Int()
	body := make([]byte, args[4].Length())
	js.CopyBytesToGo(body, args[4])
	ctx, stop := context.WithCancel(context.Background())
	e.stops.Store(id, stop)
	r, err := http.NewRequestWithContext(ctx, args[1].String(), args[2].String(), bytes.NewReader(body))
	if err != nil {
		panic(err) // the page asks for what there is
	}
	for i := range args[3].Length() {
		r.Header.Add(args[3].Index(i).Index(0).String(), args[3].Index(i).Index(1).String())
	}
	go func() {
		w := &answer{id: id, header: http.Header{}}
		defer func() {
			e.stops.Delete(id)
			stop()
			fault := ""
			if p := recover(); p != nil {
				fault = fmt.Sprint(p)
			}
			w.WriteHeader(http.StatusOK)
			page.Call("end", id, fault)
		}()
		e.opening.RLock()
		server := e.server
		e.opening.RUnlock() // a request ends where its server is closed
		server.ServeHTTP(w, r)
	}()
	return nil
}

func (e *engine) stop(_ js.Value, args []js.Value) any {
	if stop, ok := e.stops.Load(args[0].Int()); ok {
		stop.(context.CancelFunc)()
	}
	return nil
}

// An answer is a response that goes to the page, part after part.
type answer struct {
	id     int
	header http.Header
	sent   bool
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.sent {
		return
	}
	a.sent = true
	var all []any
	for name, values := range a.header {
		for _, value := range values {
			all = append(all, []any{name, value})
		}
	}
	page.Call("head", a.id, status, all)
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	array := js.Global().Get("Uint8Array").New(len(b))
	js.CopyBytesToJS(array, b)
	page.Call("bytes", a.id, array)
	return len(b), nil
}

// Flush implements http.Flusher: nothing is held back.
func (a *answer) Flush() {}

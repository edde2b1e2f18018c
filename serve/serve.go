// Package serve answers OpenAI's completions API over a model: an [http.Handler] that a program
// mounts. All requests share one [batch.Batcher].
//
// The types, in an order to read them:
//
//	Server      the handler, with its routes; it is made of Options, and behind a Gate before that
//	visit       one request: its answer, its ids, its line in the log
//	door        lets a request in: hosts, origins, keys; it says which client asks
//	field       reads one field, and tells its schema; a request is read by a table of them
//	completion  the fields of a request for texts
//	prompt      its tokens, and how many new ones may follow
//	job         a completion that is answered, whole or in events
//	choice      one of its texts; an answer is the JSON of several
//	form        a constraint on a text; forms compiles them, and keeps some
//	queue       the texts that wait; its backlog says for how long
//	shares      who has how much of what is bounded; turns say who computes next
//	metrics     what is counted, under vLLM's names
//
// What the model's Config.Generation says of sampling takes the place of the API's defaults; fields
// of a request outrank it. Clear its Sampling before the model is made to leave it.
//
// An answer with a seed depends on the request alone: it is the text that [decode.Generate] gives,
// whatever else the server does. Choice j of a prompt has the seed seed + j.
//
// The handler protects itself: it limits bodies, prompts and the queue, drops clients that write or
// read too slowly, and checks keys and origins. A program that other machines can reach should also
// set ReadHeaderTimeout of its [http.Server].
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"picogpt/batch"
	"picogpt/internal/chat"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/serve/internal/turns"
	"picogpt/serve/page"
	"picogpt/tokenizer"
)

// A Server is the HTTP handler. It is safe for concurrent use.
type Server struct {
	options    Options
	model      *model.Model
	vocabulary vocabulary
	ends       []int // the ids that end a text
	room       int   // tokens of the longest text: the context, or less if the cache is small
	batcher    *batch.Batcher
	adapters   *turns.Shelf[*model.Model]
	others     *turns.Shelf[opened]
	plain      *tokenizer.Tokenizer // reads special tokens in a text as text
	template   *chat.Template       // nil: conversations are refused
	calls      *chat.CallFormat     // of tools
	callsShown bool                 // the template shows it, or its name was given
	deaf       bool                 // the template drops or refuses what a tool says
	first      *completion          // the defaults of requests
	saved      map[string]any       // fields of those that the checkpoint gives
	forms      *forms
	metrics    *metrics
	encoding   *turns.Turns // turns of long texts
	searches   *turns.Turns // of searches, and of what is asked of the inside
	routes     map[string]route
	page       handler
	door       door
	queue      queue
	patience   patience
	bodies     shares
	answers    shares
	created    time.Time
	retired    atomic.Bool
	closing    context.Context // ended by Close, with the error that requests then have
	close      context.CancelCauseFunc
}

// patience is how long the server waits for clients.
type patience struct {
	body  time.Duration // for the next bytes of a body
	write time.Duration // for the client to receive one write
	wait  time.Duration // for the first token, until a stream sends its headers and a comment
	ping  time.Duration // without a byte, until it sends another comment
	drain time.Duration // for what is left of a body that is refused
}

// patient returns how long a server waits.
func patient() patience {
	return patience{body: 10 * time.Second, write: 30 * time.Second, wait: 3 * time.Second,
		ping: 15 * time.Second, drain: time.Second}
}

// New returns a Server of a model and its tokenizer, which the caller owns. Close the Server before
// the model. An error is about the options.
func New(m *model.Model, tok *tokenizer.Tokenizer, o Options) (*Server, error) {
	o = o.withDefaults(m.Config().Positions)
	if err := o.check(m, tok); err != nil {
		return nil, err
	}
	var err error
	var template *chat.Template
	if o.Template != "" || o.TemplateJinja {
		if template, err = chat.New(o.Template, o.TemplateJinja, tok); err != nil {
			return nil, fmt.Errorf("template: %w", err)
		}
		template.Know(o.TemplateTokens, m.Config().EndTokens())
	}
	s := &Server{
		template: template,
		options:  o, model: m, vocabulary: newVocabulary(tok), plain: tok,
		ends: m.Config().EndTokens(), page: show(page.Handler()),
		batcher: batch.New(m, o.Batcher), created: time.Now(),
	}
	if s.first, s.saved, err = defaultsOf(m.Config()); err != nil {
		return nil, err
	}
	s.calls, s.callsShown, err = chat.CallFormatOf(o.ToolFormat, o.Template)
	if err != nil {
		return nil, err
	}
	s.deaf = template != nil && template.Whole() && !template.Reads("tool_calls") &&
		!template.Hears("tool")
	s.room = cacheRoom(m)
	s.door = door{&s.options, newKeys(&s.options), http.NewCrossOriginProtection()}
	s.forms = newForms(s.vocabulary, s.ends, s.calls)
	s.queue.room = newShares(int64(o.MaxQueue + o.Batcher.MaxStreams))
	s.queue.backlog = backlog{most: o.MaxWait, slots: o.Batcher.MaxStreams,
		rate: func() float64 { return s.batcher.Stats().Rate }}
	s.bodies = newShares(bodiesAtOnce * o.MaxBody)
	s.answers = newShares(mostAnswers)
	s.patience = patient()
	s.encoding, s.searches = turns.New(), turns.New()
	s.adapters, s.others = s.shelve(), s.shelveModels()
	s.metrics = newMetrics(s)
	s.routes = s.table()
	s.closing, s.close = context.WithCancelCause(context.Background())
	return s, nil
}

// Close ends all requests with an error, and waits for the computations of the batch. A second
// Close does nothing.
func (s *Server) Close() error {
	s.queue.draining.Store(true)
	s.close(errDraining())
	s.adapters.Close() // what is loaded may be read from files that are closed next
	s.others.Close()
	for _, o := range s.others.Made() {
		o.Server.Close()
	}
	return s.batcher.Close()
}

// A handler answers one request. Its error becomes the answer, unless part of another has been
// sent.
type handler func(v *visit) error

// show returns the handler of what is not a handler of the server's own.
func show(h http.Handler) handler {
	return func(v *visit) error {
		h.ServeHTTP(v, v.request)
		return nil
	}
}

// A route is what answers the requests of a path.
type route struct {
	pattern string  // its name in metrics: the path, or what stands for many
	method  string  // the one that it has; GET also serves HEAD
	answer  handler // nil: there is no such path
	open    bool    // needs no key

	// for the document of the API
	fields        func() map[string]field // that a body may have; nil: it has none
	gives, events any                     // of the types of its answer and of a stream's events
	refused       bool                    // always: the model lacks what it needs
	probe         bool                    // is asked again and again by what watches the server
}

// other is the pattern of the paths that are not there.
const other = "other"

// table returns the routes by their paths. An http.ServeMux would have other answers: it redirects
// //health to /health, and says in text what it does not find.
func (s *Server) table() map[string]route {
	const get, post = http.MethodGet, http.MethodPost
	type fields = map[string]field
	status := map[string]string{}
	document := sync.OnceValue(s.document)
	routes := map[string]route{}
	for _, r := range []route{
		{pattern: "/v1/completions", method: post, answer: s.completions, gives: answer{},
			fields: func() fields { return s.newCompletion(s.first.MaxTokens).completionFields(s) },
			events: answer{}},
		{pattern: "/v1/chat/completions", method: post, answer: s.chat, gives: answer{},
			refused: s.template == nil,
			fields:  func() fields { return s.newCompletion(longestAnswer).chatFields(s) },
			events:  answer{}},
		{pattern: "/v1/responses", method: post, answer: s.responses, gives: response{},
			refused: s.template == nil,
			fields:  func() fields { return s.newCompletion(longestAnswer).responseFields(s) },
			events:  eventJSON{}},
		{pattern: "/v1/embeddings", method: post, answer: s.embeddings, gives: embeddings{},
			fields: func() fields { return new(embedding).fields(s) }},
		{pattern: "/classify", method: post, answer: s.classify, gives: classes{},
			refused: s.options.Head == nil || s.options.Head.PerToken,
			fields:  func() fields { return s.labelFields(new(prompts)) }},
		{pattern: "/v1/models", method: get, answer: s.models, gives: modelList{}},
		{pattern: oneModel, method: get, answer: s.oneModel, gives: aModel{}},
		{pattern: "/tokenize", method: post, answer: s.tokenize, gives: tokenized{},
			fields: func() fields { return new(tokenizing).fields(s) }},
		{pattern: "/detokenize", method: post, answer: s.detokenize, gives: detokenized{},
			fields: func() fields { return s.idsFields(new([]int)) }},
		{pattern: "/tokenizer_info", method: get, answer: s.tokenizerInfo, gives: map[string]any{}},
		{pattern: "/version", method: get, answer: s.version, gives: status},
		{pattern: "/health", method: get, answer: health, open: true, probe: true, gives: status},
		{pattern: "/ready", method: get, answer: s.ready, open: true, probe: true, gives: status},
		{pattern: "/metrics", method: get, answer: show(s.metrics.page), probe: true, gives: ""},
		{pattern: "/lora-adapters", method: get, answer: s.loraAdapters, gives: []loraJSON{}},
		{pattern: "/inside", method: post, answer: s.inside, gives: insideAnswer{},
			fields: func() fields { return new(look).fields(s) }},
		{pattern: "/openapi.json", method: get, gives: map[string]any{}, answer: func(v *visit) error {
			v.reply(http.StatusOK, document())
			return nil
		}},
	} {
		routes[r.pattern] = r
	}
	if s.options.NoInside {
		delete(routes, "/inside")
	}
	if len(s.options.Adapters) == 0 {
		delete(routes, "/lora-adapters")
	}
	return routes
}

// find returns the route of a path.
func (s *Server) find(path string) route {
	if found, ok := s.routes[path]; ok {
		return found
	}
	if id, ok := strings.CutPrefix(path, modelPath); ok && id != "" {
		return s.routes[oneModel]
	}
	if page.Has(path) {
		pattern := "/"
		if path != pattern {
			pattern = "/page/{file}"
		}
		return route{pattern: pattern, method: http.MethodGet, answer: s.page}
	}
	return route{pattern: other}
}

// methods lists the methods of a route.
func (r route) methods() string {
	switch r.method {
	case "":
		return "OPTIONS"
	case http.MethodGet:
		return "GET, HEAD, OPTIONS"
	}
	return r.method + ", OPTIONS"
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.visited(w, r, s.answer) }

// visited makes a visit of a request that answer answers.
func (s *Server) visited(w http.ResponseWriter, r *http.Request, answer handler) {
	v := newVisit(w, r, s.patience)
	if s.retired.Load() {
		v.Header().Set("Connection", "close")
	}
	v.client = s.options.clientOf(r)
	defer v.release()
	defer s.leave(v)
	err := answer(v)
	if v.body.release(); err != nil {
		v.fail(err)
	}
}

// answer finds the route of a request, and calls its handler.
func (s *Server) answer(v *visit) error {
	v.route = s.find(v.request.URL.Path)
	if done, err := s.door.admit(v); done || err != nil {
		return err
	}
	v.tenant = s.tenant(v.client)
	v.endWith(s.closing)
	return s.dispatch(v)
}

// dispatch calls the handler that a visit's route has for the request's method.
func (s *Server) dispatch(v *visit) error {
	found, method := v.route, v.request.Method
	switch {
	case found.answer == nil:
		return errorf(http.StatusNotFound, "", "%s: no such path", v.path())
	case method == found.method && found.fields != nil && len(s.options.Models) > 0:
		return s.dispatchByModel(v)
	case method == found.method, method == http.MethodHead && found.method == http.MethodGet:
		return found.answer(v)
	}
	v.Header().Set("Allow", found.methods())
	return errorf(http.StatusMethodNotAllowed, "", "method %s: want %s for %s",
		quote.Plain(method, 20), found.methods(), v.path())
}

// leave ends a visit. A panic ends this request only.
func (s *Server) leave(v *visit) {
	defer s.end(v) // also if the answer is aborted
	p := recover()
	v.body.release()
	switch p {
	case nil:
	case http.ErrAbortHandler:
		panic(p)
	default:
		s.options.Log.Error("panic", "request", v.name, "panic", fmt.Sprint(p),
			"stack", string(debug.Stack()))
		v.fail(errors.New("panic"))
	}
}

// end logs a visit, and ends it.
func (s *Server) end(v *visit) {
	to := cmp.Or(v.server, s)
	to.metrics.answers.WithLabelValues(v.route.pattern, strconv.Itoa(v.status)).Inc()
	if v.note.prompts > 0 { // probes and files would hide what texts take
		to.metrics.whole.Observe(time.Since(v.start).Seconds())
	}
	if v.note.firstToken > 0 {
		to.metrics.firstToken.Observe(v.note.firstToken.Seconds())
	}
	v.note.model = to.nameOf(v.adapter)
	v.log(s.options.Log)
}

// A Gate is the handler of a listener whose Server is still being made, while the model is loaded:
// /health is 200, and all else 503 with Retry-After. From Open on it is the Server. The zero value
// is ready.
type Gate struct {
	Log *slog.Logger // as Options.Log; nil means no log

	server atomic.Pointer[Server]
}

// Open makes s answer.
func (g *Gate) Open(s *Server) { g.server.Store(s) }

func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := g.server.Load(); s != nil {
		s.ServeHTTP(w, r)
		return
	}
	g.refuse(w, r, r.URL.Path == "/health")
}

// Metrics returns the handler of Server.Metrics, before Open that of a server without any.
func (g *Gate) Metrics(loopback bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s := g.server.Load(); s != nil {
			s.Metrics(loopback).ServeHTTP(w, r)
			return
		}
		g.refuse(w, r, false)
	})
}

// refuse answers while there is no Server: asks says that the request is whether the process lives.
// It does not read the body.
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, asks bool) {
	v := newVisit(w, r, patient())
	defer v.release()
	if asks && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		v.route.probe = true
		health(v)
	} else {
		v.route.probe = r.URL.Path == "/ready" || r.URL.Path == "/metrics"
		v.fail(errorf(http.StatusServiceUnavailable, "loading", "the model is being loaded"))
	}
	if g.Log != nil {
		v.log(g.Log)
	}
}

// Metrics returns the handler of a listener of its own, for those who watch the server: /metrics,
// without a key, and nothing else. loopback says that it listens on a loopback address; it then
// checks a request's Host, as Options.Loopback does.
func (s *Server) Metrics(loopback bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.visited(w, r, func(v *visit) error {
			if r.URL.Path == "/metrics" {
				v.route = s.routes["/metrics"]
			}
			if loopback && !s.door.knows(r.Host) {
				return errUnknownHost()
			}
			return s.dispatch(v)
		})
	})
}

// Retire makes /ready say that the server accepts no requests, so that balancers look for another.
// Until they have found one, requests are answered as before, each on a connection that ends with
// its answer.
func (s *Server) Retire() { s.retired.Store(true) }

// Drain makes the server refuse new requests, and /ready report that. Requests in progress end as
// usual.
func (s *Server) Drain() {
	s.queue.draining.Store(true)
	for _, o := range s.others.Made() {
		o.Drain()
	}
}

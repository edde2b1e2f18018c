package serve

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"picogpt/batch"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/serve/internal/turns"
)

// Internals that tests use from outside.

// AppendLogProb appends a log-probability as answers have it.
func AppendLogProb(b []byte, x float64) []byte { return append(b, encode(logProb(x))...) }

// SetPatience makes the server wait less for clients.
func (s *Server) SetPatience(body, write, ping time.Duration) {
	s.patience = patience{body: body, write: write, wait: ping, ping: ping, drain: min(body, time.Second)}
}

// AddRoute makes a path call f.
func (s *Server) AddRoute(path string, f func()) {
	s.routes[path] = route{method: "GET", answer: func(v *visit) error { f(); return nil }, pattern: path}
}

// PrefixHits returns how many tokens of prompts were found in the cache.
func (s *Server) PrefixHits() int { return int(s.batcher.Stats().PrefixHits) }

// Waiting returns how many texts have room in the queue.
func (s *Server) Waiting() int { return int(s.queue.texts.Load()) }

// Bodies returns how many bytes of bodies are held.
func (s *Server) Bodies() int64 { return s.bodies.total() }

// total returns the sum of all shares.
func (s *shares) total() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum
}

// KeptForms is how many compiled forms the cache holds at most.
const KeptForms = keptForms

var ofDemo struct {
	once       sync.Once
	vocabulary func() (*constrain.Vocabulary, error)
}

// ShareVocabulary makes servers of the demo prepare its vocabulary for forms once for all.
func (s *Server) ShareVocabulary() {
	ofDemo.once.Do(func() { ofDemo.vocabulary = s.forms.vocabulary })
	s.forms.vocabulary = ofDemo.vocabulary
}

// Forms returns how many forms the cache holds.
func (s *Server) Forms() int {
	s.forms.mu.Lock()
	defer s.forms.mu.Unlock()
	return len(s.forms.known)
}

// AddStream makes a path stream n tokens that cost no computation.
func (s *Server) AddStream(path string, n int) {
	s.routes[path] = route{method: "GET", answer: func(v *visit) error {
		j := &job{completion: newCompletion(), server: s, visit: v}
		j.stream, j.prompt = true, prompts{{}}
		e, c := &events{job: j}, j.newChoice(&j.prompt[0], 0)
		for range n {
			t := decode.Token{Text: " word"}
			c.add(j, &t)
			if err := e.took(c, &t); err != nil {
				return err
			}
		}
		return e.end()
	}}
}

// TakeTurn takes the turn of long texts, until giveBack is called.
func (s *Server) TakeTurn() (giveBack func()) { return take(s.encoding) }

// TakeFormTurn takes the turn of forms that are compiled, until giveBack is called.
func (s *Server) TakeFormTurn() (giveBack func()) { return take(s.forms.turns) }

func take(q *turns.Turns) (giveBack func()) {
	t, err := q.Enter(context.Background(), "the test", 0)
	if err != nil {
		panic(err)
	}
	return func() { q.Leave(t) }
}

// TakeSearchTurn takes the turn of searches, until giveBack is called.
func (s *Server) TakeSearchTurn() (giveBack func()) { return take(s.searches) }

// SearchTurns returns how many turns searches have had.
func (s *Server) SearchTurns() int {
	return s.searches.Clock()
}

// Steps returns how many steps the batch has made.
func (s *Server) Steps() int { return int(s.batcher.Stats().Steps) }

// Decisives returns the paths of the fields that decide what an answer is.
func Decisives() []string { return slices.Sorted(maps.Keys(decisives())) }

// Off returns the values of a decisive field that ask for nothing.
func Off(path string) []string { return strings.Fields(decisives()[path].off) }

// SetRate says how many tokens a second the batch makes.
func (s *Server) SetRate(perSecond float64) {
	s.queue.backlog.mu.Lock()
	defer s.queue.backlog.mu.Unlock()
	s.queue.backlog.rate = func() float64 { return perSecond }
}

// Rate returns how many tokens a second the batch has made.
func (s *Server) Rate() float64 { return s.batcher.Stats().Rate }

// Occupy takes a slot of the batch, until leave is called.
func (s *Server) Occupy() (leave func()) {
	begun, ends := make(chan struct{}), make(chan struct{})
	go func() {
		for range s.batcher.Run(context.Background(), batch.Request{Prompt: []int{1},
			Options: decode.Options{MaxTokens: 200, EndOfText: []int{}}}) {
			close(begun)
			<-ends
			break
		}
	}()
	<-begun
	return func() { close(ends) }
}

// Backlog returns how many requests the backlog has.
func (s *Server) Backlog() int {
	s.queue.backlog.mu.Lock()
	defer s.queue.backlog.mu.Unlock()
	return len(s.queue.backlog.places)
}

// Told reports whether /openapi.json says that a path may have an answer of a status, or says
// nothing of the path.
func (s *Server) Told(path, method string, status int) bool {
	r := s.find(path)
	return r.gives == nil || r.refused || status < 400 || method == http.MethodOptions ||
		slices.Contains(s.failures(r), status)
}

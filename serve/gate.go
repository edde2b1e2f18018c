package serve

// What is answered before there is a Server, and on a listener of its own for metrics.

import (
	"log/slog"
	"net/http"
	"sync/atomic"
)

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
	switch path := r.URL.Path; {
	case asks && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		v.route.probe = true
		healthy(v)
	default:
		v.route.probe = path == "/ready" || path == "/metrics"
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
	found := s.routes["/metrics"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.visited(w, r, func(v *visit) error {
			known := r.URL.Path == found.pattern
			if known {
				v.route = found
			}
			if loopback && !s.door.knows(r.Host) {
				return errUnknownHost()
			}
			return s.dispatch(v, found, known)
		})
	})
}

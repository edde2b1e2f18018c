package serve

// /health and /ready: whether the server is alive, and whether it accepts requests; /version.

import "net/http"

func (s *Server) health(v *visit) error {
	healthy(v)
	return nil
}

func healthy(v *visit) { v.reply(http.StatusOK, []byte(`{"status":"ok"}`)) }

// ready answers load balancers: 503 once the end has begun.
func (s *Server) ready(v *visit) error {
	if s.queue.draining.Load() || s.retired.Load() {
		return errDraining()
	}
	v.reply(http.StatusOK, []byte(`{"status":"ready"}`))
	return nil
}

// Retire makes /ready say that the server accepts no requests, so that balancers look for another.
// Until they have found one, requests are answered as before, each on a connection that ends with
// its answer.
func (s *Server) Retire() { s.retired.Store(true) }

// Drain makes the server refuse new requests, and /ready report that. Requests in progress end as
// usual.
func (s *Server) Drain() { s.queue.drain() }

// version answers as vLLM does.
func (s *Server) version(v *visit) error {
	return v.replyJSON(map[string]string{"version": s.options.Version})
}

package serve

// /health and /ready: whether the server is alive, and whether it accepts requests.

import "net/http"

func (s *Server) health(v *visit) error {
	v.reply(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

// ready answers load balancers: 503 once a shutdown has begun.
func (s *Server) ready(v *visit) error {
	if s.queue.draining.Load() {
		return errDraining()
	}
	v.reply(http.StatusOK, []byte(`{"status":"ready"}`))
	return nil
}

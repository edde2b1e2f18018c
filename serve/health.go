package serve

// Whether the server lives, and whether it takes requests.

import "net/http"

func (s *Server) health(v *visit) error {
	v.reply(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

// ready is for balancers: 503 from the beginning of a shutdown on.
func (s *Server) ready(v *visit) error {
	if _, draining := s.queue.state(); draining {
		return errDraining()
	}
	v.reply(http.StatusOK, []byte(`{"status":"ready"}`))
	return nil
}

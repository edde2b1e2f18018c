// Package page is the playground: a page, compiled in, that talks to the server it comes from.
package page

import "net/http"

// Has reports whether path is one of the page's.
func Has(path string) bool { return path == "/" }

// Handler serves the page and what it needs.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte("gpt serve: POST /v1/completions\n"))
	})
}

// Package page is the playground: a web page, compiled in, that uses the API of the server that
// serves it. The page is plain HTML, CSS and JavaScript modules, in the folder assets. It requests
// nothing from other hosts, and calls the API by addresses relative to its own.
package page

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"picogpt/internal/webparts"
)

// Policy is the page's Content-Security-Policy: its own scripts, styles and icon, none of them inline,
// and no other host.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

// folder is the path of everything but the page itself.
const folder = "/page/"

// kinds holds the media types by extension, whatever the machine's own table says.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml; charset=utf-8",
}

// Has reports whether path is one of the page's.
func Has(path string) bool {
	_, _, found := read(path)
	return found
}

// Handler serves the page at /, its files under /page/, and its icon also as /favicon.ico. Browsers may cache them, and check by
// ETag whether they have changed.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, data, found := read(r.URL.Path)
		if !found {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", kinds[path.Ext(name)])
		h.Set("Content-Security-Policy", Policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(data)))
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	})
}

// read returns the file of a path.
func read(path string) (name string, data []byte, found bool) {
	name, inside := strings.CutPrefix(path, folder)
	switch {
	case path == "/":
		name = "index.html"
	case path == "/favicon.ico": // of browsers that show another path of the server
		name = "icon.svg"
	case !inside || name == "index.html":
		return "", nil, false
	}
	if shared, ok := webparts.Files()[name]; ok {
		return name, []byte(shared), true
	}
	data, err := assets.ReadFile("assets/" + name)
	return name, data, err == nil
}

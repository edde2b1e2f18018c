// Package page is the playground: a page, compiled in, that talks to the server it comes from. It
// is plain HTML, CSS and JavaScript modules, as they are in assets, and asks no other host for
// anything. The files call the API by addresses relative to the page's.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"picogpt/internal/surprise"
)

//go:embed assets
var assets embed.FS

// Policy is the Content-Security-Policy of the page: its own scripts and styles, none of them
// inline, and no other host.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// folder is where everything but the page itself is.
const folder = "/page/"

// kinds are the media types, whatever the machine's own table says.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
}

// Has reports whether path is one of the page's.
func Has(path string) bool {
	_, _, found := read(path)
	return found
}

// Handler serves the page at / and what it needs under /page/. Browsers may keep what they get, and
// ask by its ETag whether it is still the same.
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
	case !inside || name == "index.html":
		return "", nil, false
	case name == "palette.css":
		return name, []byte(surprise.Palette()), true
	}
	data, err := assets.ReadFile("assets/" + name)
	return name, data, err == nil
}

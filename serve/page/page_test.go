package page_test

// Checks of the files, without a browser.

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/internal/option"
	"picogpt/internal/webparts"
	"picogpt/serve/page"
)

// get sends the handler a request for a path.
func get(path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	page.Handler().ServeHTTP(w, r)
	return w
}

// files returns the page and all files that it needs, by path, as the handler serves them.
func files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"/": get("/").Body.String()}
	for name := range webparts.Files() {
		all["/page/"+name] = get("/page/" + name).Body.String()
	}
	entries, err := os.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "index.html" {
			all["/page/"+e.Name()] = get("/page/" + e.Name()).Body.String()
		}
	}
	return all
}

func TestThePageHasStrictHeaders(t *testing.T) {
	for path := range files(t) {
		w := get(path)
		if w.Code != http.StatusOK || !page.Has(path) {
			t.Errorf("%s: status %d, Has %v", path, w.Code, page.Has(path))
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
				"connect-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff",
			"Referrer-Policy":        "no-referrer",
			"Cache-Control":          "no-cache",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s: %s, want %s", path, name, got, want)
			}
		}
		if kind := w.Header().Get("Content-Type"); !strings.HasSuffix(kind, "; charset=utf-8") {
			t.Errorf("%s: Content-Type %q", path, kind)
		}
		again := get(path, "If-None-Match", w.Header().Get("ETag"))
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s with its ETag: status %d, %d bytes", path, again.Code, again.Body.Len())
		}
	}
	if w := get("/favicon.ico"); w.Code != http.StatusOK || !page.Has("/favicon.ico") ||
		w.Header().Get("Content-Type") != "image/svg+xml; charset=utf-8" {
		t.Errorf("/favicon.ico: %d %v", w.Code, w.Header())
	}
	for _, path := range []string{"/page/", "/page/none.js", "/page/../page.go", "/page", "/x",
		"/page/index.html", "/page/%2e%2e/page.go", "/page//style.css", "/page/./style.css"} {
		if w := get(path); w.Code != http.StatusNotFound || page.Has(path) {
			t.Errorf("%s: status %d, Has %v, want 404", path, w.Code, page.Has(path))
		}
	}
}

func TestThePageAsksNoOtherHost(t *testing.T) {
	other := regexp.MustCompile(`https?://[^\s"'` + "`" + `]*|["'(]//\w[^\s"')]*`)
	for path, text := range files(t) {
		for _, address := range other.FindAllString(text, -1) {
			if address != "http://www.w3.org/2000/svg" { // a namespace, not an address
				t.Errorf("%s: %s", path, address)
			}
		}
	}
}

func TestThePageRunsNothingInline(t *testing.T) {
	html := files(t)["/"]
	for _, inline := range []string{`<style`, `\sstyle\s*=`, `\son\w+\s*=`, `javascript:`,
		`<script(?:[^>]*)>[^<]`, `<script>`, `<base`, `<iframe`} {
		if found := regexp.MustCompile(`(?i)` + inline).FindString(html); found != "" {
			t.Errorf("index.html: %q", found)
		}
	}
	never := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|` +
		`new Function|DOMParser|createContextualFragment|srcdoc`)
	for path, text := range files(t) {
		if found := never.FindString(text); found != "" {
			t.Errorf("%s: %s: text of the model comes in by textContent", path, found)
		}
	}
}

func TestEveryFileThatIsNamedIsThere(t *testing.T) {
	all := files(t)
	used := map[string]bool{"/": true}
	linked := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	for _, m := range linked.FindAllStringSubmatch(all["/"], -1) {
		used["/"+m[1]] = true
	}
	imports := regexp.MustCompile(`(?m)^(?:import|export) .* from "\./([^"]*)";$`)
	for path, text := range all {
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			used["/page/"+m[1]] = true
		}
		if any := regexp.MustCompile(`(?m)^import [{*"']|\bimport\(`).FindAllString(text, -1); len(any) >
			len(imports.FindAllString(text, -1)) {
			t.Errorf("%s: an import in another form than { … } from \"./NAME\"", path)
		}
	}
	for path := range used {
		if _, found := all[path]; !found {
			t.Errorf("%s is named, and is not there", path)
		}
	}
	for path := range all {
		if !used[path] {
			t.Errorf("%s is there, and nothing names it", path)
		}
	}
}

func TestNamesInThePageAreThere(t *testing.T) {
	all := files(t)
	ids := map[string]int{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(all["/"], -1) {
		if ids[m[1]]++; ids[m[1]] > 1 {
			t.Errorf("two elements are called %s", m[1])
		}
	}
	refs := regexp.MustCompile(`(?:for|aria-controls|aria-labelledby|aria-describedby)="([^"]*)"`)
	for _, m := range refs.FindAllStringSubmatch(all["/"], -1) {
		if ids[m[1]] == 0 {
			t.Errorf("%s names no element", m[0])
		}
	}
	made := regexp.MustCompile(`id: "([\w-]+)"`) // by scripts
	for _, text := range all {
		for _, m := range made.FindAllStringSubmatch(text, -1) {
			ids[m[1]]++
		}
	}
	for path, text := range all {
		for _, m := range regexp.MustCompile(`byId\("([^"]*)"\)`).FindAllStringSubmatch(text, -1) {
			if ids[m[1]] == 0 {
				t.Errorf("%s: %s names no element", path, m[0])
			}
		}
	}
}

func TestLevelsAreThoseOfSurprise(t *testing.T) {
	text := files(t)["/page/pieces.js"]
	limits := strings.Trim(fmt.Sprint(webparts.BySurprisal.Limits()), "[]")
	names := webparts.BySurprisal.Names()
	for _, want := range []string{
		"export const LIMITS = [" + strings.ReplaceAll(limits, " ", ", ") + "];",
		`export const LEVELS = ["` + strings.Join(names[:], `", "`) + `"];`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("pieces.js does not say %s", want)
		}
	}
}

// TestThePageBeginsAsTheCommandDoes: with the API's defaults a small model writes nonsense.
func TestThePageBeginsAsTheCommandDoes(t *testing.T) {
	rows, numbers := files(t)["/page/rows.js"], 0
	for _, o := range option.Of(new(decode.Options)) {
		row := regexp.MustCompile(`name: "` + o.Field.Name + `",[^}]*? value: ([0-9.]+),`).
			FindStringSubmatch(rows)
		if row == nil || o.Setting.Value != "" {
			continue
		}
		if numbers++; row[1] != o.First(true) {
			t.Errorf("%s: the page begins with %s, the command with %s", o.Name, row[1], o.First(true))
		}
	}
	if numbers < 20 {
		t.Errorf("%d settings with a number, want more", numbers)
	}
}

// luminance returns WCAG's relative luminance of #rrggbb.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil || len(colour) != 7 {
		t.Fatalf("%q is no colour", colour)
	}
	channel := func(shift int) float64 {
		c := float64(rgb>>shift&255) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}

func TestColoursHaveContrast(t *testing.T) {
	palette := files(t)["/page/palette.css"]
	light, dark, found := strings.Cut(palette, "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("the palette has no dark half")
	}
	levels := []string{"level-0", "level-1", "level-2", "level-3", "level-4"}
	grounds := []string{"ground", "card", "raised"}
	for _, want := range []struct {
		over   string
		under  []string
		ratio  float64 // WCAG 2.2: 4.5 for text, 3 for what is drawn
		reason string
	}{
		{"ink", slices.Concat(grounds, levels), 4.5, "text"},
		{"token-ink", levels, 4.5, "tokens"},
		{"quiet", grounds, 4.5, "notes"},
		{"wrong", []string{"ground", "card"}, 4.5, "errors"},
		{"ground", []string{"mark", "ink"}, 4.5, "buttons"},
		{"mark", slices.Concat(grounds, levels), 3, "focus and choice"},
		{"line", grounds[:2], 3, "borders of controls"},
		{"under", levels[3:], 3, "underlines of the two highest levels"},
	} {
		for scheme, css := range map[string]string{"light": light, "dark": dark} {
			colour := func(name string) float64 {
				m := regexp.MustCompile(`--` + name + `: (#\w+);`).FindStringSubmatch(css)
				if m == nil {
					t.Fatalf("%s: no --%s", scheme, name)
				}
				return luminance(t, m[1])
			}
			for _, under := range want.under {
				a, b := colour(want.over), colour(under)
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < want.ratio {
					t.Errorf("%s, %s: %s on %s: contrast %.2f, want %.1f", scheme, want.reason,
						want.over, under, ratio, want.ratio)
				}
			}
		}
	}
}

func TestModules(t *testing.T) {
	cases.NotShort(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on this machine; the tests of cmd/gpt/browser run them in Chromium")
	}
	out, err := exec.Command(node, "testdata/modules.test.mjs").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "# fail 0") && !strings.Contains(string(out), "fail 0") {
		t.Errorf("no count of tests in\n%s", out)
	}
}

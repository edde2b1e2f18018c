package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func page(t testing.TB, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// elements reads a page as XML, which it is too. It returns each element with its attributes'
// names, and each attribute, as name=value.
func elements(t testing.TB, page string) (shape, attributes []string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(page)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return shape, attributes
		} else if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			s := e.Name.Local
			for _, a := range e.Attr {
				s += " " + a.Name.Local
				attributes = append(attributes, a.Name.Local+"="+a.Value)
			}
			shape = append(shape, s)
		case xml.EndElement:
			shape = append(shape, "/"+e.Name.Local)
		}
	}
}

var coordinate = regexp.MustCompile(`^(x|y|x1|x2|y1|y2|dx|dy|width|height)=(-?[0-9.]+)%?$`)

func TestThePageIsWholeWhateverTheReport(t *testing.T) {
	outside := regexp.MustCompile(`(?i)https?:|\bsrc=|@import|url\(|<script|<iframe|<object|ZgotmplZ|NaN|[+-]Inf|%!`)
	for name, r := range samples() {
		html := page(t, r)
		if name != "hostile" {
			if found := outside.FindString(html); found != "" {
				t.Errorf("%s: %q in the page", name, found)
			}
		}
		_, attributes := elements(t, html)
		ids := map[string]bool{}
		for _, a := range attributes {
			key, value, _ := strings.Cut(a, "=")
			switch key {
			case "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "width", "height":
				m := coordinate.FindStringSubmatch(a)
				if m == nil {
					t.Fatalf("%s: %s, want a number", name, a)
				}
				if x, err := strconv.ParseFloat(m[2], 64); err != nil || x < -50 || x > 1000 {
					t.Errorf("%s: %s is outside of the picture", name, a)
				}
			case "id":
				if ids[value] {
					t.Errorf("%s: two elements are %s", name, value)
				}
				ids[value] = true
			case "src", "href":
				if value != "data:," {
					t.Errorf("%s: %s", name, a)
				}
			}
		}
		for _, a := range attributes {
			if key, value, _ := strings.Cut(a, "="); key == "aria-labelledby" {
				for id := range strings.FieldsSeq(value) {
					if !ids[id] {
						t.Errorf("%s: %s names nothing", name, a)
					}
				}
			}
		}
	}
}

// Text from users makes no element and no attribute: the page has the same ones as with plain
// words.
func TestTextsStayTexts(t *testing.T) {
	r := samples()["hostile"]
	hostile := page(t, r)
	got, _ := elements(t, hostile)
	plain := keep(logNormal(webDocuments), 0.1, 0.7)
	plain.Options, plain.Errors = []Option{{"name", "value"}}, 30
	for range 30 {
		plain.Reasons = append(plain.Reasons, Reason{"reason", 1})
	}
	want, _ := elements(t, page(t, plain))
	if !slices.Equal(got, want) {
		t.Errorf("elements %q, want %q", got, want)
	}
	if i := strings.IndexAny(hostile, "\u202e\x00\x1b\ufffd"); i >= 0 {
		t.Errorf("%q is in the page", hostile[i-20:i+20])
	}
	// Title, heading, model, and a term, a value or a row each.
	if n := strings.Count(hostile, "&gt;&lt;script&gt;alert(1)"); n != 3+2+2+3+mostReasons {
		t.Errorf("the text is there %d times", n)
	}
}

func TestEqualReportsMakeEqualPages(t *testing.T) {
	a, b := samples(), samples()
	for name := range a {
		if page(t, a[name]) != page(t, b[name]) {
			t.Errorf("%s: two pages differ", name)
		}
	}
	documents := logNormal(2000)
	r := sample(documents)
	slices.Reverse(documents)
	if page(t, r) != page(t, sample(documents)) {
		t.Error("the order of documents matters")
	}
	r = a["below"]
	want := page(t, r)
	slices.Reverse(r.Reasons)
	if page(t, r) != want {
		t.Error("the order of reasons matters")
	}
}

// The table of a page has each document once.
func TestTheTableCountsAllDocuments(t *testing.T) {
	cells := regexp.MustCompile(`<tr><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td>`)
	documents := append(logNormal(3000), 0.5, 1e13)
	var sum int
	for _, m := range cells.FindAllStringSubmatch(page(t, sample(documents)), -1) {
		n := 0
		from, to := parse(t, m[1]), parse(t, m[2])
		for _, p := range documents {
			if p >= from && p < to {
				n++
			}
		}
		// Five digits of an edge may put a document on its other side.
		if got := parse(t, m[3]); got < float64(n)-1 || got > float64(n)+1 {
			t.Errorf("%v: %v documents, want %v", m, got, n)
		}
		sum += int(parse(t, m[3]))
	}
	if sum != len(documents) {
		t.Errorf("%d documents, want %d", sum, len(documents))
	}
}

// parse reads a number as pages have it.
func parse(t testing.TB, s string) float64 {
	t.Helper()
	if s == "infinite" {
		s = "Inf"
	}
	s = strings.NewReplacer(",", "", "·10", "e", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵",
		"5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9").Replace(s)
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

var update = flag.Bool("update", false, "write testdata/few.html anew")

func TestFewDocuments(t *testing.T) {
	r := samples()["few"]
	r.Filter = &Filter{Kept: 7, Cuts: []Cut{{"--above 14", 14, 0.1, false},
		{"--below 50", 50, 0.8, true}}}
	_, got, _ := strings.Cut(page(t, r), "<body>")
	if *update {
		if err := os.WriteFile("testdata/few.html", []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/few.html")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the page is not testdata/few.html (-update writes it):\n%s", got)
	}
}

func TestWords(t *testing.T) {
	all := samples()
	for name, want := range map[string][]string{
		"nothing": nil,
		"empty":   {"No document has a perplexity."},
		"none": {"No document has a perplexity.",
			"Without a perplexity, because nothing in it could be scored: 2 documents."},
		"one":      nil,
		"few":      {"Half of the documents have a perplexity of at most 22; the middle half is between 17.5 and 33."},
		"one kept": {"The filter keeps 1 of 1 document (100.0\u00a0%): perplexities between 43.7 and 43.7."},
		"outside": {"Half of the documents have a perplexity of at most 10¹³; the middle half is between 0.5 and infinite.",
			"Not drawn: 1 document below 1, 2 documents from 10¹² on.",
			"Without a perplexity, because nothing in it could be scored: 1 document."},
	} {
		if got := all[name].words(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, c := range []struct {
		cuts []Cut
		want string
	}{
		{nil, ""},
		{[]Cut{{"", 20, 0, false}}, ": perplexities above 20"},
		{[]Cut{{"", 1e9, 0, true}, {"", 50, 0, true}}, ": perplexities below 50"},
		{[]Cut{{"", 80, 0, true}, {"", 20, 0, false}}, ": perplexities between 20 and 80"},
	} {
		if got := (&Filter{Cuts: c.cuts}).between(); got != c.want {
			t.Errorf("%v: %q, want %q", c.cuts, got, c.want)
		}
	}
}

func TestReasonsOfMostDocumentsComeFirst(t *testing.T) {
	r := Report{Errors: 1000}
	for i := range 30 {
		r.Reasons = append(r.Reasons, Reason{fmt.Sprint("reason ", i), int64(i)})
	}
	got := r.reasons()
	if len(got) != mostReasons+1 || got[0] != (row{"reason 29", "29"}) ||
		got[19] != (row{"reason 10", "10"}) || got[20] != (row{"other reasons", "610"}) {
		t.Errorf("%v", got)
	}
}

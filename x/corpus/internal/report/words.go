package report

// The text and the tables of the page.

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"picogpt/internal/quote"
)

// view is the contents of page.html.
type view struct {
	*Report
	CSS                     template.CSS
	Heading, ScoredBy       string
	Facts                   []fact
	Chart                   *chart
	Words                   []string
	Bins                    []binRow
	Quantiles, Reasons, Run []row
	Cuts                    []cutRow
}

type fact struct{ Name, Value, Note string }

type row struct{ Name, Value string }

type cutRow struct{ Label, Perplexity, Below, Keeps string }

type binRow struct{ From, To, Count, Share, Below string }

// text returns text from users: on one line, printable, and shortened.
func text(s string) string { return quote.Plain(s, 400) }

// facts returns the numbers at the top of the page.
func (r *Report) facts() []fact {
	facts := []fact{{"Documents", whole(r.Records), ""}}
	add := func(name, value, note string) { facts = append(facts, fact{name, value, note}) }
	if r.Filter != nil {
		add("Kept", whole(r.Filter.Kept), percent(r.Filter.Kept, r.Records))
	}
	if r.Errors > 0 {
		add("Set aside", whole(r.Errors), percent(r.Errors, r.Records+r.Errors))
	} else {
		add("Set aside", "0", "")
	}
	add("Tokens", whole(r.Tokens), "")
	if r.Perplexity > 0 {
		add("Perplexity", number(r.Perplexity, 5), "of all tokens")
	}
	if r.Duplicates > 0 {
		add("Duplicate ids", whole(r.Duplicates), "each is counted")
	}
	if r.Took > 0 {
		add("Took", took(r.Took), whole(int64(float64(r.Tokens)/r.Took.Seconds()))+" tokens/s")
	}
	return facts
}

// words returns sentences that describe the picture.
func (r *Report) words() []string {
	if r.Histogram == nil {
		return nil
	}
	var words []string
	if f := r.Filter; f != nil {
		words = append(words, fmt.Sprintf("The filter keeps %s of %s (%s)%s.", whole(f.Kept),
			documents(r.Records), percent(f.Kept, r.Records), f.between()))
	}
	low, middle, high := r.quantile(25), r.quantile(50), r.quantile(75)
	if r.Histogram.Documents() == 0 {
		words = append(words, "No document has a perplexity.")
	} else if low < high {
		words = append(words, fmt.Sprintf("Half of the documents have a perplexity of at most %s; the middle half is between %s and %s.",
			brief(middle), brief(low), brief(high)))
	}
	if missing := r.missing(); len(missing) > 0 {
		words = append(words, "Not drawn: "+strings.Join(missing, ", ")+".")
	}
	if n := r.Histogram.None; n > 0 {
		words = append(words, fmt.Sprintf("Without a perplexity, because nothing in it could be scored: %s.", documents(n)))
	}
	return words
}

// missing describes the documents that the picture leaves out.
func (r *Report) missing() (missing []string) {
	s, found := r.span()
	low, high := 1.0, edge(bins)
	if found {
		low, high = edge(s.first), edge(s.last+1)
	}
	if s.before > 0 {
		missing = append(missing, documents(s.before)+" below "+brief(low))
	}
	if s.past > 0 {
		missing = append(missing, documents(s.past)+" from "+brief(high)+" on")
	}
	return missing
}

// between describes the perplexities that a filter keeps.
func (f *Filter) between() string {
	low, high := f.limits()
	switch {
	case low > 0 && !math.IsInf(high, 1):
		return fmt.Sprintf(": perplexities between %s and %s", brief(low), brief(high))
	case low > 0:
		return ": perplexities above " + brief(low)
	case !math.IsInf(high, 1):
		return ": perplexities below " + brief(high)
	}
	return ""
}

// quantile returns 0 if it is not known.
func (r *Report) quantile(percent float64) float64 {
	for _, q := range r.Quantiles {
		if q.Percent == percent {
			return q.Perplexity
		}
	}
	return 0
}

func (r *Report) quantiles() []row {
	names := map[float64]string{0: "lowest", 50: "median", 100: "highest"}
	var rows []row
	for _, q := range r.Quantiles {
		name := strconv.FormatFloat(q.Percent, 'g', -1, 64) + "\u00a0%"
		if names[q.Percent] != "" {
			name += ", the " + names[q.Percent]
		}
		rows = append(rows, row{name, number(q.Perplexity, 6)})
	}
	return rows
}

func (r *Report) cuts() []cutRow {
	if r.Filter == nil {
		return nil
	}
	var rows []cutRow
	for _, c := range r.Filter.Cuts {
		keeps := "above"
		if c.KeepsBelow {
			keeps = "below"
		}
		rows = append(rows, cutRow{text(c.Label), number(c.Perplexity, 6), share(c.Share), keeps})
	}
	return rows
}

const mostReasons = 20

// reasons returns those with the most documents, and the others together.
func (r *Report) reasons() []row {
	all := slices.SortedFunc(slices.Values(r.Reasons), func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	var rows []row
	rest := r.Errors
	for _, reason := range all[:min(len(all), mostReasons)] {
		rows = append(rows, row{text(reason.Text), whole(reason.Count)})
		rest -= reason.Count
	}
	if len(rows) > 0 && rest > 0 {
		rows = append(rows, row{"other reasons", whole(rest)})
	}
	return rows
}

// run returns the data for repeating the run, and for comparing it.
func (r *Report) run() []row {
	var rows []row
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, row{text(name), text(value)})
		}
	}
	add("command", r.Command)
	add("model", r.Model)
	for _, o := range r.Options {
		add(o.Name, o.Value)
	}
	if r.Perplexity > 0 {
		add("perplexity of all tokens", strconv.FormatFloat(r.Perplexity, 'g', -1, 64))
	}
	add("digest", r.Digest)
	return rows
}

// bins returns the numbers of the histogram, for bins with documents.
func (r *Report) bins() []binRow {
	h := r.Histogram
	if h == nil || h.Documents() == 0 {
		return nil
	}
	var rows []binRow
	total, below := h.Documents(), int64(0)
	add := func(from, to string, n int64) {
		rows = append(rows, binRow{from, to, whole(n), percent(n, total), percent(below, total)})
		below += n
	}
	if h.Below > 0 {
		add("0", "1", h.Below)
	}
	for i, n := range h.Counts {
		if n > 0 {
			add(number(edge(i), 5), number(edge(i+1), 5), n)
		}
	}
	if h.Above > 0 {
		add(number(edge(bins), 5), "infinite", h.Above)
	}
	return rows
}

// Numbers as people read them.

// whole returns n with commas: 1,000,000.
func whole(n int64) string {
	return commas(strconv.FormatInt(n, 10))
}

// commas adds commas to the digits before the point.
func commas(s string) string {
	digits, fraction, point := strings.Cut(s, ".")
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if point {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// number returns x with that many significant digits, or with all digits before the point if these
// are more.
func number(x float64, digits int) string {
	switch {
	case math.IsNaN(x):
		return "none"
	case math.IsInf(x, 0):
		return "infinite"
	case x >= 1e7:
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', digits-1, 64), "e+")
		return mantissa + "·10" + superscript(strings.TrimLeft(exponent, "0"))
	case x <= 0:
		return strconv.FormatFloat(x, 'g', digits, 64)
	}
	decimals := max(0, digits-1-int(math.Floor(math.Log10(x))))
	return commas(strconv.FormatFloat(x, 'f', decimals, 64))
}

// brief returns x with at most four digits, without trailing zeros.
func brief(x float64) string {
	mantissa, power, large := strings.Cut(number(x, 4), "·")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	switch {
	case !large:
		return mantissa
	case mantissa == "1":
		return power
	}
	return mantissa + "·" + power
}

// power returns the text of a tick: 2, 500, 20,000, and from 100,000 on 10⁵, 2·10⁵.
func power(x float64) string {
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if x < 1e5 {
		return commas(s)
	}
	tick := "10" + superscript(strconv.Itoa(len(s)-1))
	if s[0] != '1' {
		tick = s[:1] + "·" + tick
	}
	return tick
}

func superscript(digits string) string {
	return strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6",
		"⁶", "7", "⁷", "8", "⁸", "9", "⁹").Replace(digits)
}

// short returns a count for an axis: 0, 250, 20k, 2.5M.
func short(n int64) string {
	if n < 10000 {
		return whole(n)
	}
	x, unit := float64(n)/1000, 0
	for ; x >= 1000; unit++ {
		x /= 1000
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + []string{"k", "M", "G", "T", "P", "E"}[unit]
}

// percent returns a part as a percentage. A small part is never 0, and an incomplete one never 100.
func percent(part, all int64) string {
	if all == 0 {
		return "–"
	}
	return share(float64(part) / float64(all))
}

func share(x float64) string {
	const space = "\u00a0"
	switch {
	case math.IsNaN(x):
		return "–"
	case x > 0 && x < 0.001:
		return "<" + space + "0.1" + space + "%"
	case x < 1 && x > 0.999:
		return ">" + space + "99.9" + space + "%"
	}
	return fmt.Sprintf("%.1f"+space+"%%", 100*x)
}

// documents returns a number of documents as text.
func documents(n int64) string {
	if n == 1 {
		return "1 document"
	}
	return whole(n) + " documents"
}

// took returns a duration with three digits or in seconds.
func took(d time.Duration) string {
	if d < time.Minute {
		return number(d.Seconds(), 3) + " s"
	}
	return d.Round(time.Second).String()
}

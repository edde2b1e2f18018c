package report

// Numbers as people read them.

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

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

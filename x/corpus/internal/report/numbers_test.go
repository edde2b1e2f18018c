package report

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{whole(0), "0"}, {whole(999), "999"}, {whole(1000), "1,000"},
		{whole(1_000_000_000_000), "1,000,000,000,000"},
		{number(23.41567, 4), "23.42"}, {number(999.96, 4), "1,000.0"}, {number(0.5, 3), "0.500"},
		{number(12345.678, 4), "12,346"}, {number(1.5e9, 4), "1.500·10⁹"}, {number(0, 4), "0"},
		{number(math.NaN(), 4), "none"}, {number(math.Inf(1), 4), "infinite"},
		{brief(50), "50"}, {brief(81.302), "81.3"}, {brief(1e9), "10⁹"}, {brief(2.5e10), "2.5·10¹⁰"},
		{brief(1000), "1,000"},
		{power(1), "1"}, {power(20000), "20,000"}, {power(100_000), "10⁵"}, {power(5e11), "5·10¹¹"},
		{power(0.5), "0.5"},
		{short(9999), "9,999"}, {short(25_000), "25k"}, {short(7_500_000), "7.5M"},
		{short(250_000_000_000), "250G"}, {short(math.MaxInt64), "9.223E"},
		{share(0), "0.0 %"}, {share(0.0004), "< 0.1 %"}, {share(0.5), "50.0 %"},
		{share(0.9995), "> 99.9 %"}, {share(1), "100.0 %"}, {share(math.NaN()), "–"},
		{percent(1, 3), "33.3 %"}, {percent(0, 0), "–"},
		{documents(1), "1 document"}, {documents(2000), "2,000 documents"},
		{took(1234 * time.Millisecond), "1.23 s"}, {took(83*time.Minute + 400e6), "1h23m0s"},
	} {
		if got := strings.ReplaceAll(c.got, "\u00a0", " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

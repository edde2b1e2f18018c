package schema

// Numbers: every short text, against exact arithmetic.

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// shortTexts calls f for all texts of up to n of some bytes.
func shortTexts(n int, bytes string, f func(text string)) {
	f("")
	if n == 0 {
		return
	}
	for _, b := range []byte(bytes) {
		shortTexts(n-1, bytes, func(rest string) { f(string(b) + rest) })
	}
}

func TestNumbersBetweenBounds(t *testing.T) {
	plain := regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	power := regexp.MustCompile(`^-?[1-9](\.[0-9]+)?e-([7-9]|[1-9][0-9]|[12][0-9]{2}|3[01][0-9]|32[0-4])$`)
	whole := regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	random := rand.New(rand.NewPCG(3, 4))
	bound := func() string {
		text := []string{"0", "1", "5", "9", "10", "15", "50", "95", "99", "100", "105", "150", "999",
			"0.5", "1.5", "0.05", "9.95", "15.5", "5e-7", "1.5e-7", "9.9e-8", "1e-9"}[random.IntN(22)]
		if random.IntN(3) == 0 && text != "0" {
			return "-" + text
		}
		return text
	}
	rat := func(text string) *big.Rat { r, _ := new(big.Rat).SetString(text); return r }
	texts := map[string]*big.Rat{}
	shortTexts(5, "-0159.e", func(text string) {
		if plain.MatchString(text) || power.MatchString(text) {
			texts[text] = rat(text)
		} else {
			texts[text] = nil
		}
	})
	for _, digits := range []string{"1", "5", "9"} { // longer ones
		for _, text := range []string{".5e-7", ".51e-7", "e-10", ".9e-8", "e-324", "e-325", "0000.05"} {
			texts[digits+text], texts["-"+digits+text] = nil, nil
			if text := digits + text; plain.MatchString(text) || power.MatchString(text) {
				texts[text], texts["-"+text] = rat(text), rat("-"+text)
			}
		}
	}
	for range 25 {
		lo, hi := bound(), bound()
		if rat(lo).Cmp(rat(hi)) > 0 {
			lo, hi = hi, lo
		}
		a, _ := parseDecimal(lo)
		b, _ := parseDecimal(hi)
		multiple := uint64([]int{1, 1, 3, 7, 15}[random.IntN(5)])
		integers := multiple > 1 || random.IntN(2) == 0
		s := newNumber(a, b, integers, multiple, 0, nil)
		any := false
		for text, v := range texts {
			want := v != nil && v.Cmp(rat(lo)) >= 0 && v.Cmp(rat(hi)) <= 0 &&
				(text[0] != '-' || a.sign() < 0)
			if integers {
				want = want && whole.MatchString(text) &&
					(text[0] != '-' || rat(lo).Cmp(big.NewRat(-1, 1)) <= 0) &&
					new(big.Int).Mod(v.Num(), big.NewInt(int64(multiple))).Sign() == 0
			}
			if any = any || want; s.has(text) != want {
				t.Errorf("from %s to %s, whole %v, multiple of %d: %s: accepted %v, want %v", lo, hi,
					integers, multiple, text, !want, want)
			}
		}
		if any && !s.possible() {
			t.Errorf("from %s to %s: possible is false", lo, hi)
		}
		checkNoTraps(t, s, random, fmt.Sprintf("from %s to %s, whole %v, multiple of %d", lo, hi,
			integers, multiple))
	}
}

// checkNoTraps walks at random: wherever a number may not end, some byte continues it.
func checkNoTraps(t *testing.T, s *numberSpec, random *rand.Rand, about string) {
	t.Helper()
	if !s.possible() {
		return
	}
	for range 50 {
		st, text := numberState{}, ""
		for range 20 {
			var open []byte
			for _, b := range []byte("-0123456789.e") {
				if _, ok := s.step(st, b); ok {
					open = append(open, b)
				}
			}
			if len(open) == 0 {
				if !s.accepts(st) {
					t.Errorf("%s: nothing can follow %s", about, text)
				}
				break
			}
			b := open[random.IntN(len(open))]
			st, _ = s.step(st, b)
			text += string(b)
		}
	}
}

// has reports whether a text is a number of the spec.
func (s *numberSpec) has(text string) bool {
	st, ok := numberState{}, true
	for i := 0; i < len(text) && ok; i++ {
		st, ok = s.step(st, text[i])
	}
	return ok && s.accepts(st)
}

// TestMultiplesOfDecimals: every short text, against exact arithmetic. Numbers have no more digits
// after the point than the divisor.
func TestMultiplesOfDecimals(t *testing.T) {
	cases.NotShort(t)
	plain := regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	texts := map[string]*big.Rat{}
	rat := func(text string) *big.Rat { r, _ := new(big.Rat).SetString(text); return r }
	shortTexts(5, "-0125.9", func(text string) {
		if plain.MatchString(text) {
			texts[text] = rat(text)
		} else if len(text) < 4 {
			texts[text] = nil
		}
	})
	random := rand.New(rand.NewPCG(5, 4))
	bounds := []string{"", "0", "0.01", "0.5", "1", "0.995", "1.25", "2.5", "10", "99.95", "12.345", "-0.5", "-1.25", "-9.9", "1e-7"}
	for _, divisor := range []string{"0.01", "0.5", "0.1", "2.5", "0.25", "0.05", "1.2", "0.125", "0.001"} {
		for range 5 {
			lo, hi := bounds[random.IntN(len(bounds))], bounds[random.IntN(len(bounds))]
			if lo != "" && hi != "" && rat(lo).Cmp(rat(hi)) > 0 {
				lo, hi = hi, lo
			}
			schema := fmt.Sprintf(`{"type":"number","multipleOf":%s`, divisor)
			if lo != "" {
				schema += `,"minimum":` + lo
			}
			if hi != "" {
				schema += `,"maximum":` + hi
			}
			scale := len(divisor) - 2
			any := false
			f, _, err := newForm(schema+"}", Options{})
			for text, v := range texts {
				want := v != nil && (lo == "" || v.Cmp(rat(lo)) >= 0) && (hi == "" || v.Cmp(rat(hi)) <= 0) &&
					new(big.Rat).Quo(v, rat(divisor)).IsInt()
				if _, after, ok := strings.Cut(text, "."); ok {
					want = want && len(after) <= scale
				}
				if want && text[0] == '-' && v.Sign() == 0 {
					continue // -0 is written where numbers below 0 are
				}
				if any = any || want; err != nil {
					continue
				}
				if got := accepts(f, text); got != want {
					t.Errorf("%s}: %s: accepted %v, want %v", schema, text, got, want)
				}
			}
			if (err != nil) == any && any {
				t.Errorf("%s}: %v", schema, err)
			}
			if err == nil {
				checkNoTraps(t, f.first.scalars[0].number, random, schema)
			}
		}
	}
}

package ledger

// Keys sort as what they stand for.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"picogpt/eval"
)

// number is a number of JSON, of few digits, so that many are equal, or of many.
func number(r *rand.Rand) string {
	s := []string{"", "-"}[r.IntN(2)] + fmt.Sprint(r.IntN(12))
	if r.IntN(4) == 0 {
		s += fmt.Sprint(r.Uint64()) + fmt.Sprint(r.Uint64())
		if s[0] == '0' || s[:2] == "-0" {
			s = "7"
		}
	}
	if r.IntN(2) == 0 {
		s += []string{".0", ".5", ".50", ".05", ".000", ".1234567890123456789"}[r.IntN(6)]
	}
	if r.IntN(3) == 0 {
		s += []string{"e", "E"}[r.IntN(2)] + []string{"0", "+1", "-1", "20", "-20", "003"}[r.IntN(6)]
	}
	return s
}

func TestNumbersSortByTheirValue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	equal := 0
	for range 20000 {
		a, b := number(r), number(r)
		x, ok := new(big.Rat).SetString(a)
		y, too := new(big.Rat).SetString(b)
		if !ok || !too {
			t.Fatal(a, b)
		}
		p, errP := Sortable(json.RawMessage(a))
		q, errQ := Sortable(json.RawMessage(b))
		if got := bytes.Compare(p, q); errP != nil || errQ != nil || got != x.Cmp(y) {
			t.Fatalf("%s and %s: %d, %v %v; want %d", a, b, got, errP, errQ, x.Cmp(y))
		}
		if x.Cmp(y) == 0 {
			equal++
		}
	}
	if equal < 100 {
		t.Errorf("%d pairs are equal, want more of them", equal)
	}
	big, err := Sortable(json.RawMessage("1e99999999999999999999999"))
	small, too := Sortable(json.RawMessage("1e-99999999999999999999999"))
	zero, also := Sortable(json.RawMessage("-0.0e5"))
	if cmp.Or(err, too, also) != nil || bytes.Compare(big, small) <= 0 || bytes.Compare(small, zero) <= 0 {
		t.Errorf("%x, %x, %x: %v %v %v", big, small, zero, err, too, also)
	}
}

func TestWhatIsNotSortable(t *testing.T) {
	for _, value := range []string{"", "null", "true", "[1]", "{}"} {
		if key, err := Sortable(json.RawMessage(value)); err == nil {
			t.Errorf("%s: %x", value, key)
		}
	}
}

// TestKeysInOrder: each of these is before the next, by both keys.
func TestKeysInOrder(t *testing.T) {
	var last []byte
	for i, c := range []struct {
		p      float64
		id     string
		source int
		line   int
	}{
		{1, `5`, 0, 1}, {1.5, `-2`, 9, 9}, {1.5, `-1.5`, 0, 0}, {1.5, `0`, 0, 0}, {1.5, `9`, 0, 0},
		{1.5, `10`, 0, 0}, {1.5, `10`, 0, 1}, {1.5, `10`, 1, 0}, {1.5, `10.0`, 0, 0},
		{1.5, `1e1`, 0, 0}, {1.5, `18446744073709551616`, 0, 0}, {1.5, `""`, 0, 0},
		{1.5, `"\u0000"`, 0, 0}, {1.5, `"\u0000\u0000"`, 0, 0}, {1.5, `"\u0001"`, 0, 0},
		{1.5, `"10"`, 0, 0}, {1.5, `"9"`, 7, 0}, {1.5, `"9\u0000"`, 0, 0}, {1.5, `"é"`, 0, 0},
		{1.5, `[0]`, 0, 0}, {1.5, `true`, 0, 0}, {1.5, ``, 0, 300}, {1.5, ``, 1, 2}, {1.5, `null`, 1, 3},
		{1e300, `0`, 0, 0}, {math.Inf(1), `0`, 0, 0},
	} {
		id, err := eval.CanonicalID(json.RawMessage(c.id))
		if err != nil {
			t.Fatal(err)
		}
		e := &Entry{Source: c.source, Line: c.line, ID: id, Count: 1, Sum: -math.Log(c.p)}
		key, ok := e.RankKey()
		if !ok || bytes.Compare(last, key) >= 0 {
			t.Errorf("%d: %+v is not after the one before it", i, c)
		}
		last = key
	}
	if _, ok := (&Entry{}).RankKey(); ok {
		t.Error("an entry without a scored token has a rank")
	}
}

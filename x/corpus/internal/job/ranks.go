package job

// The ranks that --keep keeps.

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Ranks are a range of documents by rank, as shares of all documents, exactly as they were written.
type Ranks struct {
	From, To string
	from, to *big.Rat
}

// share matches a share: 0.1, 10% or 1/3.
var share = regexp.MustCompile(`^([0-9]{1,20}(\.[0-9]{1,20})?%?|[0-9]{1,20}/[0-9]{1,20})$`)

// ParseRanks reads LO..HI.
func ParseRanks(s string) (Ranks, error) {
	from, to, found := strings.Cut(s, "..")
	if !found {
		return Ranks{}, fmt.Errorf("%q: want LO..HI, such as 0.1..0.7", s)
	}
	r := Ranks{From: from, To: to}
	var err error
	if r.from, err = parseShare(from); err != nil {
		return r, err
	}
	if r.to, err = parseShare(to); err != nil {
		return r, err
	}
	if r.from.Cmp(r.to) >= 0 {
		return r, fmt.Errorf("%q: keeps nothing, want the smaller share first", s)
	}
	return r, nil
}

func parseShare(s string) (*big.Rat, error) {
	number, percent := strings.CutSuffix(s, "%")
	r, ok := new(big.Rat).SetString(number)
	if !share.MatchString(s) || !ok {
		return nil, fmt.Errorf("%q: want a share of the documents: 0.1, 10%% or 1/3", s)
	}
	if percent {
		r.Quo(r, big.NewRat(100, 1))
	}
	if r.Cmp(big.NewRat(1, 1)) > 0 {
		return nil, fmt.Errorf("%q: want a share of the documents, from 0 to 1", s)
	}
	return r, nil
}

// Of returns the ranks of the range among n documents, which count from 1: those greater than
// after, up to last.
func (r Ranks) Of(n int) (after, last int) { return ceil(r.from, n), ceil(r.to, n) }

// ceil returns the smallest whole number that is at least share·n.
func ceil(share *big.Rat, n int) int {
	product := new(big.Int).Mul(share.Num(), big.NewInt(int64(n)))
	product.Add(product, share.Denom()).Sub(product, big.NewInt(1))
	return int(product.Quo(product, share.Denom()).Int64())
}

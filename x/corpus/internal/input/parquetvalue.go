package input

// Values of Parquet's columns as JSON.

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"picogpt/internal/rows"
)

// largestDecimal bounds the bytes and the digits of a decimal; other writers use at most 38.
const largestDecimal = 256

func checkLogical(f field) error {
	if l, ok := f.logical.(*format.DecimalType); ok && (l.Scale < 0 || l.Scale > largestDecimal) {
		return fmt.Errorf("column %s: a decimal with %d digits after the point, want at most %d",
			f.name, l.Scale, largestDecimal)
	}
	return nil
}

// value returns the JSON value for a value: numbers for numbers and decimals, with all their
// digits; text for times and UUIDs; strings for bytes that are UTF-8. Other bytes are {"base64":
// …}, or an error in a column of strings. Numbers that JSON cannot represent are "NaN", "Infinity"
// or "-Infinity".
func (f *field) value(v parquet.Value) (any, error) {
	switch v.Kind() {
	case parquet.Boolean:
		return v.Boolean(), nil
	case parquet.Int32:
		if l, ok := f.logical.(*format.IntType); ok && !l.IsSigned {
			return v.Uint32(), nil
		}
		return f.integer(int64(v.Int32())), nil
	case parquet.Int64:
		if l, ok := f.logical.(*format.IntType); ok && !l.IsSigned {
			return v.Uint64(), nil
		}
		return f.integer(v.Int64()), nil
	case parquet.Int96: // nanoseconds of a day, and the day from 4713 BC on: an old type for times
		n := v.Int96()
		const epoch = 2440588
		day, ns := int64(n[2])-epoch, int64(uint64(n[1])<<32|uint64(n[0]))
		return clock(time.Unix(day*86400, ns), "2006-01-02T15:04:05.999999999"), nil
	case parquet.Float:
		if x := float64(v.Float()); x != x || math.IsInf(x, 0) {
			return number(x), nil
		}
		return v.Float(), nil
	case parquet.Double:
		return number(v.Double()), nil
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return f.bytes(v.ByteArray())
	}
	return nil, errors.New("a value of no kind that is known")
}

// integer returns the value of an integer, by its logical type.
func (f *field) integer(n int64) any {
	switch l := f.logical.(type) {
	case *format.DecimalType:
		return decimal(big.NewInt(n), int(l.Scale))
	case *format.DateType:
		return clock(time.Unix(n*86400, 0), "2006-01-02")
	case *format.TimeType:
		return clock(moment(n, l.Unit), "15:04:05.999999999")
	case *format.TimestampType:
		text := clock(moment(n, l.Unit), "2006-01-02T15:04:05.999999999")
		if l.IsAdjustedToUTC {
			text += "Z"
		}
		return text
	}
	return n
}

// bytes returns the value of bytes, by their logical type.
func (f *field) bytes(b []byte) (any, error) {
	if len(b) > longestRow {
		return nil, rows.ErrLongLine
	}
	text := false
	switch l := f.logical.(type) {
	case *format.DecimalType:
		if len(b) == 0 || len(b) > largestDecimal {
			return nil, fmt.Errorf("a decimal of %d bytes, want 1 to %d", len(b), largestDecimal)
		}
		n := new(big.Int).SetBytes(b)
		if b[0] >= 0x80 { // two's complement
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return decimal(n, int(l.Scale)), nil
	case *format.UUIDType:
		if len(b) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
		}
	case *format.Float16Type:
		if len(b) == 2 {
			return number(half(binary.LittleEndian.Uint16(b))), nil
		}
	case *format.StringType, *format.EnumType, *format.JsonType:
		text = true
	}
	switch {
	case utf8.Valid(b):
		return string(b), nil
	case text:
		return nil, errors.New("not UTF-8")
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString(b)}, nil
}

// number returns a number, or the name of a value that is not finite.
func number(x float64) any {
	switch {
	case x != x:
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return x
}

// half returns the float16 with these bits.
func half(h uint16) float64 {
	sign, exponent, fraction := 1.0, int(h>>10&31), float64(h&1023)
	if h>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// decimal returns n with scale digits after the point.
func decimal(n *big.Int, scale int) json.Number {
	digits := n.String()
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	if scale == 0 {
		return json.Number(sign + digits)
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	at := len(digits) - scale
	return json.Number(sign + digits[:at] + "." + digits[at:])
}

// moment returns the time n units after the beginning of 1970, or of a day.
func moment(n int64, unit format.TimeUnit) time.Time {
	second := int64(1e9)
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		second = 1e3
	case *format.MicroSeconds:
		second = 1e6
	}
	return time.Unix(n/second, n%second*(1e9/second))
}

func clock(t time.Time, layout string) string { return t.UTC().Format(layout) }

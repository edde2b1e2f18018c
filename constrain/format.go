package constrain

// Formats of strings, as regular expressions.

import (
	"fmt"
	"strings"
)

// formats are the supported formats. RFC 3339 for dates and times, with leap days, and leap seconds
// if the offset is whole or half hours; RFC 4122; RFC 2673; RFC 4291.
var formats = map[string]string{
	"date":      `^` + dateFormat + `$`,
	"time":      `^` + timeFormat() + `$`,
	"date-time": `^` + dateFormat + `[Tt]` + timeFormat() + `$`,
	"uuid":      `^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`,
	"ipv4":      `^` + ipv4Format + `$`,
	"ipv6":      `^(` + ipv6Format() + `)$`,
}

const (
	dateFormat = `([0-9]{4}-(((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01]))|` +
		`((0[469]|11)-(0[1-9]|[12][0-9]|30))|(02-(0[1-9]|1[0-9]|2[0-8])))|` +
		`([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)`

	clockFormat  = `([01][0-9]|2[0-3]):[0-5][0-9]`
	secondFormat = `(\.[0-9]+)?`

	byteFormat = `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	ipv4Format = byteFormat + `(\.` + byteFormat + `){3}`
)

// timeFormat returns the regex of times, with all cases of a leap second: at 23:59:60 of UTC.
func timeFormat() string {
	leap := []string{`23:59:60` + secondFormat + `[Zz]`}
	for hour := range 24 {
		east, west := (hour+1)%24, 23-hour // offsets of whole hours
		leap = append(leap, fmt.Sprintf(`%02d:(59:60%s([+]%02d:00|-%02d:00)|29:60%s([+]%02d:30|-%02d:30))`,
			hour, secondFormat, east, west, secondFormat, hour, west))
	}
	return `(` + clockFormat + `:[0-5][0-9]` + secondFormat + `([Zz]|[+-]` + clockFormat + `)|` +
		strings.Join(leap, "|") + `)`
}

// ipv6Format returns the regex of IPv6 addresses, with all positions of ::.
func ipv6Format() string {
	const group = `[0-9A-Fa-f]{1,4}`
	last := `(` + group + `:` + group + `|` + ipv4Format + `)` // 32 bits
	forms := []string{`(` + group + `:){6}` + last}
	// number of groups after ::, which stands for at least one
	for after := 0; after <= 7; after++ {
		right := ""
		switch {
		case after == 1:
			right = group
		case after > 1:
			right = fmt.Sprintf(`(%s:){%d}%s`, group, after-2, last)
		}
		left := ""
		if most := 7 - after; most > 0 {
			left = fmt.Sprintf(`(%s(:%s){0,%d})?`, group, group, most-1)
		}
		forms = append(forms, left+`::`+right)
	}
	return strings.Join(forms, "|")
}

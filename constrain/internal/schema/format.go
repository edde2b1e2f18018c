package schema

// Formats of strings, as regular expressions.

import (
	"fmt"
	"math/big"
	"strings"
	"sync"

	"picogpt/internal/quote"
)

// A format is what a string of a format matches.
type format struct {
	patterns []string // all of them
	max      int      // characters at most; 0: any number
}

// formats returns the formats that strings are held to: those of draft 2020-12, of OpenAPI, and of
// zod. A text of one is valid for ajv too, but for addresses with " or [: RFC 3339 for dates, times
// and durations, with leap days, and leap seconds if the offset is whole or half hours; RFC 5321 for
// addresses, at domains with a point or in brackets; RFC 1123 for hosts, without punycode; of those
// of IDNA some; RFC 2673 and 4291; RFC 3986, 3987 and 6570; RFC 4122; RFC 4648; RFC 6901; regexes
// that ECMA-262, RE2 and Python read alike, with groups three deep.
var formats = sync.OnceValue(func() map[string]format {
	return map[string]format{
		"date":      {patterns: []string{`^` + dateFormat + `$`}},
		"time":      {patterns: []string{`^` + timeFormat() + `$`}},
		"date-time": {patterns: []string{`^` + dateFormat + `[Tt]` + timeFormat() + `$`}},
		"duration":  {patterns: []string{`^P(` + durationFormat + `)$`}},

		"email": {[]string{`^(` + atomFormat + `(\.` + atomFormat + `)*|` + quotedFormat + `)@` +
			`(` + hostFormat(1) + `|\[(` + ipv4Format + `|IPv6:(` + ipv6Format() + `))\])$`,
			`^([^"@]{1,64}@|")`}, 254},
		"idn-email": {[]string{`^[0-9A-Za-z` + letters + `]+([._+-][0-9A-Za-z` + letters + `]+)*@` +
			idnFormat(1) + `$`, `^[^@]{1,16}@`}, 55},
		"idn-hostname": {[]string{`^` + idnFormat(0) + `$`}, 55},
		"hostname":     {[]string{`^` + hostFormat(0) + `$`}, 253},
		"ipv4":         {patterns: []string{`^` + ipv4Format + `$`}},
		"ipv6":         {patterns: []string{`^(` + ipv6Format() + `)$`}},

		"uri":           {patterns: []string{`^(` + uris.whole() + `)$`}},
		"uri-reference": {patterns: []string{`^(` + uris.reference() + `)$`}},
		"iri":           {patterns: []string{`^(` + iris.whole() + `)$`}},
		"iri-reference": {patterns: []string{`^(` + iris.reference() + `)$`}},
		"uri-template":  {patterns: []string{`^` + templateFormat() + `$`}},

		"uuid":                  {patterns: []string{uuidFormat}},
		"json-pointer":          {patterns: []string{`^` + pointerFormat + `$`}},
		"relative-json-pointer": {patterns: []string{`^(0|[1-9][0-9]*)(#|` + pointerFormat + `)$`}},
		"regex":                 {patterns: []string{`^` + regexFormat() + `$`}},

		// OpenAPI
		"byte": {patterns: []string{base64Format}},

		// zod
		"guid":      {patterns: []string{uuidFormat}},
		"base64":    {patterns: []string{base64Format}},
		"base64url": {patterns: []string{`^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?$`}},
		"jwt":       {patterns: []string{`^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$`}},
		"cidrv4":    {patterns: []string{`^` + ipv4Format + `/([0-9]|[12][0-9]|3[0-2])$`}},
		"cidrv6":    {patterns: []string{`^(` + ipv6Format() + `)/([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8])$`}},
		"e164":      {patterns: []string{`^[+][1-9][0-9]{6,14}$`}},
		"cuid":      {patterns: []string{`^[cC][0-9a-z]{6,}$`}},
		"cuid2":     {patterns: []string{`^[0-9a-z]+$`}},
		"ulid":      {patterns: []string{`^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$`}},
		"nanoid":    {patterns: []string{`^[A-Za-z0-9_-]{21}$`}},
		"xid":       {patterns: []string{`^[0-9a-vA-V]{20}$`}},
		"ksuid":     {patterns: []string{`^[A-Za-z0-9]{27}$`}},
	}
})

// formatKeys has the lengths of the formats, by what c.table knows their patterns by.
var formatKeys = sync.OnceValue(func() map[string]int {
	keys := map[string]int{}
	for _, f := range formats() {
		keys[fmt.Sprintf("%q", sortedTexts(f.patterns))] = f.max
	}
	return keys
})

// numberFormats are the formats of numbers in OpenAPI and in Rust's schemars: their bounds, and
// whether they are whole.
var numberFormats = map[string]struct {
	least, most string
	whole       bool
}{
	"int8": {"-128", "127", true}, "uint8": {"0", "255", true},
	"int16": {"-32768", "32767", true}, "uint16": {"0", "65535", true},
	"int32": {"-2147483648", "2147483647", true}, "uint32": {"0", "4294967295", true},
	"int64": {"-9223372036854775808", "9223372036854775807", true},
	"int":   {"-9223372036854775808", "9223372036854775807", true},

	"uint64": {"0", "18446744073709551615", true},
	"uint":   {"0", "18446744073709551615", true},
	"float":  {"-3.4028234663852886e38", "3.4028234663852886e38", false},
	"double": {"-1.7976931348623157e308", "1.7976931348623157e308", false},
}

// hints are formats that restrict nothing where they are defined.
var hints = map[string]bool{"password": true, "binary": true}

// spelled are the formats with which zod names a pattern that stands beside them.
var spelled = map[string]bool{"starts_with": true, "ends_with": true, "includes": true,
	"lowercase": true, "uppercase": true, "emoji": true}

// formatOf reads the format of a schema. A format that nobody defines is an annotation, as draft
// 2020-12 says, and is noted.
func (c *compiler) formatOf(s *schema, in, v *jsonValue) {
	c.want(v, '"', "a string")
	name := v.text
	if bounds, ok := numberFormats[name]; ok {
		also := c.newSchema(in)
		also.minimum, _ = parseDecimal(bounds.least)
		also.maximum, _ = parseDecimal(bounds.most)
		if bounds.whole {
			also.multiple = big.NewRat(1, 1)
		}
		s.also = append(s.also, also)
	} else if formats()[name].patterns != nil {
		s.format = name
	} else if !hints[name] && (!spelled[name] || in.member("pattern") == nil) {
		c.note(fmt.Sprintf("%s: format %s is not known", in.at(), quote.Short(name, 40)),
			"and restricts nothing")
	}
}

const (
	dateFormat = `([0-9]{4}-(((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01]))|` +
		`((0[469]|11)-(0[1-9]|[12][0-9]|30))|(02-(0[1-9]|1[0-9]|2[0-8])))|` +
		`([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)`

	clockFormat  = `([01][0-9]|2[0-3]):[0-5][0-9]`
	secondFormat = `(\.[0-9]+)?`

	byteFormat = `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	ipv4Format = byteFormat + `(\.` + byteFormat + `){3}`

	clockSpan      = `T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S)`
	durationFormat = `[0-9]+W|([0-9]+Y([0-9]+M([0-9]+D)?)?|[0-9]+M([0-9]+D)?|[0-9]+D)(` + clockSpan +
		`)?|` + clockSpan

	atomFormat   = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
	quotedFormat = `"[ !#-\[\]-~]{0,62}"`

	uuidFormat    = `^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`
	base64Format  = `^([0-9A-Za-z+/]{4})*([0-9A-Za-z+/]{2}==|[0-9A-Za-z+/]{3}=)?$`
	pointerFormat = `(/([^~/]|~[01])*)*`
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

// hostLabel has up to 63 characters. Third and fourth hyphens are those of punycode: it counts in
// the numbers that stand for all of a label, and the automaton of a script would be too large.
const hostLabel = `([0-9A-Za-z]([0-9A-Za-z-]{0,2}[0-9A-Za-z]|[0-9A-Za-z-](-[0-9A-Za-z]|` +
	`[0-9A-Za-z][0-9A-Za-z-])[0-9A-Za-z-]{0,58}[0-9A-Za-z])?)`

// hostFormat returns the regex of names of hosts with at least some points.
func hostFormat(points int) string {
	return fmt.Sprintf(`%s(\.%s){%d,}`, hostLabel, hostLabel, points)
}

// letters are some that IDNA 2008 allows wherever they stand, of scripts that are written from the
// left: which others it allows, only tables could say.
const letters = `ß-öø-ÿα-ωа-я་〇` + cjk + `가-힣`

const (
	cjk    = `ぁ-ゖァ-ヺ一-龥`
	arabic = `ء-غف-ي۽۾`    // written from the right
	joined = `بت-خس-غف-هي` // those of them that join both of their neighbours
)

// idnFormat returns the regex of names of hosts with labels of some of these letters, so few that
// their punycode is short enough, and with what IDNA 2008 allows beside some letters only. A name
// has one direction.
func idnFormat(points int) string {
	const left = `(` + hostLabel + `|[0-9a-z` + letters + `]{1,9}|[0-9۰-۹]{1,9}|[a-z]{0,9}l·l[a-z]{0,9}|` +
		`[α-ω]{1,4}͵[α-ω]{1,4}|・?[` + cjk + `][・` + cjk + `]{0,7}|` +
		`([क-ह](्[\x{200c}\x{200d}]?)?){0,2}[क-ह])`
	const right = `([א-ת][א-ת׳״]{0,8}|[` + arabic + `][` + arabic + `٠-٩]{0,8}|` +
		`[` + arabic + `]{0,3}[` + joined + `]\x{200c}[` + joined + `][` + arabic + `]{0,3})`
	const one = `(%[1]s([.。．｡]%[1]s){%[2]d,})`
	return `(` + fmt.Sprintf(one, left, points) + `|` + fmt.Sprintf(one, right, points) + `)`
}

// An identifier is the syntax of RFC 3986 or, with more characters, RFC 3987: regexes of classes.
type identifier struct{ plain, query string }

var (
	uris = identifier{`A-Za-z0-9._~!$&'()*+,;=\-`, ``}
	iris = identifier{uris.plain + moreCharacters, `\x{e000}-\x{f8ff}\x{f0000}-\x{ffffd}\x{100000}-\x{10fffd}`}
)

// moreCharacters are ucschar of RFC 3987.
const moreCharacters = `\x{a0}-\x{d7ff}\x{f900}-\x{fdcf}\x{fdf0}-\x{ffef}` +
	`\x{10000}-\x{1fffd}\x{20000}-\x{2fffd}\x{30000}-\x{3fffd}\x{40000}-\x{4fffd}` +
	`\x{50000}-\x{5fffd}\x{60000}-\x{6fffd}\x{70000}-\x{7fffd}\x{80000}-\x{8fffd}` +
	`\x{90000}-\x{9fffd}\x{a0000}-\x{afffd}\x{b0000}-\x{bfffd}\x{c0000}-\x{cfffd}` +
	`\x{d0000}-\x{dfffd}\x{e1000}-\x{efffd}`

const percentFormat = `%[0-9A-Fa-f]{2}`

// class returns the regex of one character of some, or its escape.
func (i identifier) class(more string) string {
	return `([` + more + i.plain + `]|` + percentFormat + `)`
}

const schemeFormat = `[A-Za-z][A-Za-z0-9+.-]*:`

// whole returns the regex of an identifier with a scheme. Something follows the scheme.
func (i identifier) whole() string {
	return schemeFormat + `(` + i.authority() + `|` + i.absolute() + `|` + i.class(`:@`) + `+` +
		i.segments() + `)` + i.tail()
}

// reference returns the regex of what may have no scheme, or be empty.
func (i identifier) reference() string {
	return `((` + schemeFormat + `)?(` + i.authority() + `|` + i.absolute() + `)|(` + schemeFormat +
		i.class(`:@`) + `+|` + i.class(`@`) + `+)` + i.segments() + `)?` + i.tail()
}

func (i identifier) segments() string { return `(/` + i.class(`:@`) + `*)*` }

func (i identifier) absolute() string { return `/(` + i.class(`:@`) + `+` + i.segments() + `)?` }

// authority returns the regex of //, a host and a path. Escapes in hosts are those of characters
// beyond ASCII.
func (i identifier) authority() string {
	return `//(` + i.class(`:`) + `*@)?(\[(` + ipv6Format() + `)\]|([` + i.plain +
		`]|%[89A-Fa-f][0-9A-Fa-f])*)(:[0-9]*)?` + i.segments()
}

// tail returns the regex of a query and a fragment.
func (i identifier) tail() string {
	return `([?]` + i.class(i.query+`:@/?`) + `*)?(#` + i.class(`:@/?`) + `*)?`
}

// templateFormat returns the regex of URI templates.
func templateFormat() string {
	const name = `([0-9A-Za-z_]|` + percentFormat + `)+(:[1-9][0-9]{0,3}|[*])?`
	return `([!#$&(-;=?-\[\]_a-z~` + moreCharacters + `]|` + percentFormat + `|[{][+#./;?&]?` + name +
		`(,` + name + `)*[}])*`
}

// regexFormat returns the regex of regexes. Of ranges and counts it has those that it can tell to
// be in order from their ends, and braces and brackets never stand for themselves.
func regexFormat() string {
	const plain = `[^\x00-\x1f\x7f\\^$.*+?()\[\]{}|]`
	const escape = `\\[dDwWsStnrfv^$\\.*+?()\[\]{}|/]`
	const ranges = `0-[0-9]|[0-9]-9|a-[a-z]|[a-z]-z|A-[A-Z]|[A-Z]-Z`
	const counts = `[0-9]{1,3},?|[0-9],[1-9][0-9]{1,2}|0,[0-9]|1,[1-9]|2,[2-9]|3,[3-9]|[0-9],9`
	const class = `\[\^?([^\x00-\x1f\x7f\\\[\]^-]|` + escape + `|\\-|` + ranges + `)+\]`
	const one = `(` + plain + `|[.]|` + escape + `|` + class + `)(([*+?]|\{(` + counts + `)\})[?]?)?`
	re := ""
	for depth := range 4 {
		group := ""
		if depth > 0 {
			group = `|\((\?:)?` + re + `\)([*+?][?]?)?`
		}
		re = `([|^$]|\\[bB]|` + one + group + `)*`
	}
	return re
}

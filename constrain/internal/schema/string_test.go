package schema

// Strings: escapes against the grammar of RFC 8259, formats against another project's checks.

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/constrain/internal/automaton"
	"picogpt/dev/cases"
	"picogpt/dev/judge"
	"picogpt/dev/walks"
)

func TestOnlyWhatMustIsEscaped(t *testing.T) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`,
		'\t': `\t`}
	for r := range rune(0x110000) {
		want := string(r) // of a surrogate, U+FFFD
		if s, ok := short[r]; ok {
			want = s
		} else if r < 0x20 {
			want = fmt.Sprintf(`\u%04x`, r)
		}
		got := escapeJSON(string(r))
		if got != want {
			t.Errorf("%U: %s, want %s", r, got, want)
		}
		if back := unescapeJSON(got); back != string(r) {
			t.Errorf("%U: %s is read as %q", r, got, back)
		}
	}
	var back string
	if err := json.Unmarshal([]byte(`"`+escapeJSON("a\xffb")+`"`), &back); err != nil ||
		back != strings.ToValidUTF8("a\xffb", "\ufffd") {
		t.Errorf("invalid bytes: %q, %v", back, err)
	}
}

// The addresses, hosts and identifiers are those of JSON-Schema-Test-Suite's optional tests, and of
// the RFCs. Of those in others the format is right and its texts are spelled otherwise here.
var formatted = map[string]struct{ yes, no, others []string }{
	"email": {texts(`joe.bloggs@example.com "joe.bloggs"@example.com "joe@b..c"@a.de te~st@example.com ~test@example.com a+b@c.de x@` + strings.Repeat("a", 63) + `.org joe@[127.0.0.1] joe@[IPv6:::1]`),
		texts(`2962 joe@[127.0.0.300] joe@[::1] .test@example.com test.@example.com te..st@example.com joe@ @a.de a@-b.de a@b-.de a@b..de ` +
			strings.Repeat("a", 65) + `@b.de a@` + strings.Repeat("b", 64) + `.de a@b.de@c a(b@c.de`),
		[]string{"joe@localhost"}},
	"idn-email": {texts(`실례@실례.테스트 joe.b@bücher.de`), texts(`2962 @a.de a@b@c.de`), []string{"a@شبك.com"}},
	"idn-hostname": {append(texts(`실례.테스트 bücher.example a 例え host-name ßς་〇 ۽۾ l·l α͵β א׳ב א״ב ・ぁ ・ァ ・丈 ب٠ب ۰0 a。b．c｡d`),
		"क्\u200dष", "क्\u200cष", "بي\u200cبي"), append(texts(`〮실례.테스트 a..b -a a- a·l ·l l·a l· α͵S α͵ A׳ב ׳ב ״ב
		def・abc ・ ب٠۰ ـߺ 〱 。 . a.ב `+strings.Repeat("ü", 64)), "क\u200dष", "\u200dष", "ء\u200cب"),
		[]string{"xn--ihqwcrb4cv8a8dqg056pqjye"}},
	"hostname": {texts(`www.example.com example a-b.c 1.2.3.4 ab-c.d a` + strings.Repeat(".a", 126) + " " + strings.Repeat("a", 63)),
		texts(`-a a- a_b .a a..b a. é.de ` + strings.Repeat("a", 64) + " a" + strings.Repeat(".a", 127)),
		[]string{"xn--nxasmq6b.de"}},
	"duration": {texts(`P4DT12H30M5S P4Y PT0S P1M PT1M P2W P1Y2M3DT4H5M6S PT36H P1DT12H`),
		texts(`PT1D P P1YT PT P2D1Y P1D2H P2S P1Y2W 1D P1.5D PT1H2S P1Y2D Pٱ`), nil},
	"uri": {texts(`http://foo.bar/?baz=qux#quux http://foo.bar/?q=Test%20URL-encoded%20stuff http://-.~_!$&'()*+,;=:%40:80@example.com
		http://[2001:db8::7]/c=GB mailto:John.Doe@example.com urn:oasis:names:specification ldap://[::1]:389/ tel:+1-816 file:///etc
		news:comp.infosystems.www.servers.unix http://user@h:80/p/%C3%A9?a/b?c#d/e?`),
		texts(`//foo.bar/?baz /abs/ref \\WINDOWS abc :// http://a<b a http://a[b http://[::1 http://a/%zz http://a:b/ #x a:\\ 1a:b`), nil},
	"uri-reference": {texts(`http://foo.bar/ //foo.bar/?baz=qux#quux /abc abc #fragment ?q ../a;b=c a/b:c %41`),
		texts(`\\WINDOWS\\fileshare #frag\\ment a:b:c[ 1:a a<b`), nil},
	"iri":           {texts(`http://ƒøø.ßår/?∂éœ=πîx#πîüx http://a/é?`), texts(`/abc \\WINDOWS http://a<é âππ`), nil},
	"iri-reference": {texts(`//ƒøø.ßår/?∂éœ=πîx âππ #ƒrägmênt`), texts(`\\WINDOWS #ƒräg\mênt`), nil},
	"uri-template": {texts(`http://example.com/dictionary/{term:1}/{term} http://example.com/dictionary /a{;x:20}b`),
		texts(`http://a/{term:1}/{term a{ {a b} {a:0} {} {a,}`), nil},
	"json-pointer":          {texts(`/foo/bar~0/baz~1/%a /foo// /a~1b /~01 /é`), texts(`a /foo/bar~ /~2 #/ ~0`), nil},
	"relative-json-pointer": {texts(`1 0/foo/bar 2/0/baz/1/zip 0# 120#`), texts(`/foo -1/a 0## 01/a # +1`), nil},
	"regex": {texts(`a ^a$ (a|b)*? [^a-z0-9_\-]+ \d{2,5} a{3}b{0,}? (?:(x(y)+)|) \(\[ [\]] é.\b a{7,10} || 0-9 ()`),
		texts(`( ) a) [ [] [^] [z-a] a{5,2} a** *a +? \ \c a{1 {2} ((((a)))) (?=a [a-\d] ^* \b+ (?<n>`), texts(`a{1}{2} [[a] x{ a{12,15} (?=a) ((((a))))`)},
	"base64":    {texts(`aGVsbG8= YQ== AAAA +/+/`), texts(`a aa aaa a=== aGVsbG8 a-__ YQ=`), nil},
	"byte":      {texts(`aGVsbG8=`), texts(`a-__`), nil},
	"base64url": {texts(`aGVsbG8 a-__ YQ`), texts(`aGVsbG8= + a`), nil},
	"jwt": {texts(`eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhIjoxfQ.c2ln eyJhbGciOiJub25lIn0.eyJhIjoxfQ.`),
		texts(`a.b.c eyJh.eyJh eyJh..c eyJh.b.c= e.y.J`), nil},
	"cidrv4": {texts(`10.0.0.0/8 1.2.3.4/32`), texts(`10.0.0.0 10.0.0.0/33 10.0.0.256/8 1.2.3.4/032`), nil},
	"cidrv6": {texts(`2001:db8::/32 ::/0 ::1/128`), texts(`2001:db8:: ::/129 ::/01`), nil},
	"e164":   {texts(`+4915112345678`), texts(`+0151123456 4915112345678 +49151 +1234567890123456`), nil},
	"guid":   {texts(`2f1d9c9a-8f0b-4c3e-9a57-0d6a5f3b1c11`), texts(`2f1d9c9a8f0b4c3e9a570d6a5f3b1c11`), nil},
	"cuid":   {texts(`cjld2cjxh0000qzrmn831i7rn`), texts(`ajld2cjxh c1`), nil},
	"cuid2":  {texts(`tz4a98xxat96iws9zmbrgj3a`), texts(`tz4A`), nil},
	"ulid":   {texts(`01ARZ3NDEKTSV4RRFFQ69G5FAV`), texts(`81ARZ3NDEKTSV4RRFFQ69G5FAV 01ARZ3NDEKTSV4RRFFQ69G5FAU`), nil},
	"nanoid": {texts(`V1StGXR8_Z5jdHi6B-myT`), texts(`V1StGXR8_Z5jdHi6B-my`), nil},
	"xid":    {texts(`9m4e2mr0ui3e8a215n4g`), texts(`9m4e2mr0ui3e8a215n4z`), nil},
	"ksuid":  {texts(`0ujtsYcgvSTl8PAuAdqWYSMnLOv`), texts(`0ujtsYcgvSTl8PAuAdqWYSMnLO`), nil},
}

// withoutJudge are the formats that the judge does not know.
var withoutJudge = texts(`base64 byte base64url jwt cidrv4 cidrv6 e164 guid cuid cuid2 ulid nanoid xid ksuid`)

// texts are several, between spaces.
func texts(list string) []string { return strings.Fields(list) }

// template is ajv's regex of uri-template.
var template = regexp.MustCompile("(?i)^(?:(?:[^\\x00-\\x20\"'<>%\\\\^`{|}]|%[0-9a-f]{2})|\\{[+#./;?&=,!@|]?" +
	"(?:[a-z0-9_]|%[0-9a-f]{2})+(?::[1-9][0-9]{0,3}|\\*)?(?:,(?:[a-z0-9_]|%[0-9a-f]{2})+(?::[1-9][0-9]{0,3}|\\*)?)*\\})*$")

func TestFormatsTakeWhatHasThem(t *testing.T) {
	cases.NotShort(t)
	for name := range formats() {
		if _, ok := formatted[name]; !ok && !slices.Contains(texts("date time date-time ipv4 ipv6 uuid"), name) {
			t.Errorf("format %s has no test", name)
		}
	}
	for name, f := range formatted {
		schema := fmt.Sprintf(`{"type":"string","format":%q}`, name)
		check := judge.Schema(t, schema)
		c := compile(t, schema, Options{Strict: true})
		for i, text := range slices.Concat(f.yes, f.no, f.others) {
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			spelled := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted))
			want := i < len(f.yes)
			if got := accepts(c, spelled); got != want {
				t.Errorf("%s: %s: accepted %v, want %v", name, spelled, got, want)
			}
			if valid := check(spelled) == nil; want && !valid {
				t.Errorf("%s: %s: the judge says that it is not valid", name, spelled)
			}
		}
		if name == "uri-template" { // the judge wants a URL
			check = func(text string) error {
				var s string
				if err := json.Unmarshal([]byte(text), &s); err != nil || !template.MatchString(s) {
					return fmt.Errorf("%s does not match it", template)
				}
				return nil
			}
		}
		walks.Run(t, name, 6, func() walks.Matcher { return walks.Of(c) }, check)
	}
	for _, name := range withoutJudge {
		if formats()[name].patterns == nil {
			t.Errorf("%s is no format", name)
		}
	}
}

// What a schema costs does not depend on the schemas that a vocabulary has compiled before.
func TestFormatsAreMadeOnceAndCostTheSame(t *testing.T) {
	v := &Vocabulary{Trie: gpt2().Trie}
	cost := func(v *Vocabulary, schema string) int {
		m := automaton.NewMeter(context.Background(), nil, nil, len(schema))
		if _, _, err := Compile(v, []byte(schema), Options{}, m); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
		return m.Used
	}
	both := `{"properties":{"a":{"format":"uri","maxLength":9},"b":{"format":"uri"},"c":{"format":"email"}}}`
	for _, schema := range []string{`{"format":"uri","maxLength":9}`, both, `{"format":"email","pattern":"a"}`,
		`{"format":"uri"}`, `{"format":"uri","maxLength":20}`, both} {
		if got, want := cost(v, schema), cost(&Vocabulary{Trie: v.Trie}, schema); got != want {
			t.Errorf("%s: %d steps, want %d", schema, got, want)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { cost(v, both) })
	}
	all.Wait()
	made := 0
	v.ready.Range(func(_, _ any) bool { made++; return true })
	if made != 3 {
		t.Errorf("%d automatons are kept, want those of uri and email, and of its lengths", made)
	}
}

func TestFormatsOfNumbersAreBounds(t *testing.T) {
	for name, c := range map[string]struct{ yes, no []string }{
		"int32":  {texts(`-2147483648 2147483647 0 "x"`), texts(`2147483648 -2147483649 1.5`)},
		"uint8":  {texts(`0 255`), texts(`-1 256`)},
		"int64":  {texts(`9223372036854775807 -9223372036854775808`), texts(`9223372036854775808 1e3`)},
		"uint64": {texts(`18446744073709551615`), texts(`18446744073709551616 -1`)},
		"float":  {texts(`1.5 340282346638528860000000000000000000000`), texts(`1e39 350000000000000000000000000000000000000`)},
		"double": {texts(`1.5 -1e-7`), nil},
	} {
		for _, schema := range []string{`{"format":%q}`, `{"type":["number","string"],"format":%q,"minimum":-1e300}`} {
			s := compile(t, fmt.Sprintf(schema, name), Options{Strict: true})
			for _, text := range append(c.yes, c.no...) {
				if got := accepts(s, text); got != slices.Contains(c.yes, text) {
					t.Errorf("%s: %s: accepted %v", name, text, got)
				}
			}
		}
	}
	c := compile(t, `{"type":"number","format":"int32","minimum":5,"enum":[3,5,5.5,7]}`, Options{})
	for text, want := range map[string]bool{"3": false, "5": true, "5.5": false, "7": true} {
		if got := accepts(c, text); got != want {
			t.Errorf("%s: accepted %v, want %v", text, got, want)
		}
	}
}

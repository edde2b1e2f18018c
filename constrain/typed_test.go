package constrain_test

// Typed forms against encoding/json: it decodes what they write, and they take what it writes.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"picogpt/constrain"
	"picogpt/dev/cases"
	"picogpt/dev/judge"
)

// byteWise is a vocabulary of all bytes; id 256 ends a text.
func byteWise(t testing.TB) *constrain.Vocabulary {
	t.Helper()
	tokens := make([][]byte, 257)
	for b := range 256 {
		tokens[b] = []byte{byte(b)}
	}
	v, err := constrain.NewVocabulary(tokens, constrain.VocabularyOptions{Ends: []int{256}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type word string

type person struct {
	Name   string    `json:"name" jsonschema:"title=Name,minLength=1,maxLength=8,pattern=^[A-Z][a-z]*$"`
	Age    uint8     `json:"age,omitempty" jsonschema:"minimum=5,maximum=99,multipleOf=3,description=in years\\, whole"`
	Mood   word      `jsonschema:"enum=happy,enum=sad,default=sad"`
	Height float64   `json:",omitzero" jsonschema:"exclusiveMinimum=0,maximum=2.5"`
	Likes  []string  `json:"likes" jsonschema:"minItems=1,maxItems=3,uniqueItems"`
	Born   time.Time `json:"born"`
	hidden func()
	Skip   chan int `json:"-"`
	Best   *person  `json:"best"`
	Friend *person  `json:"friend,omitempty"`
}

type base struct {
	ID   int64  `json:"id,string"`
	Kind string `json:"kind" jsonschema:"enum=a,enum=b\\,c"`
	Both int
}

type Other struct{ Both int }

type deep struct {
	base
	*Other
	Inner
	Pair    [2]int16      `json:"pair" jsonschema:"minimum=-3"`
	Map     map[word]bool `json:"map"`
	Data    []byte        `json:"data"`
	Any     any           `jsonschema:"oneof_type=string;integer"`
	Raw     json.RawMessage
	Number  json.Number
	Matrix  [][]float32       `jsonschema:"maxItems=2"`
	Yes     *bool             `json:",string"`
	Wait    time.Duration     `jsonschema:"minimum=0"`
	Small   uint16            `json:",string"`
	Nothing struct{}          `json:"nothing"`
	Named   map[string]*Inner `json:"named,omitempty"`
}

type Inner struct {
	Left  *Inner `json:"left,omitempty"`
	Value int8   `json:"value" jsonschema:"required,enum=1,enum=-7"`
}

type grouped struct {
	Mail  string `json:"mail,omitempty" jsonschema:"oneof_required=mail,format=email,maxLength=20"`
	Phone string `json:"phone,omitempty" jsonschema:"oneof_required=phone,pattern=^[0-9]{3}$"`
	City  string `json:"city,omitempty" jsonschema:"oneof_required=phone,minLength=1,maxLength=2"`
}

type colour struct{ r, g byte }

func (c colour) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%02x%02x", c.r, c.g), nil }
func (c *colour) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%02x%02x", &c.r, &c.g)
	return err
}
func (colour) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","pattern":"^[0-9a-f]{4}$"}`)
}

type coloured struct {
	Of   colour
	Many []colour `jsonschema:"maxItems=2"`
}

// drawn writes a text of a form byte by byte, and tends to its end.
func drawn(t *testing.T, c *constrain.Constraint, v *constrain.Vocabulary, random *rand.Rand) string {
	t.Helper()
	text, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	open := make([]uint64, v.Words())
	var b []byte
	for len(b) < 1<<14 {
		if err := text.Mask(open); err != nil {
			t.Fatal(err)
		}
		var may []byte
		for id := range 256 {
			if open[id/64]>>(id%64)&1 != 0 {
				may = append(may, byte(id))
			}
		}
		if text.Complete() && (len(may) == 0 || random.IntN(3) == 0) {
			return string(b)
		}
		next := may[random.IntN(len(may))]
		if random.IntN(60) < len(b) {
			for _, end := range []byte(`"}]n`) {
				if bytes.IndexByte(may, end) >= 0 && random.IntN(4) > 0 {
					next = end
					break
				}
			}
		}
		if err := text.Accept(int(next)); err != nil {
			t.Fatal(err)
		}
		b = append(b, next)
	}
	return ""
}

// checkTyped draws texts of a type's form, decodes each, and calls obeys with the value.
func checkTyped[T any](t *testing.T, obeys func(T) error) {
	t.Helper()
	v := byteWise(t)
	form, err := constrain.For[T](v, constrain.SchemaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := constrain.SchemaFor[T]()
	if err != nil {
		t.Fatal(err)
	}
	check := judge.Schema(t, string(schema))
	complete := 0
	n := cases.Sized(150, 3000)
	for seed := range uint64(n) {
		random := rand.New(rand.NewPCG(seed, 32))
		text := drawn(t, form, v, random)
		if text == "" {
			continue
		}
		complete++
		var value T
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&value); err != nil {
			t.Fatalf("%T: %s: %v", value, text, err)
		}
		if err := obeys(value); err != nil {
			t.Fatalf("%T: %s: %v", value, text, err)
		}
		if err := check(text); err != nil {
			t.Fatalf("%T: %s: %v", value, text, err)
		}
		var random2 T
		fill(reflect.ValueOf(&random2).Elem(), random, 3)
		written, err := json.Marshal(random2)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := obeys(random2) == nil, takes(t, form, string(written)); got != want {
			t.Fatalf("%T: %s: accepted %v, want %v: %v", value, written, got, want, obeys(random2))
		}
	}
	if complete < n/2 {
		t.Errorf("%d of %d texts are complete, want more", complete, n)
	}
}

// takes reports whether a form accepts a text.
func takes(t *testing.T, c *constrain.Constraint, text string) bool {
	t.Helper()
	at, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(text) {
		if at.Accept(int(text[i])) != nil {
			return false
		}
	}
	return at.Complete()
}

// fill makes a random value, of which the tags of these types allow a good part.
func fill(v reflect.Value, random *rand.Rand, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(random.Int64N(4e9), random.Int64N(2)*1e6).UTC()))
		return
	case json.RawMessage:
		v.SetBytes([]byte([]string{"1", `{"a":[null]}`, `"x"`}[random.IntN(3)]))
		return
	case json.Number:
		v.SetString([]string{"1", "-2.5", "1e+30"}[random.IntN(3)])
		return
	case colour:
		v.Set(reflect.ValueOf(colour{byte(random.IntN(256)), 7}))
		return
	}
	words := []string{"Tom", "Lily", "happy", "sad", "a", "b,c", "123", "é\"\n", "x@y.zz", "ab"}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		beyond := 64 - v.Type().Bits()
		v.SetInt([]int64{1, -7, 0, math.MinInt64 >> beyond, math.MaxInt64 >> beyond}[random.IntN(5)])
	case reflect.Uint8, reflect.Uint16:
		v.SetUint([]uint64{0, 5, 6, 99, 255, 1<<v.Type().Bits() - 1}[random.IntN(6)])
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 0.1, 2.5, 2.25, 1e-9, -1, 1e20}[random.IntN(7)])
	case reflect.String:
		v.SetString(words[random.IntN(len(words))])
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{"x", 3, 2.5, true}[random.IntN(4)]))
	case reflect.Pointer:
		if depth > 0 && random.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), random, depth-1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(4), 4))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), random, depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range random.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, random, depth-1)
			fill(value, random, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(f, random, depth)
			} else if f.Kind() == reflect.Struct { // embedded, not exported: its fields can be set
				for j := range f.NumField() {
					if f.Field(j).CanSet() {
						fill(f.Field(j), random, depth)
					}
				}
			}
		}
	}
}

var personName = regexp.MustCompile(`^[A-Z][a-z]{0,7}$`)

func (p *person) obeys() error {
	if p == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, like := range p.Likes {
		if seen[like] {
			return fmt.Errorf("likes %q", p.Likes)
		}
		seen[like] = true
	}
	switch {
	case !personName.MatchString(p.Name):
		return fmt.Errorf("name %q", p.Name)
	case p.Age != 0 && (p.Age < 5 || p.Age > 99 || p.Age%3 != 0):
		return fmt.Errorf("age %d", p.Age)
	case p.Mood != "happy" && p.Mood != "sad":
		return fmt.Errorf("mood %s", p.Mood)
	case p.Height < 0 || p.Height > 2.5:
		return fmt.Errorf("height %v", p.Height)
	case len(p.Likes) < 1 || len(p.Likes) > 3:
		return fmt.Errorf("likes %q", p.Likes)
	case p.hidden != nil || p.Skip != nil:
		return fmt.Errorf("what has no JSON")
	}
	if err := p.Best.obeys(); err != nil {
		return err
	}
	return p.Friend.obeys()
}

func (d *deep) obeys() error {
	switch d.Any.(type) {
	case string, int, float64:
	default:
		return fmt.Errorf("any %v", d.Any)
	}
	if x, ok := d.Any.(float64); ok && x != math.Trunc(x) {
		return fmt.Errorf("any %v", x)
	}
	for i := range d.Pair {
		if d.Pair[i] < -3 {
			return fmt.Errorf("pair %v", d.Pair)
		}
	}
	if _, err := base64.StdEncoding.DecodeString(base64.StdEncoding.EncodeToString(d.Data)); err != nil {
		return err
	}
	inner := []*Inner{&d.Inner}
	for _, named := range d.Named {
		if named != nil {
			inner = append(inner, named)
		}
	}
	for _, at := range inner {
		for ; at != nil; at = at.Left {
			if at.Value != 1 && at.Value != -7 {
				return fmt.Errorf("value %d", at.Value)
			}
		}
	}
	if d.Kind != "a" && d.Kind != "b,c" {
		return fmt.Errorf("kind %q", d.Kind)
	}
	if len(d.Matrix) > 2 || d.Wait < 0 {
		return fmt.Errorf("matrix %v, wait %v", d.Matrix, d.Wait)
	}
	return nil
}

func TestTypedTextsAreDecodedAndValuesAreTaken(t *testing.T) {
	cases.NotShort(t)
	t.Run("person", func(t *testing.T) { checkTyped(t, func(p person) error { return p.obeys() }) })
	t.Run("deep", func(t *testing.T) { checkTyped(t, func(d deep) error { return d.obeys() }) })
	t.Run("colour", func(t *testing.T) {
		checkTyped(t, func(c coloured) error {
			if len(c.Many) > 2 {
				return fmt.Errorf("many %v", c.Many)
			}
			return nil
		})
	})
	t.Run("grouped", func(t *testing.T) {
		checkTyped(t, func(g grouped) error {
			mail, phone := g.Mail != "", g.Phone != "" && g.City != ""
			if mail == phone || mail && !strings.Contains(g.Mail, "@") || len([]rune(g.City)) > 2 ||
				g.Phone != "" && (len(g.Phone) != 3 || strings.Trim(g.Phone, "0123456789") != "") {
				return fmt.Errorf("%+v", g)
			}
			return nil
		})
	})
	t.Run("scalars", func(t *testing.T) {
		checkTyped(t, func([]int64) error { return nil })
		checkTyped(t, func(map[string][2]uint16) error { return nil })
		checkTyped(t, func(float32) error { return nil })
	})
}

// TestTheEdgesOfIntegersInStrings counts the option string of the tag json at its bounds.
func TestTheEdgesOfIntegersInStrings(t *testing.T) {
	type quoted struct {
		A int8   `json:",string"`
		B uint64 `json:",string"`
	}
	form, err := constrain.For[quoted](byteWise(t), constrain.SchemaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for n := -1200; n <= 1200; n++ {
		for _, text := range []string{fmt.Sprintf(`{"A":"%d","B":"0"}`, n),
			fmt.Sprintf(`{"A":"0","B":"1844674407370955%d"}`, 1616+n)} {
			var v quoted
			if want, got := json.Unmarshal([]byte(text), &v) == nil, takes(t, form, text); got != want {
				t.Errorf("%s: accepted %v, want %v", text, got, want)
			}
		}
	}
}

type hiddenBase struct{ X int8 }

// named has names that encoding/json takes from the tag, or does not, and an embedded struct that
// is not exported but has a name.
type named struct {
	hiddenBase `json:"base"`
	A          int8 `json:"€"`
	B          int8 `json:"naïve"`
	E          int8 `json:"a b/c~"`
}

func TestNamesOfFieldsAreThoseOfEncodingJSON(t *testing.T) {
	checkTyped(t, func(named) error { return nil })
}

// TestSchemasAreWrittenAsTheyAreRead: what is for people, and for models, has no escapes of HTML.
func TestSchemasAreWrittenAsTheyAreRead(t *testing.T) {
	type less struct {
		F int `json:"a&b" jsonschema:"description=a < b"`
	}
	schema, err := constrain.SchemaFor[struct{ Less less }]()
	if err != nil || !bytes.Contains(schema, []byte(`"a < b"`)) || !bytes.Contains(schema, []byte(`"a&b"`)) {
		t.Errorf("%s, %v", schema, err)
	}
}

type around *back

type back *around

// TestPointersThatLeadBackEnd: nothing is at their end.
func TestPointersThatLeadBackEnd(t *testing.T) {
	_, err := constrain.For[around](byteWise(t), constrain.SchemaOptions{})
	if err == nil || !strings.Contains(err.Error(), "leads back") {
		t.Errorf("%v", err)
	}
}

// TestWhatNoSchemaCanSayIsOneLine: the field, the type, and what to write.
func TestWhatNoSchemaCanSayIsOneLine(t *testing.T) {
	type bad[T any] struct {
		Items []struct{ Field T }
	}
	for want, get := range map[string]func() ([]byte, error){
		"].Items[].Field: type func() has no JSON":                                                               constrain.SchemaFor[bad[func()]],
		"Items[].Field: type chan int has no JSON that can be decoded: want another type, or the tag json:\"-\"": constrain.SchemaFor[bad[chan int]],
		"Field: type complex128 has no JSON":                                                                     constrain.SchemaFor[bad[complex128]],
		"Field: type map[int]string: want a map with keys of type string":                                        constrain.SchemaFor[bad[map[int]string]],
		"Field: type fmt.Stringer has no JSON":                                                                   constrain.SchemaFor[bad[fmt.Stringer]],
		"Field: type big.Int has a method MarshalJSON: want a method JSONSchema that returns its schema":         constrain.SchemaFor[bad[*big.Int]],
		"Field: type constrain_test.silent has a method MarshalJSON: want":                                       constrain.SchemaFor[bad[silent]],
		"F: jsonschema minLenght: the keyword is not known": constrain.SchemaFor[struct {
			F string `jsonschema:"minLenght=3"`
		}],
		"F: jsonschema minLength: want a whole number from 0, found \"x\"": constrain.SchemaFor[struct {
			F string `jsonschema:"minLength=x"`
		}],
		"F: jsonschema minLength: want a field of type string of JSON, found Go's int": constrain.SchemaFor[struct {
			F int `jsonschema:"minLength=1"`
		}],
		"F: jsonschema enum: want a value of the type integer of JSON, found \"one\"": constrain.SchemaFor[struct {
			F int `jsonschema:"enum=one"`
		}],
		"F: type float64 with the option string": constrain.SchemaFor[struct {
			F float64 `json:",string"`
		}],
		"F: jsonschema minItems: want the array's length 2, found 1": constrain.SchemaFor[struct {
			F [2]int `jsonschema:"minItems=1"`
		}],
		"F: JSONSchema: want a schema": constrain.SchemaFor[struct{ F wrong }],
		"F: JSONSchema: want a schema, an object of JSON: byte 15: want the end, found \"{}\"": constrain.SchemaFor[struct{ F doubled }],
		"F: jsonschema enum: want a field of type string, integer, number or boolean of JSON, found Go's interface {}": constrain.SchemaFor[struct {
			F any `jsonschema:"enum=a"`
		}],
		"F: jsonschema enum: want a value of the type integer of JSON, found \"1.5\"": constrain.SchemaFor[struct {
			F int `jsonschema:"enum=1.5"`
		}],
		"F[]: jsonschema enum: want a value of the type integer of JSON, found \"65536\"": constrain.SchemaFor[struct {
			F []uint16 `jsonschema:"enum=65535,enum=65536"`
		}],
		"F: jsonschema maxLength: want something between minLength 5 and maxLength 3, found nothing": constrain.SchemaFor[struct {
			F string `jsonschema:"minLength=5,maxLength=3"`
		}],
		"F: jsonschema minimum: want something between minimum 128 and maximum 127, found nothing": constrain.SchemaFor[struct {
			F int8 `jsonschema:"minimum=128"`
		}],
		"F: jsonschema exclusiveMinimum: want something between exclusiveMinimum 1 and maximum 1, found nothing": constrain.SchemaFor[struct {
			F float64 `jsonschema:"maximum=1,exclusiveMinimum=1"`
		}],
		"embedded pointer to constrain_test.hiddenBase, which is not exported": constrain.SchemaFor[struct {
			*hiddenBase `json:"base"`
		}],
	} {
		_, err := get()
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := constrain.For[struct {
		F string `jsonschema:"pattern=("`
	}](byteWise(t), constrain.SchemaOptions{}); err == nil || !strings.Contains(err.Error(), "#/properties/F") {
		t.Errorf("a pattern: %v", err)
	}
}

type silent struct{}

func (silent) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type doubled struct{}

func (doubled) JSONSchema() json.RawMessage { return json.RawMessage(`{"type":"null"}{}`) }

type wrong struct{}

func (wrong) JSONSchema() string { return "integer" }

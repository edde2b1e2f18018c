package pages_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/tokenizer"
)

// attention returns the demo's weights for a text: as they are kept, and as they are read
// [layer][position][n_head · (position+1)].
func attention(t testing.TB, ids []int) (*pages.Attention, [][][]float32) {
	t.Helper()
	m := testmodel.Demo(t, model.Options{})
	c := m.Config()
	a := pages.NewAttention(c.Layer, c.Head, len(ids))
	read := make([][][]float32, c.Layer)
	for i := range read {
		read[i] = make([][]float32, len(ids))
	}
	s := m.NewSession()
	defer s.Release()
	err := m.Eval(context.Background(), model.Input{Session: s, Tokens: ids, NoLogits: true,
		Trace: &model.Trace{Points: []model.Point{{Kind: model.Pattern, Layer: model.AllLayers}},
			Read: func(r model.Reading) {
				a.Take(r.At.Layer, r.Index, r.Data)
				read[r.At.Layer][r.Index] = slices.Clone(r.Data)
			}}})
	if err != nil {
		t.Fatal(err)
	}
	return a, read
}

// named returns tokens with the texts of ids.
func named(t testing.TB, ids []int) []pages.Token {
	t.Helper()
	all := make([]pages.Token, len(ids))
	for i, id := range ids {
		text, err := tokenizer.GPT2().Decode(ids[i : i+1])
		if err != nil {
			t.Fatal(err)
		}
		all[i] = pages.Token{ID: id, Text: text}
	}
	return all
}

// golden returns the picture of the first prompt of the float64 answers, with the demo's attention.
func golden(t testing.TB) *pages.Picture {
	t.Helper()
	answers, err := fixture.Inside()
	if err != nil {
		t.Fatal(err)
	}
	ids := answers.IDs[0]
	name := func(id int) string { return named(t, []int{id})[0].Text }
	p := &pages.Picture{Model: "the demo", Layers: 4, Heads: 4, Tokens: named(t, ids),
		At: len(ids) - 1, View: "attention",
		Lens:  &pages.Lens{Target: name(answers.A)},
		Parts: &pages.Parts{Target: name(answers.A), Against: name(answers.B), At: len(ids) - 1, Difference: answers.Attribution.Difference},
		Patch: &pages.Patch{About: "1 is all of the difference.", Maps: []pages.PatchMap{{
			Name: "resid_pre", Tokens: true, Rows: []string{"0", "1", "2", "3"},
			Shares: answers.Patch.ResidPre}},
			Pairs: [][2][]pages.Token{{named(t, ids), named(t, answers.IDs[1])}}},
	}
	p.Attention, _ = attention(t, ids)
	for _, row := range answers.Lens[0] {
		cells := make([]pages.Cell, len(row))
		for i, c := range row {
			cells[i] = pages.Cell{Entropy: c.Entropy, KL: c.KL, Rank: &c.RankOfA}
			for k, id := range c.Top {
				cells[i].Top = append(cells[i].Top, pages.Choice{Token: name(id), P: c.P[k]})
			}
		}
		p.Lens.Layers = append(p.Lens.Layers, cells)
	}
	for part, value := range answers.Attribution.Parts {
		p.Parts.Parts = append(p.Parts.Parts, pages.Part{Name: part, Value: value})
	}
	slices.SortFunc(p.Parts.Parts, func(a, b pages.Part) int { return cmp.Compare(a.Name, b.Name) })
	return p
}

func page(t testing.TB, p interface{ Page(io.Writer) error }) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Page(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// pageData is what the page's script reads.
type pageData struct {
	Tokens []struct {
		Text      string
		ID, Piece int
	}
	Views     []string
	Attention *struct {
		Sparse bool
		Heads  []string
	}
	Lens [][]struct {
		Top         [][]any
		Entropy, KL float64
		Rank        *int
	}
	Parts [][]any
}

func dataOf(t testing.TB, html string) *pageData {
	t.Helper()
	raw := regexp.MustCompile(`(?s)<script id="data"[^>]*>(.*?)</script>`).FindStringSubmatch(html)
	d := &pageData{}
	if raw == nil {
		t.Fatal("no data in the page")
	}
	if err := json.Unmarshal([]byte(raw[1]), d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPageHasWhatWasComputed(t *testing.T) {
	p := golden(t)
	html := page(t, p)
	d := dataOf(t, html)
	if got := strings.Join(d.Views, " "); got != "attention lens attribution patch" {
		t.Errorf("views %q", got)
	}
	ids := make([]int, len(p.Tokens))
	for i := range ids {
		ids[i] = p.Tokens[i].ID
		if d.Tokens[i].ID != ids[i] {
			t.Errorf("token %d has the id %d, want %d", i, d.Tokens[i].ID, ids[i])
		}
	}
	_, read := attention(t, ids)
	for k, text := range d.Attention.Heads {
		b, err := base64.StdEncoding.DecodeString(text)
		if n := len(ids); err != nil || len(b) != n*(n+1)/2 || d.Attention.Sparse {
			t.Fatalf("head %d: %d bytes, %v", k, len(b), err)
		}
		for to := range ids {
			for from := range to + 1 {
				want := float64(read[k/4][to][k%4*(to+1)+from])
				if got := float64(b[0]) / 255; math.Abs(got-math.Sqrt(want)) > 0.002 {
					t.Errorf("head %d, from %d to %d: %v, want %v", k, from, to, got, want)
				}
				b = b[1:]
			}
		}
	}
	for l, row := range d.Lens {
		for i, c := range row {
			want := p.Lens.Layers[l][i]
			if math.Abs(c.Top[0][1].(float64)-want.Top[0].P) > 1e-4 || *c.Rank != *want.Rank {
				t.Errorf("lens, layer %d, token %d: %v, want %v", l, i, c, want)
			}
		}
	}
	// The largest part is the first bar, and the longest.
	bar := regexp.MustCompile(`<tr><th scope="row">([^<]*)</th><td class="bar signed"><div[^>]*style="width: ([0-9.]+)%"></div></td><td class="number">([^<]*)</td>`)
	bars := bar.FindAllStringSubmatch(html, -1)
	largest := slices.MaxFunc(p.Parts.Parts, func(a, b pages.Part) int {
		return cmp.Compare(math.Abs(a.Value), math.Abs(b.Value))
	})
	if len(bars) != len(p.Parts.Parts) || bars[0][1] != largest.Name || bars[0][2] != "50" {
		t.Errorf("%d bars, the first %q, want %s", len(bars), bars[0], largest.Name)
	}
	cells := regexp.MustCompile(`<td role="cell"`).FindAllString(html, -1)
	places := regexp.MustCompile(`<td title="[^"]*: ([-.0-9]+)"[^>]*>([^<]*)</td>`).FindAllStringSubmatch(html, -1)
	if n := len(ids); len(cells) != 5*n || len(places) != 4*n {
		t.Fatalf("%d cells of lens and %d of patching, want %d and %d", len(cells), len(places), 5*n, 4*n)
	}
	for i, place := range places {
		want, empty := p.Patch.Maps[0].Shares[i/len(ids)][i%len(ids)], place[2] == ""
		if place[1] != fmt.Sprintf("%.4f", want) || empty != (math.Abs(want) < 0.005) {
			t.Errorf("place %d: %q, want %v", i, place, want)
		}
	}
	differ := strings.Count(html, `<span class="other">`)
	for i, token := range p.Patch.Pairs[0][1] {
		if token.ID != ids[i] {
			differ--
		}
	}
	if differ != 0 {
		t.Errorf("%d more tokens of the corrupted text than differ", differ)
	}
}

// TestLongTextsKeepTheLargestWeights of each row, and say so.
func TestLongTextsKeepTheLargestWeights(t *testing.T) {
	const n = pages.MostWhole + 1
	a := pages.NewAttention(1, 1, n)
	random := rand.New(rand.NewPCG(1, 2))
	for to := range n {
		row := make([]float32, to+1)
		for i := range row {
			root := float32(random.IntN(40)) / 255 // many are equal
			row[i] = root * root
		}
		a.Take(0, to, row)
		byWeight := slices.Collect(func(yield func(int) bool) {
			for i := range row {
				if !yield(i) {
					return
				}
			}
		})
		slices.SortStableFunc(byWeight, func(i, k int) int { return cmp.Compare(row[k], row[i]) })
		for rank, from := range byWeight {
			want := float64(row[from])
			if rank >= pages.Kept {
				want = 0
			}
			if got := a.Weight(0, 0, to, from); math.Abs(got-want) > 1e-6 {
				t.Fatalf("row %d, from %d, of rank %d: %v, want %v", to, from, rank, got, want)
			}
		}
	}
	ids := slices.Repeat([]int{5}, n)
	p := &pages.Picture{Model: "m", Layers: 1, Heads: 1, Tokens: named(t, ids), Attention: a,
		View: "attention"}
	html := page(t, p)
	if want := fmt.Sprintf("the %d largest weights are kept: the text has more than %d tokens",
		pages.Kept, pages.MostWhole); !strings.Contains(html, want) {
		t.Errorf("the page does not say that %s", want)
	}
	if d := dataOf(t, html); !d.Attention.Sparse || len(d.Attention.Heads[0]) != n*pages.Kept*3*4/3 {
		t.Errorf("%d characters a head", len(d.Attention.Heads[0]))
	}
}

func TestPageNeedsNothingBesidesItself(t *testing.T) {
	p := golden(t)
	p.Tokens = append(p.Tokens[:len(p.Tokens)-2], pages.Token{Text: "<b>a</script>\x00\u202e"},
		pages.Token{Text: "\xf0\x9f"})
	html := page(t, p)
	outside := regexp.MustCompile(`(?i)https?:|//[a-z]+\.|\bsrc\s*=|@import|[^a-z]url\(|<iframe|<object|fetch\(|XMLHttp|ZgotmplZ|innerHTML`)
	text := strings.ReplaceAll(html, "http://www.w3.org/2000/svg", "") // a name, not an address
	if found := outside.FindString(text); found != "" {
		t.Errorf("%q in the page", found)
	}
	for _, want := range []string{`<!DOCTYPE html>`, `lang="en"`, `default-src 'none'`,
		`role="listbox" tabindex="0"`, `name="viewport"`, `<noscript>`, `@media print`,
		`prefers-color-scheme: dark`} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(html, "<b>a") || strings.ContainsAny(html, "\x00\u202e") {
		t.Error("the text's own tags or signs got through")
	}
	for name, change := range map[string]func(){
		"no attention": func() { p.Attention = nil }, "no lens": func() { p.Lens = nil },
		"no parts": func() { p.Parts = nil }} {
		change()
		if html := page(t, p); strings.Contains(html, "ZgotmplZ") {
			t.Errorf("%s: %d bytes", name, len(html))
		}
	}
	if got := dataOf(t, page(t, p)).Views; len(got) != 1 || got[0] != "patch" {
		t.Errorf("the views of patching alone: %v", got)
	}
}

package pages_test

// The page of gpt attention and others. What can be checked in the file, its own package's tests
// check.

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"picogpt/cmd/gpt/browser"
	"picogpt/cmd/gpt/internal/pages"
	"picogpt/internal/webparts"
)

const byID = "document.getElementById"

func TestInsideWithTheKeyboardOnly(t *testing.T) {
	p, read := golden(t)
	p.Layer = 1
	path := written(t, p.Page)
	b := browser.Open(t)
	open := func(width, height int, scheme string) {
		t.Helper()
		b.Window(width, height, scheme)
		b.Open("file://"+path, byID+"('text')")
	}
	want := func(expression, want string) {
		t.Helper()
		if got := b.JS(expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
	const (
		place = byID + "('d-place').textContent"
		name  = byID + "('head-name').textContent"
		shown = "[...document.querySelectorAll('.view')].filter(v => v.checkVisibility()).map(v => v.id).join()"
		fits  = "document.documentElement.scrollWidth <= innerWidth"
	)
	n := len(p.Tokens)

	// Keys need no focus: tokens, layers, heads, views.
	open(1440, 1000, "light")
	want(place, fmt.Sprintf("token %d of 0 to %d, id %d", n-1, n-1, p.Tokens[n-1].ID))
	want(name, "Layer 1, head 0")
	b.Press("ArrowDown", "]", "]", "]", "[", "ArrowLeft")
	want(name, "Layer 2, head 2")
	want(place, fmt.Sprintf("token %d of 0 to %d, id %d", n-2, n-1, p.Tokens[n-2].ID))
	b.Press("ArrowDown", "ArrowDown", "ArrowDown")
	want(name, "Layer 3, head 2")
	want("document.querySelectorAll('#heads [aria-selected=true]').length + document.querySelector('#heads [aria-selected=true]').id", "1h14")
	b.Shoot("light.png")

	// In the list of heads arrows are the list's own, and what is chosen is in sight.
	b.Window(1440, 300, "light")
	b.JS(byID + "('heads').focus()")
	b.Press("Home", "ArrowUp", "ArrowUp", "ArrowUp", "End", "ArrowLeft", "ArrowRight")
	want(name, "Layer 0, head 3")
	b.Press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowLeft")
	want(name, "Layer 3, head 2")
	want("(r => r.top >= 0 && r.bottom <= innerHeight)("+byID+"('h14').getBoundingClientRect())", "true")
	want(place, fmt.Sprintf("token %d of 0 to %d, id %d", n-2, n-1, p.Tokens[n-2].ID))
	b.Window(1440, 1000, "light")
	b.JS("document.activeElement.blur()")

	// The underline of the text, the panel and the triangle are the chosen head's weights.
	weights := read[3][n-2][2*(n-1) : 3*(n-1)]
	most := slices.Index(weights, slices.Max(weights))
	want(byID+"('d-sources').rows[0].cells[0].textContent", fmt.Sprint(most))
	want(fmt.Sprintf("Math.abs(parseFloat("+byID+"('d-sources').rows[0].cells[3].textContent) - %v) < 0.5",
		100*weights[most]), "true")
	want(fmt.Sprintf("[...document.querySelectorAll('#text span')].findIndex(s => Math.abs(s.style.getPropertyValue('--weight') - %v) < 0.003)",
		math.Sqrt(float64(weights[most]))), fmt.Sprint(most))
	want(fmt.Sprintf("Math.abs("+byID+"('triangle').getContext('2d').getImageData(%d, %d, 1, 1).data[3] - %v) < 1", most, n-2,
		255*math.Sqrt(float64(weights[most]))), "true")
	want("document.querySelectorAll('#attribution tr.chosen th').length + document.querySelector('#attribution tr.chosen th').textContent", "1head 3.2")

	for _, v := range []struct{ key, view string }{{"l", "lens"}, {"d", "attribution"}, {"p", "patch"}, {"a", "attention"}} {
		b.Press(v.key)
		want(shown, v.view)
		want("document.querySelector('input[name=view]:checked').value", v.view)
		want(saved, v.view)
		b.Shoot(v.view + ".png")
	}
	b.Press("Home")
	want(place, fmt.Sprintf("token 0 of 0 to %d, id %d", n-1, p.Tokens[0].ID))
	b.Press("l")
	b.Click("document.querySelector('#lens tr[data-at=\"4\"]').cells[2]")
	want(place, fmt.Sprintf("token 4 of 0 to %d, id %d", n-1, p.Tokens[4].ID))
	want(name, "Layer 1, head 2")
	want("document.querySelector('#lens tr.chosen td.chosen').textContent", webparts.Quoted(p.Lens.Layers[1][4].Top[0].Token))

	// A place of a heat map is a token and a layer; a mark is the head's score.
	b.Press("p")
	b.Click("document.querySelector('#patch tbody').rows[2].cells[8]")
	want(place, fmt.Sprintf("token 7 of 0 to %d, id %d", n-1, p.Tokens[7].ID))
	want(name, "Layer 2, head 2")
	want("document.querySelector('#patch th.chosen span').textContent", webparts.Quoted(p.Tokens[7].Text))
	b.Press("a")
	previous := 0.0
	for to := 1; to < n; to++ {
		previous += float64(read[3][to][2*(to+1)+to-1]) / float64(n-1)
	}
	want(fmt.Sprintf("Math.abs(getComputedStyle("+byID+"('h14')).getPropertyValue('--score') - %v) < 0.005", previous), "true")
	want("[...document.querySelectorAll('#best button')].map(b => Number(b.textContent.split(' ')[1])).every((x, i, all) => i === 0 || all[i - 1] >= x)", "true")
	want("["+byID+"('across'), "+byID+"('down')].map(side => side.firstChild.textContent).join()",
		strings.Repeat(","+webparts.Quoted(p.Tokens[0].Text), 2)[1:])

	// Dark, narrow, and on paper.
	open(1440, 1000, "dark")
	want("getComputedStyle(document.body).backgroundColor", "rgb(21, 23, 27)")
	b.Shoot("dark.png")
	want(contrasts, "")
	// Paper is light: canvases are painted again for it, and after it.
	const pixel = "(c => { c.drawImage(" + byID + "('triangle'), 0, 0); " +
		"return [...c.getImageData(0, 0, 1, 1).data].join(); })" +
		"(new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true}))"
	want(pixel, "138,180,255,255")
	b.JS("window.printed = ''; addEventListener('beforeprint', () => printed = " + pixel + ")")
	b.Call("Page.printToPDF", nil, nil)
	b.Wait("printed !== ''")
	want("printed", "11,87,208,255")
	b.Wait(pixel + " === '138,180,255,255'")
	open(375, 800, "light")
	want(contrasts, "")
	for _, key := range []string{"a", "l", "d", "p"} {
		b.Press(key)
		want(fits, "true")
		b.Shoot("narrow-" + key + ".png")
	}
	b.Call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	want(shown, "attention,lens,patch,attribution")
	want(byID+"('views').checkVisibility()", "false")
	b.Shoot("print.png")

	for _, url := range b.Requests() {
		if !strings.HasPrefix(url, "file:") && !strings.HasPrefix(url, "data:") &&
			!strings.HasPrefix(url, "blob:") && url != "about:blank" {
			t.Errorf("the page asks for %s", url)
		}
	}
	if troubles := b.Troubles(); len(troubles) > 0 {
		t.Errorf("the browser complains: %s", strings.Join(troubles, "\n"))
	}
}

// Of several pairs the means are shown, or one that is chosen, with its tokens.
func TestInsideOfSeveralPairs(t *testing.T) {
	p, _ := golden(t)
	means := p.Patch.Maps[0].Shares
	other := make([][]float64, len(means))
	for i, row := range means {
		other[i] = make([]float64, len(row))
		other[i][3] = -0.25
	}
	p.Patch.Maps[0].Pairs = [][][]float64{means, other}
	first := p.Patch.Pairs[0]
	p.Patch.Pairs = append(p.Patch.Pairs, [2][]pages.Token{first[1], first[0]})
	b := browser.Open(t)
	b.Window(1440, 1000, "light")
	b.Open("file://"+written(t, p.Page), byID+"('text')")
	b.Press("p")
	const cell = "(td => td.textContent + td.className)(document.querySelector('#patch tbody').rows[1].cells[4])"
	b.JS("(s => { s.selectedIndex = 2; s.dispatchEvent(new Event('change')); })(" + byID + "('pair'))")
	if got := b.JS(cell); got != "−0.25negative" {
		t.Errorf("the second pair has %s", got)
	}
	differs := slices.IndexFunc(first[1], func(c pages.Token) bool { return !slices.Contains(first[0], c) })
	b.JS("window.column = document.querySelectorAll('#patch thead th')[" + fmt.Sprint(differs) + "]")
	want := webparts.Quoted(first[1][differs].Text) + "," + webparts.Quoted(first[0][differs].Text)
	if got := b.JS("[...column.children].map(span => span.textContent).join()"); got != want {
		t.Errorf("its tokens are %s, want %s", got, want)
	}
	b.JS("(s => { s.selectedIndex = 0; s.dispatchEvent(new Event('change')); })(" + byID + "('pair'))")
	if got := b.JS(cell); got == "−0.25negative" {
		t.Error("the means are those of the second pair")
	}
	if troubles := b.Troubles(); len(troubles) > 0 {
		t.Errorf("the browser complains: %s", strings.Join(troubles, "\n"))
	}
}

// contrasts are the cells of tables whose text, or number before it, has a contrast of less than 4.5
// (WCAG 2.1, AA), of two colours that are opaque.
const contrasts = `(() => {
	const channels = c => c.match(/[\d.]+/g).slice(0, 3).map(x => c.startsWith("rgb") ? x / 255 : Number(x));
	const light = c => channels(c).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4).
		reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
	const bad = [];
	for (const td of document.querySelectorAll(".grid td, .heat tbody td")) for (const part of [null, "::before"]) {
		const pair = [getComputedStyle(td, part).color, getComputedStyle(td).backgroundColor].map(light);
		if (!((Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05) >= 4.5)) bad.push(td.textContent + part);
	}
	return bad.slice(0, 5).join();
})()`

// saved presses e and returns the view whose drawing is saved: it must be an SVG that shows what the
// view does.
const saved = `(async () => {
	const make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
	let blob, name;
	URL.createObjectURL = b => { blob = b; return make.call(URL, b); };
	HTMLAnchorElement.prototype.click = function () { name = this.download; };
	document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "e", bubbles: true}));
	URL.createObjectURL = make;
	HTMLAnchorElement.prototype.click = click;
	const svg = new DOMParser().parseFromString(await blob.text(), blob.type).documentElement;
	const counts = {
		"attention-3.2.svg": [19, "attention"], "lens.svg": [19 * 6, "lens"],
		"contributions.svg": [2 * 27, "attribution"], "patch.svg": [1 + 19 + 4, "patch"],
	}[name];
	const texts = svg.querySelectorAll("text").length;
	return svg.tagName === "svg" && texts >= counts[0] && svg.querySelector("rect") ? counts[1] : name + texts;
})()`

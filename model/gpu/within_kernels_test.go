package gpu

// What each kernel reads and writes, for within_test.go.

import "picogpt/kernels"

// reach has the kernels, without the format in their names: their parameters, in the order of
// gpu/kernels; the outputs and the rows of a group; and the function that checks a launch.
var reach = map[string]struct {
	parameters string
	wide, high int
	check      func(*call)
}{
	"embed":          {"x wte wpe plan n", groupItems, 1, (*call).embed},
	"layer_norm":     {normParameters, 0, 1, (*call).layerNorm},
	"chains_one":     {"parts x w bias segments a in out", 16, 1, (*call).chains},
	"chains_few":     {"parts x w bias rows in out", 32, fewRows, (*call).chains},
	"chains_many":    {"parts x w bias rows in out each", 64, 64, (*call).chains},
	"chains_most":    {"parts x w bias rows in out each", 128, 128, (*call).chains},
	"quantize":       {"q scales x in", 0, 1, (*call).quantize},
	"integers_one":   {"y q scales x w bias in blocks out a", 16, 1, (*call).integers},
	"integers_few":   {"y q scales w bias rows blocks out a", 16, 8, (*call).integers},
	"integers_many":  {"y q scales w bias rows blocks out a", 64, 64, (*call).integers},
	"activate_parts": {"y parts segments n a", groupItems, 1, (*call).activate},
	"dots_one":       {"y x w rows in out", 8, 1, (*call).dots},
	"dots_tile":      {"y x w rows in out", 32, 8, (*call).dots},
	"store":          {storeParameters, groupItems, 1, (*call).store},
	"attend_one":     {oneParameters, 0, 1, (*call).attendOne},
	"attend_tile":    {tileParameters, mostSpan, queries, (*call).attendTile},
	"take_rows":      {"to norm x plan list count n", 0, 1, (*call).takeRows},
	"best_maxima":    {"maxima logits vocab runs", 0, 1, (*call).best},
	"best_runs":      {"best maxima logits vocab runs k", 0, 1, (*call).best},
	"best_terms":     {"terms maxima logits vocab runs", 0, 1, (*call).best},
	"best_sum":       {"best terms runs k", 0, 1, (*call).bestSum},
}

const (
	normParameters  = "dst q scales x parts segments rows plan first gain bias n eps"
	storeParameters = "qkv parts segments pool plan rows heads dim layers layer"
	oneParameters   = "out qkv parts segments pool plan list rows heads dim span layers layer scale"
	tileParameters  = "out qkv pool plan list heads dim layers layer scale"
)

func (c *call) embed() {
	rows, n := c.groups[0], c.number("n")
	c.grid(rows, groups(n, c.wide), 1)
	for r := range rows {
		c.weights("wte", n, 1+c.word(rowWords*r+rowToken, anyWord))
		c.room("wpe", 4*n*(1+c.word(rowWords*r+rowPosition, anyWord)))
	}
	c.writes("x", floats(1, rows, n))
}

func (c *call) layerNorm() {
	count, rows, first, n := c.groups[0], c.number("rows"), c.number("first"), c.number("n")
	c.grid(count, 1, 1)
	c.reads("x", floats(1, rows, n))
	if segments := c.number("segments"); segments > 0 {
		c.reads("parts", floats(segments, rows, n))
	}
	c.check(first >= 0 || count == rows, "want all %d rows", rows)
	seen := map[int]bool{} // parts must not be added twice to a row
	for i := 0; first >= 0 && i < count; i++ {
		c.once(seen, "row", c.word(rowWords*(first+i)+rowWanted, rows))
	}
	c.room("gain", 4*n)
	c.room("bias", 4*n)
	c.writes("dst", floats(1, count, n))
	if c.buffer("q") != 0 {
		c.writes("q", integers(count, n))
		c.writes("scales", floats(1, count, 1))
	}
}

// chains may have the parts of another layer as inputs, which it activates.
func (c *call) chains() {
	rows, in, out := c.numberOr("rows", 1), c.number("in"), c.number("out")
	each := c.numberOr("each", 1)
	segments := groups(in, segment) / each
	c.check(segments*each == groups(in, segment), "segments are left")
	c.grid(groups(out, c.wide), segments, groups(rows, c.high))
	c.reads("x", floats(max(c.numberOr("segments", 1), 1), rows, in))
	c.weights("w", in, out)
	c.writes("parts", floats(segments, rows, out))
}

func (c *call) quantize() {
	rows, in := c.groups[0], c.number("in")
	c.grid(rows, 1, 1)
	c.reads("x", floats(1, rows, in))
	c.writes("q", integers(rows, in))
	c.writes("scales", floats(1, rows, 1))
}

// integers of one row are made by each group, of x, if that is not null.
func (c *call) integers() {
	rows, blocks, out := c.numberOr("rows", 1), c.number("blocks"), c.number("out")
	in := c.numberOr("in", 32*blocks)
	c.grid(groups(out, c.wide), groups(rows, c.high), 1)
	c.check(blocks == groups(in, 32), "%d inputs", in)
	if c.numberOr("x", 0) != 0 {
		c.reads("x", floats(1, 1, in))
	} else {
		c.reads("q", integers(rows, in))
		c.reads("scales", floats(1, rows, 1))
	}
	c.weights("w", in, out)
	c.writes("y", floats(1, rows, out))
}

func (c *call) activate() {
	parts, n := c.holds[c.buffer("parts")], c.number("n")
	c.grid(groups(n, c.wide), 1, 1)
	c.check(parts.rows*parts.wide == n, "parts are %+v", parts)
	c.reads("parts", floats(c.number("segments"), parts.rows, parts.wide))
	c.writes("y", floats(1, parts.rows, parts.wide))
}

func (c *call) dots() {
	rows, in, out := c.number("rows"), c.number("in"), c.number("out")
	c.grid(groups(out, c.wide), groups(rows, c.high), 1)
	c.reads("x", floats(1, rows, in))
	c.weights("w", in, out)
	c.writes("y", floats(1, rows, out))
}

// pages returns the pages of a row's text up to the row's position and count - 1 rows more: none if
// it has no text.
func (c *call) pages(r, count int) (pages []int) {
	layers, n := c.number("layers"), c.number("heads")*c.number("dim")
	c.check(c.number("layer") < layers, "layer")
	list := c.word(rowWords*r+rowPages, anyWord)
	for i := 0; list >= 0 && i < pagesFor(c.word(rowWords*r+rowPosition, anyWord)+count); i++ {
		page := c.word(list+i, anyWord)
		c.room("pool", (page+1)*int(kernels.KVBytes(c.of, layers*2*n*kernels.Block)))
		pages = append(pages, page)
	}
	return pages
}

func (c *call) store() {
	rows, n := c.number("rows"), c.number("heads")*c.number("dim")
	c.grid(rows, groups(n, c.wide), 1)
	c.reads("parts", floats(c.number("segments"), rows, 3*n))
	seen := map[int]bool{}
	for r := range rows {
		if pages := c.pages(r, 1); len(pages) > 0 {
			place := c.word(rowWords*r+rowPosition, anyWord) % kernels.Block
			c.once(seen, "place", pages[len(pages)-1]*kernels.Block+place)
		}
	}
	c.writes("qkv", floats(1, rows, 3*n))
}

// attend checks the groups of attention: of one text's rows, out of all rows. It returns the pages
// of each.
func (c *call) attend(rows int) (pages [][]int) {
	list, seen := c.number("list"), map[int]bool{}
	// the rows that no group is for stay as they are, so that they must be there
	c.reads("out", floats(1, rows, c.number("heads")*c.number("dim")))
	for i := range c.groups[1] {
		first, count := c.word(list+2*i, rows), c.word(list+2*i+1, c.high+1)
		c.check(count > 0 && first+count <= rows, "rows %d to %d", first, first+count)
		for row := first; row < first+count; row++ {
			c.once(seen, "row", row)
		}
		pages = append(pages, c.pages(first, count))
	}
	return pages
}

// attendOne also does what store does if there are segments. Then no group may read what another
// one writes, as they run at the same time.
func (c *call) attendOne() {
	heads, dim, span := c.number("heads"), c.number("dim"), c.number("span")
	rows, segments := c.number("rows"), c.number("segments")
	c.grid(heads, c.groups[1], groups(dim, span))
	c.check(span <= mostSpan, "local memory is for %d", mostSpan)
	pages := c.attend(rows)
	if segments == 0 {
		c.reads("qkv", floats(1, rows, 3*heads*dim))
		return
	}
	c.check(c.groups[1] == rows, "want all %d rows", rows)
	c.reads("parts", floats(segments, rows, 3*heads*dim))
	c.writes("qkv", floats(heads*rows, c.groups[2], 2*dim)) // a query and a key for each group
	written := map[int]bool{}
	for _, of := range pages {
		if len(of) > 0 {
			c.once(written, "page", of[len(of)-1])
		}
	}
	for _, of := range pages {
		for i := 0; i < len(of)-1; i++ {
			c.check(!written[of[i]], "page %d is written and read", of[i])
		}
	}
}

func (c *call) attendTile() {
	heads, dim, rows := c.number("heads"), c.number("dim"), c.holds[c.buffer("qkv")].rows
	c.grid(heads, c.groups[1], groups(dim, c.wide))
	c.reads("qkv", floats(1, rows, 3*heads*dim))
	for i, pages := range c.attend(rows) {
		c.check(len(pages) > 0, "group %d has no pages", i)
	}
}

func (c *call) takeRows() {
	list, count, n := c.number("list"), c.number("count"), c.number("n")
	rows, seen := c.holds[c.buffer("norm")].rows, map[int]bool{}
	c.grid(count, 1, 1)
	c.reads("norm", floats(1, rows, n))
	c.reads("x", floats(1, rows, n))
	for i := range count {
		c.once(seen, "row", c.word(list+i, rows))
	}
	c.writes("to", floats(2, count, n))
}

func (c *call) best() {
	rows, vocab, runs, k := c.groups[1], c.number("vocab"), c.number("runs"), c.numberOr("k", 0)
	c.grid(runs/chunkRuns, rows, 1)
	c.check(vocab <= runs*runLogits && k < runs && runs <= mostRuns, "runs")
	c.reads("logits", floats(1, rows, vocab))
	maxima := floats(1, rows, runs)
	switch c.kernel {
	case "best_maxima":
		c.writes("maxima", maxima)
	case "best_runs":
		c.reads("maxima", maxima)
		c.writes("best", floats(1, rows, bestWords(k)))
	case "best_terms":
		c.reads("maxima", maxima)
		c.writes("terms", extent{8, 1, rows, runs * runLogits})
	}
}

func (c *call) bestSum() {
	rows := c.groups[0]
	c.grid(rows, 1, 1)
	c.reads("terms", extent{8, 1, rows, c.number("runs") * runLogits})
	c.reads("best", floats(1, rows, bestWords(c.number("k"))))
}

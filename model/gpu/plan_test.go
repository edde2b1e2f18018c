package gpu

// Plans of passes, the scratch memory for their rows, and the tiles that a layer of many rows has.

import (
	"slices"
	"testing"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// TestAGroupOfAttentionHasRowsOfOneText: each row of a pass is in one group, and no group goes past
// the end of its text.
func TestAGroupOfAttentionHasRowsOfOneText(t *testing.T) {
	pass, text := &engine.Pass{}, []int{} // of each row
	for i, n := range []int{1, leastTiled, queries + 1, leastTiled - 1, 2 * queries, 1, queries - 1} {
		pass.Spans = append(pass.Spans, engine.Span{Tokens: make([]int, n)})
		text = append(text, slices.Repeat([]int{i}, n)...)
	}
	var rows engine.Outputs
	rows.Begin(nil, pass)
	var l plan
	alone, tiles := l.group(pass, &rows, 1, false), l.group(pass, &rows, queries, false)
	if len(l.words) != 2*(alone+tiles) {
		t.Fatalf("%d words of %d groups", len(l.words), alone+tiles)
	}
	seen := make([]int, len(text))
	for group := range alone + tiles {
		first, n := int(l.words[2*group]), int(l.words[2*group+1])
		most := queries
		if group < alone {
			most = 1
		}
		if n < 1 || n > most || first+n > len(text) || text[first] != text[first+n-1] {
			t.Fatalf("group %d: %d rows from %d on of texts %v", group, n, first, text)
		}
		for row := first; row < first+n; row++ {
			seen[row]++
		}
	}
	if !slices.Equal(seen, slices.Repeat([]int{1}, len(text))) {
		t.Errorf("rows are in so many groups: %v", seen)
	}
}

// TestRowsThatPadAPass have no pages, and no row's logits are computed twice.
func TestRowsThatPadAPass(t *testing.T) {
	pages := &cache{pages: []int32{5, 3}}
	pass := &engine.Pass{Spans: []engine.Span{
		{Tokens: []int{7}, Position: 70, Cache: pages, Visit: 1, Logits: make([]float32, 1)},
		{Tokens: []int{1, 2, 3}, Position: 9, Cache: pages, Visit: 3},
		{Tokens: []int{4}, Position: 12, Cache: pages, Visit: 0},
	}}
	var rows engine.Outputs
	rows.Begin(nil, pass)
	const size, list = 8, 4 * 16
	var l plan
	l.make(pass, &rows, list, size)
	if l.wanted != 2 || l.attend != (groupLists{list, size, 0}) {
		t.Fatalf("%d rows wanted, groups %+v, want 2, and %d", l.wanted, l.attend, size)
	}
	l.pad(pass, &rows, size, sizeOf(3))
	for row := rows.Rows(); row < size; row++ {
		if got := l.row(row); got[rowPosition] != 0 || got[rowPages] != noPages {
			t.Errorf("row %d is at position %d, with pages at %d, want 0 and %d", row,
				got[rowPosition], got[rowPages], noPages)
		}
	}
	var wanted []int32
	for i := range l.wanted {
		wanted = append(wanted, l.row(i)[rowWanted])
	}
	if !slices.Equal(wanted, []int32{0, 4, 1, 2}) {
		t.Errorf("logits of rows %v, want 0 and 4, and two others", wanted)
	}
	var each []int32
	for group := range l.attend.alone {
		if l.words[list+2*group+1] != 1 {
			t.Errorf("group %d of %d rows", group, l.words[list+2*group+1])
		}
		each = append(each, l.words[list+2*group])
	}
	if slices.Sort(each); !slices.Equal(each, []int32{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("groups of rows %v, want each", each)
	}
}

// TestRowsOfTheLastBlock are listed, and numbered anew, whatever room the memory of the plan has:
// it may have to grow between any two of them.
func TestRowsOfTheLastBlock(t *testing.T) {
	const texts = 40
	pass, last := &engine.Pass{}, []int32{}
	for i := range texts {
		pass.Spans = append(pass.Spans, engine.Span{Tokens: make([]int, 2), Visit: 2,
			Logits: make([]float32, 1), Cache: &cache{pages: []int32{int32(i)}}})
		last = append(last, int32(2*i+1))
	}
	var rows engine.Outputs
	rows.Begin(nil, pass)
	for room := range 1000 {
		l := plan{words: make([]int32, 0, room)}
		l.make(pass, &rows, rowWords*2*texts, 2*texts)
		l.last(pass, &rows)
		if got := l.words[l.rows:]; !l.only || !slices.Equal(got, last) {
			t.Fatalf("room for %d words: rows %v, want %v", room, got, last)
		}
		for i := range texts {
			if got := l.row(i)[rowWanted]; got != int32(i) {
				t.Fatalf("room for %d words: logits of row %d, want %d", room, got, i)
			}
		}
		for i := range l.attendFor.alone + l.attendFor.tiles {
			if got := l.words[l.attendFor.list+2*i]; got != last[i] {
				t.Fatalf("room for %d words: attention of row %d, want %d", room, got, last[i])
			}
		}
	}
}

// TestPartsHaveRoomForEveryBlock: a file may have blocks in Q8, whose layers are one part, before
// blocks of floats.
func TestPartsHaveRoomForEveryBlock(t *testing.T) {
	p := &stack.Params{Vocab: 9, Embd: 300, Heads: 1, Inner: 700}
	for _, f := range []kernels.Format{kernels.Q8, kernels.F32} {
		of := func(in, out int) stack.Linear {
			return stack.Linear{Weight: kernels.Matrix{Format: f, In: in, Out: out}}
		}
		p.H = append(p.H, stack.Block{CAttn: of(300, 900), AttnProj: of(300, 300),
			CFC: of(300, 700), MLPProj: of(700, 300)})
	}
	fake := newFake(t)
	s, err := newScratch(fake, p, 0, 16, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fake.live[s.parts], int64(4*16*2*900); got < want {
		t.Errorf("%d bytes of parts, want %d: c_attn in floats has two segments", got, want)
	}
}

func TestTilesOfALayer(t *testing.T) {
	many, most := manyTile(1), mostTile(1)
	for _, c := range []struct {
		what          string
		rows, in, out int
		want          tile
	}{
		{"64 texts, 124M's c_attn", 64, 768, 2304, many},
		{"64 texts, 124M's c_proj", 64, 768, 768, many},
		{"64 texts, 1.5B's c_fc", 64, 1600, 6400, many},
		{"a prompt, 124M's c_attn", 512, 768, 2304, most},
		{"a prompt, 124M's c_proj", 512, 768, 768, many},
		{"a prompt, 124M's c_fc", 512, 768, 3072, many},
		{"a prompt, 124M's mlp.c_proj", 512, 3072, 768, many},
		{"a prompt, 1.5B's c_attn", 512, 1600, 4800, most},
		{"a prompt, 1.5B's mlp.c_proj", 512, 6400, 1600, most},
		{"a prompt, 355M's c_fc: each group adds four segments up, which is as many rounds", 512, 1024,
			4096, mostTile(4)},
		{"a prompt, 774M's c_attn", 512, 1280, 3840, mostTile(5)},
		{"a prompt, two segments", 512, 264, 3100, mostTile(2)},
		{"few outputs", 512, 768, 64, many},
		{"few rows", fewRows + 1, 40, 128, many},
		{"one segment", engine.PassRows, 100, 4096, most},
	} {
		if got := tilesOf(c.rows, c.out, groups(c.in, segment)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

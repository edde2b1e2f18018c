package gpu

// How groups share a linear layer of many rows on float weights: kernels/chainstile.cl.

// A tile is how a group computes a linear layer of many rows: side rows by side outputs, of each
// segments one after the other.
type tile struct {
	kernel            string
	side, items, each int
}

func manyTile(each int) tile { return tile{"chains_many_", 64, 128, each} }
func mostTile(each int) tile { return tile{"chains_most_", 128, 256, each} }

// tilesOf returns the tiles that compute a layer fastest, by rounds of as many groups as a large
// GPU runs at a time. A round of chains_most does four times the work of one of chains_many, and
// takes 10/3 of its time: 41,000 cycles of a multiprocessor's instructions, against 12,300 of its
// local memory. Where it takes no longer, a group adds up all segments, and whoever reads the layer
// finds one part.
func tilesOf(rows, out, segments int) tile {
	time := func(t tile, round int) int {
		n := groups(rows, t.side) * groups(out, t.side) * (segments / t.each)
		return groups(n, fewGroups) * t.each * round
	}
	many, most, all := manyTile(1), mostTile(1), mostTile(segments)
	switch least := min(time(many, 3), time(most, 10)); least {
	case time(all, 10):
		return all
	case time(most, 10):
		return most
	}
	return many
}

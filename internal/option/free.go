package option

// Options that stand in no struct of the library: functions take them as arguments.

// Samples returns the option of how many texts are written for a prompt.
func Samples(n *int) Option {
	return Option{
		Name: "samples", Value: n, Want: "at least 1", Range: Range{From: 1}, Default: "1",
		In: Corpus | Receipts,
		Flag: Flag{Name: "samples", Holder: "N", Group: HowMuch,
			Others: "num-samples n-samples num-return-sequences best-of count completions",
			Help:   "write N texts; text i, counted from 0, is what seed S+i gives alone"},
		Field: Field{Name: "n", Range: Range{From: 1, To: 128}},
		Setting: Setting{Group: "Completion", Label: "Samples", Min: 1, Max: 16, Step: 1,
			Slider: 8, Help: "More than one are shown side by side, to choose from."},
	}
}

// Contrastive returns the option of search.Contrastive's alpha, which is nil without that search.
func Contrastive(alpha **float64) Option {
	return Option{
		Name: "contrastive alpha", Value: alpha, Range: Range{To: 1},
		Want: "a number from 0 to 1", In: Receipts,
		Flag: Flag{Name: "contrastive", Holder: "ALPHA", Group: Searches,
			Others: "penalty-alpha",
			Help: "contrastive search: of the --top-k likeliest tokens (4 unless given) take a " +
				"likely one that is unlike the text before it; 0 is greedy, 0.6 is usual"},
	}
}

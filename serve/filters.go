package serve

// The filters and penalties beyond those of OpenAI's and vLLM's API, under the names that
// transformers, llama-server and the pages of others send.

import (
	"context"
	"math"

	"picogpt/decode"
	"picogpt/internal/strictjson"
	"picogpt/sample"
)

// filters are package decode's options that a request sets directly.
type filters struct {
	options  decode.Options
	breakers []string // of DRY; nil means the usual ones
	dryLastN int      // −1 means all
}

// newFilters returns their defaults: all are off.
func newFilters() filters {
	return filters{dryLastN: -1, options: decode.Options{Params: sample.Params{Typical: 1,
		XTCThreshold: 0.1, TempExponent: 1, DRY: sample.DRY{Base: 1.75, AllowedLength: 2},
		Mirostat: sample.Mirostat{Tau: 5, Eta: 0.1}}}}
}

const mostFilter = 1e6

// belowOne is the largest number below 1, where 1 would remove every token.
var belowOne = math.Nextafter(1, 0)

// addFields adds what each field is read by.
func (f *filters) addFields(table map[string]field) {
	o := &f.options
	for name, read := range map[string]field{
		"typical_p":       number(&o.Typical, 0, 1),
		"epsilon_cutoff":  number(&o.Epsilon, 0, belowOne),
		"eta_cutoff":      number(&o.Eta, 0, belowOne),
		"top_h":           number(&o.TopH, 0, 1),
		"top_n_sigma":     number(&o.TopNSigma, -1, mostFilter), // llama-server's −1 is off
		"xtc_probability": number(&o.XTCProbability, 0, 1),
		"xtc_threshold":   number(&o.XTCThreshold, 0, 1),

		"dynatemp_range":    number(&o.TempRange, 0, mostFilter),
		"dynatemp_exponent": number(&o.TempExponent, 0, mostFilter),

		"mirostat":     whole(&o.Mirostat.Version, 0, 2),
		"mirostat_tau": number(&o.Mirostat.Tau, 0, mostFilter),
		"mirostat_eta": number(&o.Mirostat.Eta, 0, mostFilter),

		"no_repeat_ngram_size":  whole(&o.NoRepeatNgram, 0, mostTokens),
		"dry_multiplier":        number(&o.DRY.Multiplier, 0, mostFilter),
		"dry_base":              number(&o.DRY.Base, 0, mostFilter),
		"dry_allowed_length":    whole(&o.DRY.AllowedLength, 0, mostTokens),
		"dry_penalty_last_n":    whole(&f.dryLastN, -1, mostTokens),
		"dry_sequence_breakers": breakers(&f.breakers),
	} {
		table[name] = read
	}
}

// setFilters gives o what the request says.
func (s *Server) setFilters(ctx context.Context, o *decode.Options, f *filters) error {
	from := f.options
	if from.Typical == 0 {
		from.Typical = math.SmallestNonzeroFloat64 // one token, as top_p; decode's 0 is off
	}
	o.Typical, o.Epsilon, o.Eta, o.TopH = from.Typical, from.Epsilon, from.Eta, from.TopH
	o.TopNSigma, o.NoRepeatNgram = max(0, from.TopNSigma), from.NoRepeatNgram
	o.XTCProbability, o.XTCThreshold = from.XTCProbability, from.XTCThreshold
	o.TempRange, o.TempExponent = from.TempRange, from.TempExponent
	o.Mirostat = from.Mirostat
	if from.DRY.Multiplier == 0 || f.dryLastN == 0 {
		return nil
	}
	o.DRY = from.DRY
	o.DRY.LastN = max(0, f.dryLastN) // decode's 0 is all
	if f.breakers == nil {
		f.breakers = sample.UsualBreakers()
	}
	var err error
	o.DRYStrings, err = sample.NewDRYStrings(ctx, s.vocabulary.Tokenizer, f.breakers)
	return err
}

// breakers reads DRY's breakers, which are few and short.
func breakers(to *[]string) field {
	return func(r *strictjson.Reader) error {
		if err := texts(to, sample.MostDRYStrings)(r); err != nil {
			return err
		}
		if err := sample.CheckDRYStrings(*to); err != nil {
			return r.Errorf("%v", err)
		}
		return nil
	}
}

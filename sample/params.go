package sample

// The options of a sampler.

// Params are the options of the choice of a token from logits. The zero value is greedy: it chooses
// the largest logit, and all else is off. The package comment gives the order in which the options
// apply.
type Params struct {
	Temperature float64 // 0 means greedy
	TopK        int     // 0 means off
	TopP        float64 // in [0, 1]; 0 and 1 mean off
	MinP        float64 // in [0, 1]; 0 means off
	Seed        uint64  // ignored when greedy

	// The other filters. 0 means off; the package comment defines them.
	Typical        float64 // in [0, 1]; 1 means off
	Epsilon        float64 // in [0, 1)
	Eta            float64 // in [0, 1)
	TopH           float64 // in [0, 1]
	TopNSigma      float64 // 0 or more
	XTCProbability float64 // in [0, 1]
	XTCThreshold   float64 // in [0, 1]; above 0.5 XTC removes nothing

	// TempRange above 0 makes the temperature depend on how sure the model is: from Temperature -
	// TempRange, but 0 at least, where one id has all of the probability, to Temperature +
	// TempRange where all ids are equally likely. Between them it follows the entropy, divided by
	// its greatest value, to the power of TempExponent (1 is usual; 0 always gives the upper end).
	TempRange, TempExponent float64

	// Samplers is the order of the temperature and the filters: "" or "hf" for Hugging Face's,
	// "llama.cpp" for llama.cpp's order and definitions, or the names of those that apply, in
	// order, with commas between them. SamplerNames lists them.
	Samplers string

	// RepeatPenalty above 1 discourages ids that are among the newest RepeatLastN tokens of the
	// context, the prompt's included. From 1e-100 to 1e100; 0 and 1 mean off.
	RepeatPenalty float64
	RepeatLastN   int // 0 means all; it bounds the two penalties below too

	// FrequencyPenalty is taken from an id's logit for each time, and PresencePenalty once, that it
	// is among the new tokens (OpenAI's definition).
	FrequencyPenalty, PresencePenalty float64

	// PenaltyPrompt says whether the penalties count the prompt's tokens too. Nil means that
	// RepeatPenalty does and the others do not; with Samplers "llama.cpp", that all do.
	PenaltyPrompt *bool

	NoRepeatNgram int // no sequence of so many ids occurs twice, the prompt counted; 0 means off
	DRY           DRY
	DRYBreakers   []string    // strings for Open to make DRYStrings of; nil means UsualBreakers
	DRYStrings    *DRYStrings // DRY's breakers as strings; nil means none
	Bias          []Bias      // a Text in it is one token
	SequenceBias  []Bias      // a Text in it is any number of tokens
	Allowed       []int       // the only ids that may be drawn; empty means all
	MinTokens     int         // the text does not end before so many new tokens; 0 means off
	LengthDecay   LengthDecay

	// Mirostat takes the place of the filters.
	Mirostat Mirostat

	// Adaptive makes tokens likely whose probability is near a target. It wants a filter such as
	// MinP, which removes the least likely ids.
	Adaptive Adaptive

	// Guidance makes tokens likelier that another context makes unlikely. Nil means off.
	Guidance *Guidance

	// Earlier takes the definitions of earlier versions, for the texts that they wrote: Guidance
	// multiplies Bias and knows only the ids that may be drawn, and a bias of several ids needs a
	// context of at least so many.
	Earlier bool

	// Generated is how many of the last tokens of the prompt count as new ones already, for the
	// penalties, MinTokens and LengthDecay.
	Generated int
}

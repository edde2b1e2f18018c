package genflags

// The help of the flags.

// Help is the help of each flag of Usual, by --flag.
func Help() map[string]string {
	return map[string]string{
		"--overflow": "what to do where the model's context is too small: error, truncate (drop the " +
			"oldest tokens of the prompt) or slide (drop them later too, and write on without end)",
		"--max-tokens": "write at most N new tokens; default: until the text ends or the context " +
			"is full",
		"--samples": "write N texts; text i, counted from 0, is what seed S+i gives alone",
		"--stop":    "end the text before this string; the flag may be repeated",
		"--temp": "temperature: 0 always takes the likeliest token, higher values give more " +
			"variety",
		"--top-k": "choose among the K likeliest tokens; 0 is no limit",
		"--top-p": "choose among the likeliest tokens that have the probability P together; 1 is " +
			"no limit",
		"--min-p": "choose among tokens at least P times as likely as the likeliest; 0 is no limit",
		"--repeat-penalty": "values above 1 make tokens that occurred before less likely; 1 is " +
			"off",
		"--repeat-last-n": "how many of the last tokens the penalty looks at; 0 is all",
	}
}

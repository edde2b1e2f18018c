package sample

// What is refused, by name.

import (
	"fmt"
	"math"
)

// An OptionError is a mistake in the options: the caller's, whatever the model and the prompt are.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

// Check returns an *OptionError of what no sampler could follow, by name, or nil.
func (p *Params) Check() error {
	if err := p.check(); err != nil {
		return &OptionError{err}
	}
	return nil
}

func (p *Params) check() error {
	switch {
	case !(p.Temperature >= 0) || math.IsInf(p.Temperature, 1):
		return fmt.Errorf("temperature %v: want 0 (greedy) or a finite number above it",
			p.Temperature)
	case p.TopK < 0:
		return fmt.Errorf("top-k %d: want 0 (off) or more", p.TopK)
	case !(p.TopP >= 0 && p.TopP <= 1):
		return fmt.Errorf("top-p %v: want a number from 0 to 1 (off)", p.TopP)
	case !(p.MinP >= 0 && p.MinP <= 1):
		return fmt.Errorf("min-p %v: want a number from 0 (off) to 1", p.MinP)
	case p.RepeatPenalty != 0 && !(p.RepeatPenalty >= 1e-100 && p.RepeatPenalty <= 1e100):
		return fmt.Errorf("repetition penalty %v: want 0 or 1 (off) or another number "+
			"from 1e-100 to 1e100", p.RepeatPenalty)
	case p.RepeatLastN < 0:
		return fmt.Errorf("repetition window %d: want 0 (the whole context) or more", p.RepeatLastN)
	}
	if err := p.checkFilters(); err != nil {
		return err
	}
	return p.checkContext()
}

// checkFilters refuses what the filters that came after top-k, top-p and min-p cannot follow.
func (p *Params) checkFilters() error {
	for _, x := range []struct {
		name  string
		value float64
		below bool // 1
	}{
		{"typical", p.Typical, false}, {"epsilon", p.Epsilon, true}, {"eta", p.Eta, true},
		{"top-h", p.TopH, false}, {"XTC probability", p.XTCProbability, false},
		{"XTC threshold", p.XTCThreshold, false},
	} {
		switch {
		case x.below && !(x.value >= 0 && x.value < 1):
			return fmt.Errorf("%s %v: want a number from 0 (off) to below 1", x.name, x.value)
		case !(x.value >= 0 && x.value <= 1):
			return fmt.Errorf("%s %v: want a number from 0 to 1", x.name, x.value)
		}
	}
	for _, x := range []struct {
		name  string
		value float64
	}{
		{"top-n-sigma", p.TopNSigma}, {"temperature range", p.TempRange},
		{"temperature exponent", p.TempExponent},
	} {
		if !(x.value >= 0) || math.IsInf(x.value, 1) {
			return fmt.Errorf("%s %v: want 0 or a finite number above it", x.name, x.value)
		}
	}
	_, err := p.samplerList()
	return err
}

// checkContext refuses what the steps that look at the context cannot follow.
func (p *Params) checkContext() error {
	d := &p.LengthDecay
	switch {
	case !finite(p.FrequencyPenalty):
		return fmt.Errorf("frequency penalty %v: want a finite number", p.FrequencyPenalty)
	case !finite(p.PresencePenalty):
		return fmt.Errorf("presence penalty %v: want a finite number", p.PresencePenalty)
	case p.NoRepeatNgram < 0:
		return fmt.Errorf("no-repeat n-gram %d: want 0 (off) or more", p.NoRepeatNgram)
	case p.DRY.Multiplier < 0 || !finite(p.DRY.Multiplier):
		return fmt.Errorf("DRY multiplier %v: want 0 (off) or a finite number above it",
			p.DRY.Multiplier)
	case p.DRY.Base < 0 || !finite(p.DRY.Base):
		return fmt.Errorf("DRY base %v: want 0 or a finite number above it", p.DRY.Base)
	case p.DRY.AllowedLength < 0:
		return fmt.Errorf("DRY allowed length %d: want 0 or more", p.DRY.AllowedLength)
	case p.DRY.LastN < 0:
		return fmt.Errorf("DRY window %d: want 0 (the whole context) or more", p.DRY.LastN)
	case p.MinTokens < 0:
		return fmt.Errorf("min tokens %d: want 0 (off) or more", p.MinTokens)
	case d.Start < 0:
		return fmt.Errorf("length decay: start %d: want 0 or more", d.Start)
	case d.Factor < 0 || !finite(d.Factor):
		return fmt.Errorf("length decay: factor %v: want 0 (off) or a finite number above it",
			d.Factor)
	case p.Mirostat.Version < 0 || p.Mirostat.Version > 2:
		return fmt.Errorf("mirostat %d: want 0 (off), 1 or 2", p.Mirostat.Version)
	case p.Mirostat.Tau < 0 || !finite(p.Mirostat.Tau):
		return fmt.Errorf("mirostat tau %v: want 0 or a finite number above it", p.Mirostat.Tau)
	case p.Mirostat.Eta < 0 || !finite(p.Mirostat.Eta):
		return fmt.Errorf("mirostat eta %v: want 0 or a finite number above it", p.Mirostat.Eta)
	case p.Guidance != nil && !(math.Abs(p.Guidance.Scale) <= 1e100):
		return fmt.Errorf("guidance %v: want a number from -1e100 to 1e100", p.Guidance.Scale)
	case p.Generated < 0:
		return fmt.Errorf("generated tokens %d: want 0 or more", p.Generated)
	}
	for i, b := range p.Bias {
		switch {
		case len(b.IDs) == 0:
			return fmt.Errorf("bias %d of %d: want at least one id, found none", i+1, len(p.Bias))
		case !(math.Abs(b.Value) <= 1e100) && !math.IsInf(b.Value, -1):
			return fmt.Errorf("bias %v: want a number from -1e100 to 1e100, or -Inf", b.Value)
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

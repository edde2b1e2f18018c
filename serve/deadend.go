package serve

// Dead ends: texts that cannot continue, because the options leave no id that may come next.

import (
	"errors"
	"net/http"

	"picogpt/decode"
	"picogpt/sample"
)

// finishError is the finish_reason of a dead end.
const finishError = "error"

// deadEnd ends choices for which no id may come next, with their texts so far. It returns an error
// of another kind.
func (j *job) deadEnd(
	choices []*choice, err error, took func(*choice, *decode.Token) error,
) error {
	if !isDeadEnd(err) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range choices {
		c.finish, c.failed = finishError, asDeadEnd(err)
		c.text = append(c.text, c.raw[min(c.shown, len(c.raw)):]...) // it could have become a stop string
		j.ended(c)
		if err := took(c, nil); err != nil {
			return err
		}
	}
	return nil
}

func isDeadEnd(err error) bool {
	var none *sample.NoIDError
	var form *decode.ConstraintError
	return errors.As(err, &none) || errors.As(err, &form)
}

func asDeadEnd(err error) *apiError { return errorf(http.StatusBadRequest, "", "%v", err) }

// allFailed returns the error of the first choice if all are dead ends.
func (j *job) allFailed() error {
	var first *apiError
	for _, c := range j.choices {
		switch {
		case c.finish == "": // a search found fewer
		case c.failed == nil:
			return nil
		case first == nil:
			first = c.failed
		}
	}
	if first == nil {
		return nil
	}
	return first
}

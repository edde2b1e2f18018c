package serve

// Errors of the engine, translated for clients.

import (
	"context"
	"errors"
	"net/http"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/model"
	"picogpt/sample"
)

// explain turns an error of a request's work into one that clients understand. An error that is the
// server's own fault is returned unchanged.
func (s *Server) explain(v *visit, err error) error {
	var (
		panicked *panicError
		option   *sample.OptionError
		long     *model.ContextError
		negative *decode.NegativeError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &panicked):
		panic(panicked.Error())
	case errors.Is(err, context.DeadlineExceeded):
		v.Header().Set("X-Should-Retry", "false") // a retry would take as long
		return errorf(http.StatusGatewayTimeout, "timeout", "the answer took more than %v",
			s.options.Timeout)
	case errors.Is(err, context.Canceled):
		return v.gone()
	case errors.Is(err, batch.ErrClosed), errors.Is(err, model.ErrClosed):
		return errDraining()
	case errors.Is(err, model.ErrCacheFull):
		return errorf(http.StatusServiceUnavailable, "cache_full",
			"the memory for the cache does not hold this text")
	case errors.As(err, &option):
		return errorf(http.StatusBadRequest, "", "%v", err)
	case isDeadEnd(err):
		return asDeadEnd(err)
	case errors.As(err, &negative):
		return fieldf("negative_prompt", "%v", err)
	case errors.As(err, &long):
		return tooLong("prompt", long.Positions, long.Held+long.Added, "", allowance{})
	}
	return err
}

package textio

// Where no token is left to choose: the error names the flags that took them.

import (
	"errors"
	"fmt"
	"strings"

	"picogpt/internal/quote"
	"picogpt/sample"
)

// ByFlags is an error that names flags where no token is left to choose. forms are the flags that
// constrain.
func ByFlags(err error, forms []string) error {
	var none *sample.NoIDError
	if !errors.As(err, &none) {
		return err
	}
	after := fmt.Sprintf("after %s no token is left to choose", quote.Count(none.Position+1, "token"))
	var flags []string
	for _, step := range none.Took {
		switch step {
		case "vocabulary": // which leaves some
		case "constraint":
			flags = append(flags, forms...)
		default:
			flags = append(flags, "--"+step)
		}
	}
	switch last := len(flags) - 1; last {
	case -1:
		return errors.New(after)
	case 0:
		return fmt.Errorf("%s: %s allows none", after, flags[0])
	default:
		return fmt.Errorf("%s: %s and %s together allow none", after,
			strings.Join(flags[:last], ", "), flags[last])
	}
}

package show

import (
	"fmt"
	"math"
)

// Percent is a probability with so many digits after the point. A small one has two significant
// digits, so that none but 0 looks like nothing.
func Percent(p float64, digits int) string {
	if p > 0 && p < math.Pow10(-digits-1) {
		return fmt.Sprintf("%.2g%%", 100*p)
	}
	return fmt.Sprintf("%.*f%%", digits, 100*p)
}

package process

// The machine's memory.

import (
	"os"
	"strconv"
	"strings"
)

// FreeMemory returns how many bytes the system says that programs may still take, 0 where it does
// not tell.
func FreeMemory() int64 {
	b, err := os.ReadFile("/proc/meminfo") // Linux
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(b), "\nMemAvailable:")
	line, _, _ = strings.Cut(line, " kB")
	kilobytes, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return kilobytes << 10
}

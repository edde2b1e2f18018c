package show

// What can compute a model.

import (
	"fmt"
	"strings"

	"picogpt/internal/cli"
)

// A Device is what gpt devices prints of one.
type Device struct {
	Device   string   `json:"device"`
	Name     string   `json:"name"`
	Platform string   `json:"platform"`
	Memory   int64    `json:"memory_bytes,omitempty"`
	Lacks    []string `json:"lacks"`
	Probe    string   `json:"probe"` // "passed", or why not
}

// Show writes a device: its name and memory, its platform, and what the probe says.
func (d *Device) Show(p *cli.Page) {
	const indent = 10
	about := d.Name
	if d.Memory > 0 {
		about += fmt.Sprintf(", %.1f GB", float64(d.Memory)/1e9)
	}
	probe := "probe passed"
	if d.Probe != "passed" {
		probe = "refused: " + d.Probe
	}
	p.Wrap(fmt.Sprintf("%-*s", indent, d.Device), indent, about)
	for _, text := range []string{d.Platform, probe} {
		p.Wrap(strings.Repeat(" ", indent), indent, text)
	}
}

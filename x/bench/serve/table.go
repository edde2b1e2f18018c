package main

// The output: progress on stderr, the table on stdout.

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// A row of the table.
type row struct{ what, got, against, want, met string }

// row adds a row that fails the run if it misses its goal: it does not depend on the load of the
// machine.
func (b *bench) row(what, got, against, want string, met bool) {
	b.speed(what, got, against, want, met)
	b.failed = b.failed || !met
}

// speed adds a row that only reports whether it meets its goal.
func (b *bench) speed(what, got, against, want string, met bool) {
	yes := "no"
	if met {
		yes = "yes"
	}
	b.rows = append(b.rows, row{what, got, against, want, yes})
	b.progress("%s: %s", strings.TrimSpace(what), got)
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(b.notes, "serve: "+format+"\n", args...)
}

func (b *bench) print(format string, args ...any) { fmt.Fprintf(b.out, format, args...) }

func (b *bench) printTable() {
	if len(b.rows) == 0 {
		return
	}
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tmeasured\tagainst\twanted\tmet")
	for _, r := range b.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.what, r.got, r.against, r.want, r.met)
	}
	w.Flush()
}

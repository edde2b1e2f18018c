package main

// The licences of what the program is built from: cmd/gpt/LICENSES.

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// rule stands between the texts.
var rule = []byte("\n" + strings.Repeat("-", 80) + "\n\n")

// writeLicenses writes each text once, below the modules that have it. The standard library is among
// them as stdlib.
func writeLicenses(root string) error {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	folders := map[string]string{"stdlib": strings.TrimSpace(string(goroot))}
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-tags", "gpu", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", "./cmd/gpt")
		list.Dir, list.Env = root, append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "GOWORK=off",
			"CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
		for line := range strings.Lines(string(out)) {
			if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				folders[path] = dir
			}
		}
	}
	names := map[string][]string{} // of a text
	for path, dir := range folders {
		text, err := licenceIn(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		names[text] = append(names[text], path)
	}
	texts := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Compare(slices.Min(names[a]), slices.Min(names[b]))
	})
	ours, err := licenceIn(root)
	if err != nil {
		return err
	}
	all := []string{"picogpt, the demo checkpoint too\n\n" + ours}
	for _, text := range texts {
		slices.Sort(names[text])
		all = append(all, strings.Join(names[text], "\n")+"\n\n"+text)
	}
	return os.WriteFile(filepath.Join(root, "cmd", "gpt", "LICENSES"),
		[]byte(strings.Join(all, string(rule))), 0o666)
}

// licenceIn is the text of the licence in a folder, and of a notice that goes with it.
func licenceIn(dir string) (text string, err error) {
	for _, pattern := range []string{"LICEN[SC]E*", "License*", "COPYING*", "NOTICE*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			text += strings.TrimSpace(string(b)) + "\n"
		}
		if err != nil {
			return "", err
		}
	}
	if text == "" {
		err = fmt.Errorf("no LICENSE in %s", dir)
	}
	return text, err
}

// spdxLicense is the SPDX name of a module's licence in LICENSES.
func spdxLicense(licenses []byte, module string) (string, error) {
	for part := range bytes.SplitSeq(licenses, rule) {
		names, text, _ := bytes.Cut(part, []byte("\n\n"))
		if slices.Contains(strings.Fields(string(names)), module) {
			found := licensecheck.Scan(text)
			if len(found.Match) == 0 || found.Percent < 75 {
				return "", fmt.Errorf("%s: no licence that is known (%.0f %%)", module, found.Percent)
			}
			return found.Match[0].ID, nil
		}
	}
	return "", fmt.Errorf("%s: not in LICENSES: make licenses", module)
}

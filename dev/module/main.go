// Command module gives the module the address that others fetch it by, and prepares a release of it:
//
//	go run ./dev/module github.com/you/picogpt
//	go run ./dev/module github.com/you/picogpt v0.3.0
//
// It runs from the root of the project, where git should have nothing uncommitted: git checkout .
// undoes it. The path takes the place of the old one in imports, go.mod files and documents, and
// README.md gets badges. With a version, the nested modules require the root of that version, with
// its sums, in place of a replace directive, so that go install can fetch them; it prints the commands
// that commit and tag that beside main: there, nested modules stay with the root that lies above them.
// With -proxy DIR it writes a module proxy with the result into DIR.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
)

var (
	paths    = regexp.MustCompile(`^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$`)
	versions = regexp.MustCompile(`^v[01]\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`) // others are in the path
)

func main() {
	proxy := flag.String("proxy", "", "a folder for the files of a module proxy")
	flag.Parse()
	if err := run(".", flag.Args(), *proxy); err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(2)
	}
}

func run(root string, args []string, proxy string) error {
	path, version := "", ""
	switch len(args) {
	case 2:
		version = args[1]
		fallthrough
	case 1:
		path = args[0]
	}
	switch {
	case !paths.MatchString(path):
		return fmt.Errorf("%q, want a path such as github.com/you/picogpt", path)
	case version != "" && !versions.MatchString(version):
		return fmt.Errorf("%q, want a version such as v0.3.0", version)
	case version != "" && !strings.Contains(strings.Split(path, "/")[0], "."):
		return fmt.Errorf("%s: want a path that begins with a host, as github.com/you/picogpt does: "+
			"no other can be fetched", path)
	case version == "" && proxy != "":
		return fmt.Errorf("-proxy: want a version with it")
	}
	p, err := open(root)
	if err != nil {
		return err
	}
	moved := p.path != path
	if err := p.rename(path); err != nil || version == "" {
		return err
	}
	if err := p.require(version); err != nil {
		return err
	}
	if proxy != "" {
		return p.writeProxy(proxy, version)
	}
	fmt.Print(commands(path, version, p.modules(), moved))
	return nil
}

// commands are those that release a version whose files are prepared.
func commands(path, version string, modules []string, moved bool) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Look at git diff, commit it beside the branch, and push the tags:\n\n"+
		"git switch --detach && git commit -am '%s %s'\n", path, version)
	for _, m := range modules {
		tag := strings.TrimPrefix(m+"/"+version, "./")
		fmt.Fprintf(&text, "git tag %s && git push origin %[1]s\n", tag)
	}
	text.WriteString("git switch -\n")
	if moved {
		fmt.Fprintf(&text, "make module PATH=%s && git commit -am %[1]s # the address on the branch\n",
			path)
	}
	return text.String()
}

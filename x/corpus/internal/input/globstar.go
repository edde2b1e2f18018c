package input

// Patterns with a folder **, which stands for any number of folders, also none, as in shells. As
// there, it matches no name that begins with a dot, and follows no link.

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/x/corpus/internal/storage"
)

const globstar = "**"

// Matches reports whether a pattern matches the name of a file.
func Matches(pattern, name string) bool {
	parts := segments(pattern)
	if !slices.Contains(parts, globstar) {
		found, _ := filepath.Match(pattern, name)
		return found
	}
	return matches(parts, segments(name))
}

func segments(name string) []string { return strings.Split(filepath.ToSlash(name), "/") }

// matches is Matches for a pattern with **, from a folder on.
func matches(pattern, name []string) bool {
	if len(pattern) == 0 || len(name) == 0 {
		return len(pattern) == len(name)
	}
	if pattern[0] != globstar {
		found, _ := filepath.Match(pattern[0], name[0])
		found = found && (hidden(pattern[0]) || !hidden(name[0])) && (name[0] != "" || pattern[0] == "")
		return found && matches(pattern[1:], name[1:])
	}
	rest := pattern[1:]
	if len(rest) == 0 {
		rest = []string{"*"} // all files
	}
	for i := range name {
		if matches(rest, name[i:]) {
			return true
		}
		if hidden(name[i]) {
			return false
		}
	}
	return false
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// listDeep returns the names that match a pattern with a folder **.
func listDeep(ctx context.Context, pattern string) (names []string, err error) {
	parts := segments(pattern)
	for _, part := range parts {
		if _, err := filepath.Match(part, ""); err != nil {
			return nil, err
		}
	}
	if scheme(pattern) == "" {
		return walk(ctx, parts)
	}
	before := pattern[:strings.IndexAny(pattern, "*?[")]
	all, err := storage.Tree(ctx, before)
	return slices.DeleteFunc(all, func(name string) bool { return !matches(parts, segments(name)) }), err
}

// walk returns the local files that match a pattern with a folder **.
func walk(ctx context.Context, pattern []string) (names []string, err error) {
	at := slices.Index(pattern, globstar)
	before, after := filepath.FromSlash(strings.Join(pattern[:at], "/")), pattern[at:]
	switch {
	case at == 1 && before == "":
		before = string(filepath.Separator)
	case at == 0:
		before = "."
	}
	enters := slices.ContainsFunc(after, hidden) // whether it visits folders that begin with a dot
	folders, err := filepath.Glob(before)
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue
		}
		err := fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || ctx.Err() != nil:
				return cmp.Or(err, ctx.Err())
			case e.IsDir() && name != "." && hidden(e.Name()) && !enters:
				return fs.SkipDir
			case e.IsDir() || !matches(after, strings.Split(name, "/")):
				return nil
			}
			name = filepath.Join(folder, name)
			if info, err := os.Stat(name); err != nil || !info.IsDir() { // not a link to a folder
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, err
}

package input

// Match: the files for patterns.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/rows"
	"picogpt/x/corpus/internal/storage"
)

// Match returns the files that match the patterns: the patterns in order, the names of each sorted,
// and no file twice. Its errors have one line: for a pattern that matches nothing, a folder, a form
// that does not exist.
func Match(ctx context.Context, o Options) ([]Source, error) {
	if _, err := settle(o.Form, ""); err != nil {
		return nil, err
	}
	var all []Source
	seen := map[string]bool{}
	for _, pattern := range o.Patterns {
		found, err := match(ctx, pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown(pattern), err)
		}
		for _, s := range found {
			if seen[key(s.Name)] {
				continue
			}
			seen[key(s.Name)] = true
			s.Order = len(all)
			if s.Form, err = settle(o.Form, rows.Extension(s.Name)); err != nil {
				return nil, fmt.Errorf("%s: %w", shown(s.Name), err)
			}
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no input, want the name of a file or a pattern")
	}
	return all, nil
}

// shown returns a name as it is written at the beginning of errors.
func shown(name string) string {
	if name == "" {
		return `""`
	}
	return quote.Plain(name, 200)
}

// key returns a string that is the same for all names of a path.
func key(name string) string {
	if scheme(name) != "" {
		return name
	}
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return filepath.Clean(name)
}

// match returns the files of one pattern.
func match(ctx context.Context, pattern string) (found []Source, err error) {
	if strings.TrimSpace(pattern) == "" {
		return nil, errors.New("no name")
	}
	store, err := storage.System(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	names, err := list(ctx, store, pattern)
	if err != nil {
		return nil, plain(err)
	}
	if len(names) == 0 {
		return nil, errors.New("no such file" + hint(pattern))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	found = make([]Source, len(names))
	for i, err := range sizes(ctx, store, names, found) {
		if err != nil && names[i] == pattern {
			return nil, plain(err)
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", shown(names[i]), plain(err))
		}
	}
	return found, nil
}

// sizes requests many sizes concurrently, because each is a request to an object store.
func sizes(ctx context.Context, store filesystem.Interface, names []string, found []Source) []error {
	errs := make([]error, len(names))
	places := make(chan struct{}, 32)
	var asked sync.WaitGroup
	for i, name := range names {
		places <- struct{}{}
		asked.Go(func() {
			found[i].Name = name
			found[i].Size, errs[i] = size(ctx, store, name)
			<-places
		})
	}
	asked.Wait()
	return errs
}

// list returns the names that match a pattern. If a local file has exactly that name, the result is
// that file, even if the name contains wildcard characters.
func list(ctx context.Context, store filesystem.Interface, pattern string) ([]string, error) {
	if scheme(pattern) == "" {
		if _, err := os.Lstat(pattern); err == nil {
			return []string{pattern}, nil
		}
	}
	if slices.Contains(segments(pattern), globstar) {
		return listDeep(ctx, pattern)
	}
	return store.List(ctx, address(pattern))
}

// size returns the size of a file. For a local file it does not use Beam, which opens the file and
// would wait for a pipe.
func size(ctx context.Context, store filesystem.Interface, name string) (int64, error) {
	if scheme(name) != "" {
		return store.Size(ctx, address(name))
	}
	switch info, err := os.Stat(name); {
	case err != nil:
		return 0, folder.Cause(err)
	case info.IsDir():
		return 0, fmt.Errorf("a directory, want files: %s", filepath.Join(name, "*"))
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%s, want a regular file", folder.Kind(info.Mode()))
	default:
		return info.Size(), nil
	}
}

// hint returns the probable reason why a pattern matches nothing, or "".
func hint(pattern string) string {
	switch wild := strings.IndexAny(pattern, "*?["); {
	case strings.HasPrefix(pattern, "~"):
		return ", and ~ is known to shells only"
	case wild < 0:
		return ""
	case scheme(pattern) != "" && pattern[wild] != '*' &&
		!slices.Contains(segments(pattern), globstar):
		return " matches, and the first wildcard of a store must be *"
	}
	return " matches"
}

// plain returns an error of a filesystem without the operation, in one line.
func plain(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("no such file")
	}
	err = folder.Cause(err)
	if text := strings.Join(strings.Fields(err.Error()), " "); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// Patterns with a folder **, which stands for any number of folders, also none, as in shells. As
// there, it matches no name that begins with a dot, and follows no link.

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

// Names of repositories and revisions, which users write, and of files, which servers send.

package hub

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"picogpt/internal/quote"
)

// A Name is a repository of the hub and one of its revisions.
type Name struct {
	Repo     string // openai-community/gpt2, or gpt2 for one of the oldest
	Revision string // a branch, a tag, a commit, or refs/pr/22 for a pull request; "" means main
}

// ParseName reads REPO or REPO@REVISION.
func ParseName(s string) (Name, error) {
	repo, revision, has := strings.Cut(s, "@")
	n := Name{repo, revision}
	err := checkRepo(repo)
	if err == nil && has {
		err = checkRevision(revision)
	}
	if err != nil {
		return Name{}, fmt.Errorf("%s: %w", quote.Plain(s, 120), err)
	}
	return n, nil
}

func (n Name) String() string {
	if n.Revision == "" {
		return n.Repo
	}
	return n.Repo + "@" + n.Revision
}

// check returns an error for a Name that ParseName would not return.
func (n Name) check() error {
	_, err := ParseName(n.String())
	return err
}

// revision returns the revision to request.
func (n Name) revision() string { return cmp.Or(n.Revision, "main") }

// folder returns the name of the repository's folder in the cache.
func (n Name) folder() string {
	return folderPrefix + strings.ReplaceAll(n.Repo, "/", "--")
}

const folderPrefix = "models--"

// sameRepo returns the other names of a repository. Models that the hub has moved have an old and a
// new one.
func (n Name) sameRepo() []Name {
	for _, long := range []string{"openai-community/gpt2", "openai-community/gpt2-medium",
		"openai-community/gpt2-large", "openai-community/gpt2-xl", "openai-community/openai-gpt",
		"distilbert/distilgpt2"} {
		switch short := path.Base(long); n.Repo {
		case short:
			return []Name{{long, n.Revision}}
		case long:
			return []Name{{short, n.Revision}}
		}
	}
	return nil
}

// checkRepo applies the hub's rules for names of repositories. Such names are also safe as names of
// folders.
func checkRepo(repo string) error {
	parts := strings.Split(repo, "/")
	switch {
	case repo == "":
		return errors.New("want the name of a repository, as openai-community/gpt2, found nothing")
	case len(repo) > 96:
		return fmt.Errorf("a repository's name of %d bytes, want at most 96", len(repo))
	case len(parts) > 2:
		return errors.New("not a repository of the hub: want NAME or OWNER/NAME")
	case strings.Contains(repo, "--"), strings.Contains(repo, ".."),
		strings.HasSuffix(repo, ".git"):
		return errors.New("not a repository of the hub: no name has --, .. or .git at its end")
	}
	for _, part := range parts {
		if part == "" || strings.Trim(part, "-.") != part {
			return errors.New("not a repository of the hub: want NAME or OWNER/NAME, " +
				"which begin and end with a letter or a digit")
		}
		for _, r := range part {
			if !isWord(r) && r != '-' && r != '.' {
				return fmt.Errorf("not a repository of the hub: no name has %q", r)
			}
		}
	}
	return nil
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}

// checkRevision applies git's rules for names of branches and tags.
func checkRevision(revision string) error {
	if err := checkFile(revision); err != nil {
		return fmt.Errorf("revision: %w", err)
	}
	for part := range strings.SplitSeq(revision, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return fmt.Errorf("revision: %s is no name that git allows", quote.Plain(part, 80))
		}
	}
	if strings.ContainsAny(revision, " ~^:?*[") || strings.Contains(revision, "..") {
		return fmt.Errorf("revision: %s is no name that git allows", quote.Plain(revision, 80))
	}
	return nil
}

// checkFile returns an error unless name is the path of a file below any folder: relative, with
// slashes, and without a step to a parent.
func checkFile(name string) error {
	const longest = 1024 // bytes
	switch {
	case name == "":
		return errors.New("want a name, found nothing")
	case len(name) > longest:
		return fmt.Errorf("a name of %d bytes, want at most %d", len(name), longest)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, notPrintable):
		return fmt.Errorf("%s is no plain name", quote.Short(name, 80))
	case strings.Contains(name, `\`), path.Clean(name) != name, !fsLocal(name):
		return fmt.Errorf("%s leads out of the folder, or may on some system",
			quote.Short(name, 80))
	}
	return nil
}

// notPrintable reports whether a terminal would act on a character or not show it.
func notPrintable(r rune) bool { return !unicode.IsPrint(r) }

// fsLocal reports whether a path with slashes stays below its folder on this system.
func fsLocal(name string) bool {
	return !path.IsAbs(name) && filepath.IsLocal(filepath.FromSlash(name)) && name != "."
}

// isCommit reports whether a revision is the full hash of a commit.
func isCommit(s string) bool { return isHex(s, 40) }

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

#!/bin/sh
# Renames the Go module everywhere, nested modules too: internal/module.sh github.com/you/picogpt
# Run it from the root of the project. It uses nothing but standard utilities.
set -eu

new=${1-}
case $new in
'' | /* | */ | *[!A-Za-z0-9._~/-]*)
	echo "module: \"$new\", want a path such as github.com/you/picogpt" >&2
	exit 2
	;;
esac
old=$(sed -n 's/^module //p' go.mod)
dots=$(printf '%s' "$old" | sed 's/[.]/[.]/g') # the old path as a regular expression

# change FILE SED-COMMAND rewrites a file.
change() {
	sed "$2" "$1" >"$1.renamed"
	cat "$1.renamed" >"$1" # keeps the file's mode
}

# with NAME lists the files of a name that have the old path.
with() {
	find . -name .git -prune -o -name "$1" -exec grep -l "$dots" {} +
}

with '*.go' | while IFS= read -r f; do
	# an import is a line of its own, perhaps with a name before the path
	change "$f" "s#^\\(\\(import \\)\\{0,1\\}[[:space:]]*\\([A-Za-z_.][A-Za-z0-9_]* \\)\\{0,1\\}\"\\)$dots\\([/\"]\\)\\(.*\\)#\\1$new\\4\\5#"
done
with go.mod | while IFS= read -r f; do
	change "$f" "s#^module $dots\\(/\\|\$\\)#module $new\\1#; s#\\([[:space:]]\\)$dots\\([[:space:]/]\\)#\\1$new\\2#g; s#^\\(require\\|replace\\) $dots\\([[:space:]/]\\)#\\1 $new\\2#"
done
with '*.md' | while IFS= read -r f; do
	change "$f" "s#\\([\"\` ]\\)$dots/\\([a-z]\\)#\\1$new/\\2#g; s#\"$dots\"#\"$new\"#g"
done
find . -name .git -prune -o -name '*.renamed' -exec rm {} +

package main

// Texts for Homebrew, Scoop and AUR, with the sums of the archives.

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"os"
	"strings"
	"text/template"
)

//go:embed texts
var texts embed.FS

// placed is where each text goes, by its template.
var placed = map[string]string{
	"gpt.rb": "homebrew/gpt.rb", "gpt.json": "scoop/gpt.json", "PKGBUILD": "aur/PKGBUILD",
	"SRCINFO": "aur/.SRCINFO",
}

func (r *release) texts(all []*target) error {
	sums := map[string]string{}
	for _, t := range all {
		b, err := os.ReadFile(t.archive)
		if err != nil {
			return err
		}
		sums[t.os+"/"+t.arch] = fmt.Sprintf("%x", sha256.Sum256(b))
	}
	parsed, err := template.New("").ParseFS(texts, "texts/*")
	if err != nil {
		return err
	}
	data := map[string]any{"Version": r.version, "Number": strings.TrimPrefix(r.version, "v"),
		"Home": "https://" + r.address, "Base": r.base(), "Summary": summary, "Sums": sums,
		"Arch": strings.ReplaceAll(strings.TrimPrefix(r.version, "v"), "-", "_")}
	for name, to := range placed {
		var b bytes.Buffer
		if err := parsed.ExecuteTemplate(&b, name, data); err != nil {
			return err
		}
		if err := r.write(to, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

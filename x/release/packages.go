package main

// Debian and RPM packages.

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	summary     = "GPT-2 class text generation: a command and a server of OpenAI's API"
	description = summary + "\nOne static binary with a small model inside. It opens safetensors, " +
		"PyTorch,\nGGUF and other checkpoints, and writes the same text for a seed on every\nmachine."
)

func (r *release) packages(all []*target) error {
	for _, t := range all {
		if t.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.systemPackage(t, format); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) systemPackage(t *target, format string) error {
	scratch, err := os.MkdirTemp("", "picogpt") // nfpm reads files
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	contents, err := r.installed(t, format, scratch)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "picogpt", Arch: t.arch, Platform: "linux", Version: r.version, Section: "science",
		Maintainer: r.maintainer, Description: description, Homepage: "https://" + r.address,
		License: "MIT", MTime: r.time, Overridables: nfpm.Overridables{
			Contents: contents,
			RPM:      nfpm.RPM{BuildHost: "localhost", Summary: summary},
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return err
	}
	return r.write(packager.ConventionalFileName(info), b.Bytes())
}

// installed is where a distribution has the files of an archive.
func (r *release) installed(t *target, format, scratch string) (files.Contents, error) {
	zsh, licence := "/usr/share/zsh/vendor-completions/_gpt", "/usr/share/doc/picogpt/copyright"
	if format == "rpm" {
		zsh, licence = "/usr/share/zsh/site-functions/_gpt", "/usr/share/licenses/picogpt/LICENSE"
	}
	to := map[string]string{
		"/usr/bin/gpt": "gpt", zsh: "completions/gpt.zsh",
		"/usr/share/bash-completion/completions/gpt":    "completions/gpt.bash",
		"/usr/share/fish/vendor_completions.d/gpt.fish": "completions/gpt.fish",
		"/usr/share/doc/picogpt/README.md":              "README.md",
	}
	placed := map[string][]byte{licence: t.files["LICENSES"]}
	for name, from := range to {
		placed[name] = t.files[from]
	}
	for name, page := range t.files {
		if strings.HasPrefix(name, "man/") {
			z, err := zipped(page)
			if err != nil {
				return nil, err
			}
			placed["/usr/share/"+name+".gz"] = z
		}
	}
	var all files.Contents
	for name, b := range placed {
		info := &files.ContentFileInfo{MTime: r.time, Mode: 0o644, Owner: "root", Group: "root"}
		if path.Dir(name) == "/usr/bin" {
			info.Mode = 0o755
		}
		source := filepath.Join(scratch, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(source, b, 0o600); err != nil {
			return nil, err
		}
		all = append(all, &files.Content{Source: source, Destination: name, FileInfo: info})
	}
	return all, nil
}

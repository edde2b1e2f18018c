package main

// Packages for npm: one for each system with its binary, and one that chooses between them.

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed npm/gpt.js
var launcher []byte

// npm writes the package of each system, and picogpt, which chooses between them.
func (r *release) npm(all []*target) error {
	version := strings.TrimPrefix(r.version, "v")
	if !versions.MatchString(r.version) {
		version = "0.0.0-" + notWord.ReplaceAllString(r.version, "-")
	}
	optional := map[string]string{}
	common := func(name string) map[string]any {
		return map[string]any{"name": name, "version": version, "description": summary,
			"license": "MIT", "repository": "git+https://" + r.address + ".git"}
	}
	for _, t := range all {
		system := strings.Replace(t.os, "windows", "win32", 1)
		cpu := strings.Replace(t.arch, "amd64", "x64", 1)
		name := "picogpt-" + system + "-" + cpu
		optional[name] = version
		about := common(name)
		about["os"], about["cpu"] = []string{system}, []string{cpu}
		about["bin"] = map[string]string{name: "bin/gpt" + t.exe}
		err := r.npmPackage(about, t, member{"package/bin/gpt" + t.exe, 0o755, t.gpt()})
		if err != nil {
			return err
		}
	}
	about := common("picogpt")
	about["bin"] = map[string]string{"gpt": "gpt.js"}
	about["optionalDependencies"] = optional
	return r.npmPackage(about, all[0], member{"package/gpt.js", 0o755, launcher})
}

func (r *release) npmPackage(about map[string]any, t *target, program member) error {
	b, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	tarball, err := r.tarball([]member{
		{"package/package.json", 0o644, append(b, '\n')},
		{"package/LICENSE", 0o644, t.files["LICENSE"]},
		{"package/LICENSES", 0o644, t.files["LICENSES"]},
		program,
	})
	if err == nil {
		tarball, err = zipped(tarball)
	}
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s-%s.tgz", about["name"], about["version"]), tarball)
}

package main

// Wheels: each has the binary of one system.

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/macho"
	_ "embed"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
)

//go:embed python/picogpt.py
var pythonModule []byte

// most is the size of a wheel at most, in bytes.
const most = 20 << 20

// pythonTags are what Python calls the systems of Go.
var pythonTags = map[string]string{
	"linux/amd64":   "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_%d_%d_x86_64",
	"darwin/arm64":  "macosx_%d_%d_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

func (r *release) wheels(all []*target) error {
	for _, t := range all {
		if err := r.wheel(t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

func (r *release) wheel(t *target) error {
	tag := pythonTags[t.os+"/"+t.arch]
	if t.os == "darwin" {
		major, minor, err := oldestMacOS(t.gpt())
		if err != nil {
			return err
		}
		tag = fmt.Sprintf(tag, major, minor)
	}
	name := "picogpt-" + pythonVersion(r.version)
	info := name + ".dist-info/"
	var tags strings.Builder
	platforms := strings.Split(tag, ".")
	for _, platform := range platforms {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", platform)
	}
	files := []member{
		{"picogpt.py", 0o644, pythonModule},
		{name + ".data/scripts/gpt" + t.exe, 0o755, t.gpt()},
		{info + "licenses/LICENSE", 0o644, t.files["LICENSE"]},
		{info + "licenses/LICENSES", 0o644, t.files["LICENSES"]},
		{info + "METADATA", 0o644, fmt.Appendf(nil, "Metadata-Version: 2.4\nName: picogpt\nVersion: %s\n"+
			"Summary: %s\nLicense-Expression: MIT\nLicense-File: LICENSE\nLicense-File: LICENSES\n"+
			"Project-URL: Homepage, https://%s\nRequires-Python: >=3.8\n"+
			"Description-Content-Type: text/markdown\n\n%s", pythonVersion(r.version), summary, r.address,
			pythonReadme)},
		{info + "WHEEL", 0o644, []byte("Wheel-Version: 1.0\nGenerator: picogpt\n" +
			"Root-Is-Purelib: false\n" + tags.String())},
	}
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.bytes)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name,
			base64.RawURLEncoding.EncodeToString(sum[:]), len(f.bytes))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, member{info + "RECORD", 0o644, []byte(record.String())})
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.time}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(f.bytes)
		}
		if err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	if b.Len() > most {
		return fmt.Errorf("a wheel of %d bytes, want at most %d", b.Len(), most)
	}
	return r.write(fmt.Sprintf("%s-py3-none-%s.whl", name, tag), b.Bytes())
}

const pythonReadme = "`pip install picogpt`, then `gpt \"Once upon a time\"`. In Python:\n\n" +
	"```python\nimport picogpt\n\nwith picogpt.serve() as server:\n" +
	"    print(server.base_url)  # of OpenAI's API\n```\n"

// oldestMacOS is the oldest release of macOS that a binary runs on, as Go has written it there.
func oldestMacOS(binary []byte) (major, minor int, err error) {
	f, err := macho.NewFile(bytes.NewReader(binary))
	if err != nil {
		return 0, 0, err
	}
	const buildVersion = 0x32 // LC_BUILD_VERSION: command, size, platform, minos
	for _, l := range f.Loads {
		if raw := l.Raw(); f.ByteOrder.Uint32(raw) == buildVersion {
			oldest := f.ByteOrder.Uint32(raw[12:])
			return int(oldest >> 16), int(oldest >> 8 & 255), nil
		}
	}
	return 0, 0, fmt.Errorf("no LC_BUILD_VERSION")
}

var candidate = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(a|alpha|b|beta|rc)\.?(\d+))?$`)

// pythonVersion is a version as PEP 440 has it. What is no version, as a commit, is a local one.
func pythonVersion(version string) string {
	m := candidate.FindStringSubmatch(strings.TrimPrefix(version, "v"))
	switch {
	case m == nil:
		return "0.0.0+" + strings.Trim(notWord.ReplaceAllString(version, "."), ".")
	case m[2] == "":
		return m[1]
	}
	return m[1] + map[byte]string{'a': "a", 'b': "b", 'r': "rc"}[m[2][0]] + m[3]
}

var notWord = regexp.MustCompile(`[^0-9A-Za-z]+`)

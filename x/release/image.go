package main

// The image of the server, as the Containerfile describes it: an archive for each processor that
// docker load, podman load and crane push take.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func (r *release) images(all []*target) error {
	text, err := os.ReadFile(filepath.Join(r.root, "Containerfile"))
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.os != "linux" {
			continue
		}
		config, err := containerConfig(string(text))
		if err != nil {
			return err
		}
		if err := r.image(t, config); err != nil {
			return err
		}
	}
	return nil
}

// containerConfig is what a Containerfile from scratch says of the container. COPY is image's.
func containerConfig(text string) (c v1.Config, err error) {
	c.ExposedPorts, c.WorkingDir = map[string]struct{}{}, "/"
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "", "#", "ARG", "FROM", "COPY":
		case "USER":
			c.User = rest
		case "ENV":
			c.Env = append(c.Env, rest)
		case "EXPOSE":
			c.ExposedPorts[rest+"/tcp"] = struct{}{}
		case "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &c.Entrypoint)
		case "CMD":
			err = json.Unmarshal([]byte(rest), &c.Cmd)
		default:
			err = fmt.Errorf("unknown")
		}
		if err != nil {
			return c, fmt.Errorf("%s in Containerfile: %w", word, err)
		}
	}
	return c, nil
}

func (r *release) image(t *target, config v1.Config) error {
	files, err := r.tarball([]member{{"gpt", 0o755, t.gpt()}})
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	})
	if err != nil {
		return err
	}
	config.Labels = map[string]string{
		"org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "MIT",
		"org.opencontainers.image.source": "https://" + r.address,
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: t.arch, Created: v1.Time{Time: r.time}, Config: config,
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return err
	}
	image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "COPY gpt /gpt"},
	})
	if err != nil {
		return err
	}
	tag, err := name.NewTag("gpt:" + r.version)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := tarball.Write(tag, image, &b); err != nil {
		return err
	}
	return r.write("gpt-"+r.version+"-image-"+t.arch+".tar", b.Bytes())
}

package checkpoints

// Adapters that a user names: a folder, or a model of the hub that was pulled, with a scale.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/internal/fault"
	"picogpt/internal/folder"
)

const adapterHint = "an adapter is a directory with adapter_config.json and " +
	"adapter_model.safetensors or .bin, as PEFT saves it; gpt pull NAME downloads one"

// CheckAdapters refuses values of --adapter whose scale is none.
func CheckAdapters(values []string) error {
	for _, value := range values {
		if _, err := parseAdapter(value); err != nil {
			return err
		}
	}
	return nil
}

// Adapters returns the adapters that the values of --adapter name: DIR, NAME, DIR:SCALE or
// NAME:SCALE. They are among the Inputs.
func (f *Finder) Adapters(values []string) (all []checkpoint.Adapter, err error) {
	for _, value := range values {
		a, err := parseAdapter(value)
		if err == nil {
			a.Path, err = f.locateAdapter(a.Path)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// CutName returns the name and the rest of a value NAME=PATH. A path that is there has no name.
func CutName(value string) (name, path string) {
	name, path, _ = strings.Cut(value, "=")
	_, lost := os.Lstat(value)
	if lost == nil || name == "" || path == "" || strings.ContainsAny(name, `/\`) {
		return "", value
	}
	return name, path
}

// AdapterName returns the name in a value of --adapter, without the scale.
func AdapterName(value string) string {
	a, _ := parseAdapter(value)
	return a.Path
}

// parseAdapter reads a value of --adapter. A path that is there has no scale.
func parseAdapter(value string) (a checkpoint.Adapter, err error) {
	a.Path = value
	if _, err := os.Lstat(value); err == nil {
		return a, nil
	}
	colon := strings.LastIndexByte(value, ':')
	if colon < len(filepath.VolumeName(value)) || strings.HasPrefix(value[colon:], "://") {
		return a, nil
	}
	scale, err := strconv.ParseFloat(value[colon+1:], 64)
	if err != nil || math.IsNaN(scale) || math.IsInf(scale, 0) {
		return a, fault.Usagef("--adapter %s: %q after the colon, want the scale, a number such as 0.5", value,
			value[colon+1:])
	}
	a.Path, a.Scale = value[:colon], &scale
	return a, nil
}

// locateAdapter returns the path of an adapter: the name itself or the folder in the cache.
func (f *Finder) locateAdapter(name string) (string, error) {
	path := name
	if _, err := os.Lstat(name); name == "" || errors.Is(err, fs.ErrNotExist) {
		if _, err := hub.ParseName(name); err != nil {
			return "", fault.Hint(fmt.Errorf("--adapter %q: no such directory", name), adapterHint)
		}
		where, err := f.Locate(name)
		if err != nil {
			return "", fmt.Errorf("--adapter %w", err)
		}
		path = where.Path
	}
	dir := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		dir = filepath.Dir(path)
	}
	for _, file := range []string{folder.AdapterConfig, folder.Adapter, folder.AdapterPyTorch} {
		f.Inputs.Add(filepath.Join(dir, file), "--adapter")
	}
	return path, nil
}

// AdaptersBase returns the name of the model that the adapters were trained on, which all say.
func AdaptersBase(adapters []checkpoint.Adapter) (base string, err error) {
	const hint = "-m NAME says which model it is"
	for i, a := range adapters {
		b, err := checkpoint.AdapterBase(a.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", fault.Hint(fmt.Errorf("--adapter %s: no adapter_config.json", a.Path),
				adapterHint)
		case err != nil:
			return "", err
		case b == "":
			return "", fault.Hint(fault.Usagef("--adapter %s: its adapter_config.json names no base "+
				"model", a.Path), hint)
		case i > 0 && b != base:
			return "", fault.Hint(fault.Usagef("--adapter %s: of %s, but %s is of %s", a.Path, b,
				adapters[0].Path, base), hint)
		}
		base = b
	}
	return base, nil
}

// adapterHintAt says how the adapter is used that is at path, "" if there is none.
func adapterHintAt(name, path string) string {
	base, err := checkpoint.AdapterBase(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("an adapter changes its base's weights: gpt -m %s --adapter %s",
		cmp.Or(base, "BASE"), name)
}

// Package testmodel makes models for tests. It is separate from dev/fixture because
// tests inside package model import that.
package testmodel

import (
	"context"
	"testing"

	"picogpt/checkpoint"
	"picogpt/model"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// New returns a model of the bytes of config.json and of a safetensors file. The test closes it at
// its end.
func New(t testing.TB, config, file []byte, o model.Options) *model.Model {
	t.Helper()
	m, err := Try(config, file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// Try is New for tests of errors. The caller closes the model.
func Try(config, file []byte, o model.Options) (*model.Model, error) {
	c, err := model.ParseConfig(config)
	if err != nil {
		return nil, err
	}
	f, err := weights.FromBytes("test", file)
	if err != nil {
		return nil, err
	}
	return model.New(context.Background(), c, f, o)
}

// Open returns a model of the checkpoint at path. The test closes both at its end.
func Open(t testing.TB, path string, o model.Options) *model.Model {
	t.Helper()
	c, err := checkpoint.Open(path, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m, err := model.New(context.Background(), c.Config, c.Tensors, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// Demo returns a model of the demo checkpoint.
func Demo(t testing.TB, o model.Options) *model.Model {
	t.Helper()
	return New(t, demo.Config(), demo.Weights(), o)
}

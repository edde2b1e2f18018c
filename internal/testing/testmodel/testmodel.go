// Package testmodel makes the models of tests. It is apart from internal/testing/fixture, which the tests
// inside package model import too.
package testmodel

import (
	"context"
	"testing"

	"picogpt/checkpoint"
	"picogpt/model"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// New makes a model of the bytes of config.json and of a safetensors file. It is closed with the
// test.
func New(t testing.TB, config, file []byte, o model.Options) *model.Model {
	t.Helper()
	m, err := Try(config, file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// Try is New where there may be an error. The caller closes the model.
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

// Open returns a model of the checkpoint at path. Both are closed with the test.
func Open(t testing.TB, path string, o model.Options) *model.Model {
	t.Helper()
	c, err := checkpoint.Open(path)
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

// Demo makes a model of the demo checkpoint.
func Demo(t testing.TB, o model.Options) *model.Model {
	t.Helper()
	return New(t, demo.Config(), demo.Weights(), o)
}

package main

// What the SDK says of its own doings goes nowhere, unless -v asks for it.

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

// quiet is a logger that shows nothing: what ends a run comes back as its error.
type quiet struct{}

func (quiet) Log(context.Context, log.Severity, int, string) {}

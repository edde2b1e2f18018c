package model

// What a program needs besides Eval to analyse a model: its weights, and its workers.

import (
	"context"

	"picogpt/kernels"
	"picogpt/model/stack"
)

// Params returns the sizes and the weights of the model, under GPT-2's names. They must not be
// changed.
func (m *Model) Params() *stack.Params { return m.params }

// Work calls f on every worker of the model, at the same time, while no Eval runs. So f can run
// operations of package kernels on the weights, with the bits that Eval has. The rules of
// Input.Visit hold for f. The errors are those of Eval that no input causes; with one of them f has
// not run.
func (m *Model) Work(ctx context.Context, f func(w *kernels.Worker)) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	m.team.Run(f)
	return nil
}

package decode

import (
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
)

// TestStreamsComputeWithTheModelsKernels checks that choosing uses the kernels that the model was
// told to run.
func TestStreamsComputeWithTheModelsKernels(t *testing.T) {
	for _, name := range kernels.Variants() {
		m := testmodel.Demo(t, model.Options{Kernel: name})
		st, err := NewStream(m.NewSession(), []int{1}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for what, leaves := range map[string]kernels.Leaves{"the sampler": st.sampler.Leaves,
			"log-probabilities": st.limits.leaves, "a fork": st.Fork().sampler.Leaves} {
			if got := leaves.Variant(); got != name {
				t.Errorf("kernels %q: %s computes with %q", name, what, got)
			}
		}
	}
}

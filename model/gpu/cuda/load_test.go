//go:build linux && (amd64 || arm64)

package cuda

// A server's load on a device that computes nothing, with GPT-2's own widths: texts come and go, so
// that passes are recorded, replayed and forgotten while the pool of pages grows.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
)

func TestALoadOf64UsersThroughTheLibrary(t *testing.T) {
	cases.NotShort(t)
	for _, s := range cases.Some([]struct{ embd, heads int }{{768, 12}, {1600, 25}}, 1, 1) {
		t.Run(fmt.Sprint(s.embd), func(t *testing.T) {
			config, file := fixture.Checkpoint(fixture.Options{Embd: s.embd, Head: s.heads,
				Layer: 1, Vocab: 300, Positions: 300, DType: "F16"})
			f := newFake(t)
			f.idle = true
			m, err := testmodel.Try(config, file, model.Options{Device: f.device(), Format: "f16"})
			if err != nil {
				t.Fatal(err)
			}
			b := batch.New(m, batch.Options{})
			var users sync.WaitGroup
			for user := range 64 {
				users.Go(func() {
					r := rand.New(rand.NewPCG(4, uint64(user)))
					for range 3 {
						o := decode.Options{MaxTokens: 3 + r.IntN(30), EndOfText: []int{},
							Params: sample.Params{Temperature: 1, TopK: 1 + user, Seed: uint64(user)}}
						prompt := make([]int, 1+r.IntN(100))
						for _, err := range b.Generate(context.Background(), prompt, o) {
							if err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			users.Wait()
			b.Close()
			replayed, made := f.count["cuGraphLaunch"], f.count["cuGraphInstantiateWithFlags"]
			if made > 40 || replayed < 2*made {
				t.Errorf("%d recordings, replayed %d times", made, replayed)
			}
			t.Logf("%d recordings, replayed %d times", made, replayed)
			if err := m.Close(); err != nil || f.left() != 0 || len(f.refused) > 0 {
				t.Errorf("Close: error %v, %d things left, the library refused %q", err, f.left(),
					f.refused)
			}
		})
	}
}

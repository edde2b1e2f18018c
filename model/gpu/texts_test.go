//go:build gpu

package gpu_test

// Texts whose tokens the device chooses, as far as their logits stay there.

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"sync"
	"testing"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/dev/testdevice"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/model/gpu"
	"picogpt/sample"
)

// TestChoicesLeaveTheLogitsOnTheDevice compares texts of several sessions in a pass with those of the
// processor, to the last bit of their log-probabilities, and counts the bytes that were read.
func TestChoicesLeaveTheLogitsOnTheDevice(t *testing.T) {
	const vocab, texts, length = 2500, 5, 12
	config, file := fixture.Checkpoint(fixture.Options{Vocab: vocab, Positions: 99})
	device, count := gpu.WithRecorder(testdevice.Open(t))
	processor := testmodel.New(t, config, file, model.Options{})
	onDevice := testmodel.New(t, config, file, model.Options{Device: device})
	write := func(m *model.Model, o decode.Options) [][]decode.Token {
		b := batch.New(m, batch.Options{})
		defer b.Close()
		all := make([][]decode.Token, texts)
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() {
				own := o
				own.Seed = uint64(i)
				for tok, err := range b.Generate(context.Background(), make([]int, 1+3*i), own) {
					if err != nil {
						t.Error(err)
					}
					all[i] = append(all[i], tok)
				}
			})
		}
		wg.Wait()
		return all
	}
	for _, c := range []struct {
		what string
		o    decode.Options
		read int // bytes for each token
	}{
		{"greedy", decode.Options{Top: 1}, 4 * (4 + 65)},
		{"top-k", decode.Options{Top: 3, Params: sample.Params{Temperature: 1,
			TopK: 5}}, 4 * (4 + 8*65)},
		{"top-k and top-p", decode.Options{Params: sample.Params{Temperature: 2, TopK: 16,
			TopP: 0.8}}, 4 * (4 + 16*65)},
		{"all ids", decode.Options{Params: sample.Params{Temperature: 1}}, 4 * (vocab + 15)}, // logits, and hidden
	} {
		c.o.MaxTokens, c.o.EndOfText = length, []int{}
		count.Read = 0
		got := write(onDevice, c.o)
		read := count.Read
		want := write(processor, c.o)
		for i := range want {
			if len(want[i]) != length || !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("%s: text %d is %v, want %v", c.what, i, fmt.Sprint(got[i]),
					fmt.Sprint(want[i]))
			}
		}
		if least := c.read * texts * length; read < least || read > least+4*texts*length {
			t.Errorf("%s: %d bytes read, want %d", c.what, read, least)
		}
	}
}

// TestTopPLeavesTheLogitsOnTheDevice where its best ones are enough; else the row is read as well.
func TestTopPLeavesTheLogitsOnTheDevice(t *testing.T) {
	const vocab, length, chosen, whole = 15000, 6, 4 * (4 + 128*65), 4 * (15000 + 15)
	config, file := fixture.Checkpoint(fixture.Options{Vocab: vocab, Positions: 20, Layer: 1})
	device, count := gpu.WithRecorder(testdevice.Open(t))
	processor := testmodel.New(t, config, file, model.Options{})
	onDevice := testmodel.New(t, config, file, model.Options{Device: device})
	for topP, want := range map[float64]int{
		0.005: length * chosen,
		0.999: 2*(chosen+whole) + (length-2)*whole, // it is tried once, and not for four tokens
	} {
		o := decode.Options{Params: sample.Params{Temperature: 1, TopP: topP}, MaxTokens: length,
			EndOfText: []int{}}
		count.Read = 0
		got := texts(t, decode.Generate(t.Context(), onDevice.NewSession(), []int{1, 2}, o))
		read := count.Read
		if read < want || read > want+4*length {
			t.Errorf("top-p %g: %d bytes read, want %d", topP, read, want)
		}
		alone := texts(t, decode.Generate(t.Context(), processor.NewSession(), []int{1, 2}, o))
		if got != alone {
			t.Errorf("top-p %g: %s\nwant %s", topP, got, alone)
		}
	}
}

// TestPagesOfTheDeviceAreShared has texts of a Batcher begin as others do: those that are written,
// and those that have ended.
func TestPagesOfTheDeviceAreShared(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 99})
	processor := testmodel.New(t, config, file, model.Options{})
	onDevice := testmodel.New(t, config, file, model.Options{Device: testdevice.Open(t)})
	b := batch.New(onDevice, batch.Options{PrefixBytes: 1 << 30})
	scored := decode.Options{MaxTokens: 4, Echo: decode.EchoPrompt, Top: 2}
	for _, o := range []decode.Options{{MaxTokens: 4}, scored} {
		var group sync.WaitGroup
		for i := range 6 {
			prompt := make([]int, 70+i) // each is the beginning of the next
			prompt[0], prompt[69] = 7, i/2
			if i == 3 {
				group.Wait() // the others come when those have ended
			}
			group.Go(func() {
				got := texts(t, b.Generate(context.Background(), prompt, o))
				alone := processor.NewSession()
				want := texts(t, decode.Generate(context.Background(), alone, prompt, o))
				if got != want {
					t.Errorf("prompt %d: %s\nwant %s", i, got, want)
				}
			})
		}
		group.Wait()
	}
	if s := b.Stats(); s.PrefixHits < 2*5*60 {
		t.Errorf("%d tokens were shared, want most", s.PrefixHits)
	}
	b.Close()
	if n := onDevice.CacheBytes(); n != 0 {
		t.Errorf("%d bytes of pages stay", n)
	}
}

// texts prints the tokens of a text.
func texts(t *testing.T, tokens iter.Seq2[decode.Token, error]) string {
	t.Helper()
	var all []decode.Token
	for tok, err := range tokens {
		if err != nil {
			t.Error(err)
		}
		all = append(all, tok)
	}
	return fmt.Sprintf("%+v", all)
}

// TestADeviceWithoutDoubles hands out rows whole.
func TestADeviceWithoutDoubles(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 500, Positions: 99})
	device, count := gpu.WithRecorder(testdevice.Open(t))
	device.Doubles = false
	m := testmodel.New(t, config, file, model.Options{Device: device})
	count.Read = 0
	whole := false
	err := m.Eval(t.Context(), model.Input{Session: m.NewSession(), Tokens: []int{1}, Best: 1,
		NoLogits: true, Visit: func(r model.Row) { whole = len(r.Logits) == 500 && r.Best == nil }})
	if err != nil || !whole || count.Read < 4*500 || count.Launches["best_sum"] > 0 {
		t.Errorf("error %v, whole %v, %d bytes read, %d sums", err, whole, count.Read,
			count.Launches["best_sum"])
	}
}

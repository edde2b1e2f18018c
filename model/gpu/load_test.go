package gpu

// A server's load on a driver that records and computes nothing: texts come and go, so that each
// pass has another number of rows.

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
)

// recordedModel is a model on a device that records and computes nothing.
func recordedModel(t *testing.T, o fixture.Options) (*model.Model, *Recorded) {
	t.Helper()
	config, file := fixture.Checkpoint(o)
	fake := newFake(t)
	d, count := WithRecorder(NewDevice(Info{Name: "fake", Doubles: true},
		func() (Driver, error) { return fake, nil }).WithoutProbe())
	return testmodel.New(t, config, file, model.Options{Device: d}), count
}

// TestALoadOf64UsersIsReplayed: after each shape has been launched once and recorded once, small
// passes are replayed, whatever the users do; none is recorded twice.
func TestALoadOf64UsersIsReplayed(t *testing.T) {
	m, count := recordedModel(t, fixture.Options{Vocab: 300, Positions: 300, Layer: 2})
	b := batch.New(m, batch.Options{})
	var users sync.WaitGroup
	for user := range 64 {
		users.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(user)))
			for range 6 {
				o := decode.Options{MaxTokens: 5 + r.IntN(40), EndOfText: []int{},
					Params: sample.Params{Temperature: float64(user % 2), TopK: 1 + user%40,
						Seed: uint64(user)}}
				prompt := make([]int, 1+r.IntN(200))
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
	// 11 sizes of the rows, of which as many or fewer are wanted, and 1 to 64 best ones of each
	if count.Recorded > 64 || count.Replayed < 4*count.Recorded {
		t.Errorf("%d recordings, %d replayed", count.Recorded, count.Replayed)
	}
	t.Logf("%d recordings, %d replayed, %d forgotten, of %d passes", count.Recorded, count.Replayed,
		count.Forgotten, count.Launches["embed_f32"])
}

// TestTheOldestRecordingGoes: with more shapes than may be stored, those in use stay.
func TestTheOldestRecordingGoes(t *testing.T) {
	m, count := recordedModel(t, fixture.Options{Vocab: 5000, Positions: 99, Layer: 1})
	eval := func(rows, best int) {
		t.Helper()
		var inputs []model.Input
		for range rows {
			inputs = append(inputs, model.Input{Session: m.NewSession(), Tokens: []int{1}, Best: best,
				NoLogits: true, Visit: func(model.Row) {}})
		}
		if err := m.Eval(t.Context(), inputs...); err != nil {
			t.Fatal(err)
		}
		for _, in := range inputs {
			in.Session.Release()
		}
	}
	thrice := func(rows, best int) {
		for range 3 {
			eval(rows, best)
		}
	}
	eval(64, 1) // the pool of pages is then as large as it becomes
	*count = Recorded{Launches: map[string]int{}}
	thrice(1, 1)
	shapes := 1
	for _, rows := range []int{2, 4, 8, 16, 24, 32, 40, 48, 56, 64} {
		for _, best := range []int{0, 1, 2, 4, 8, 16, 32} {
			thrice(rows, best)
			if shapes++; shapes%5 == 0 {
				before := count.Recorded
				if eval(1, 1); count.Recorded != before { // in use
					t.Fatalf("%d shapes, and the first is recorded again", shapes)
				}
			}
		}
	}
	if forgotten := shapes - mostRecordings; count.Forgotten != forgotten {
		t.Errorf("%d recordings forgotten of %d shapes, want %d", count.Forgotten, shapes, forgotten)
	}
	before := count.Recorded
	for range 2 { // the oldest one that was not in use
		eval(2, 0)
	}
	if got := count.Recorded - before; got != 1 {
		t.Errorf("%d recordings of a shape that was dropped, want 1", got)
	}
}

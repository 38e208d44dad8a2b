package cluster

import (
	"context"
	"testing"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// metronome prices every step alike.
type metronome hardware.Cost

func (m metronome) Cost(hardware.Step) hardware.Cost { return hardware.Cost(m) }

// A world is a few engines whose steps take a millisecond, and the requests that were sent.
type world struct {
	k        *sim.Kernel
	replicas []*Replica
	c        *Cluster
	sent     []int // index of the replica by request
	router   Router
	made     int64
	ended    int
}

// Route notes what the router of the world decides.
func (w *world) Route(r *workload.Request, up []*Replica) Choice {
	choice := w.router.Route(r, up)
	w.sent = append(w.sent, up[choice.Replica].Index)
	return choice
}

func newWorld(t *testing.T, n int, router string) *world {
	t.Helper()
	policy, ok := Find(router)
	if !ok {
		t.Fatalf("there is no router %q", router)
	}
	k := sim.New(1)
	w := &world{k: k, router: policy.New(k)}
	for range n {
		cache := kvcache.New(kvcache.Config{Blocks: 100, BlockSize: 16, PrefixCaching: true})
		s := scheduler.Chunked(scheduler.Limits{MaxNumBatchedTokens: 2048, MaxNumSeqs: 4, EnableChunkedPrefill: true}, cache)
		w.replicas = append(w.replicas, &Replica{
			Name: "replica", Scheduler: s, Cache: cache,
			Engine: engine.New(k, engine.Config{Scheduler: s, Cost: metronome{Device: 1e6}, Blocks: 100, BlockSize: 16, Check: true}),
		})
	}
	w.c = New(w.replicas, w)
	return w
}

// send submits a request of so many tokens at an instant, after the change.
func (w *world) send(at sim.Time, prompt, output int32, change func(*workload.Request)) {
	id := w.made
	w.made++
	r := &workload.Request{
		ID: id, Arrival: at, Tokens: prompt, Output: output, MaxTokens: output,
		Prompt: kvcache.Prompt{{Label: kvcache.Private | uint64(id), Len: prompt}}, Answer: kvcache.Private | 1<<32 | uint64(id),
	}
	if change != nil {
		change(r)
	}
	w.k.At(at, sim.Arrive, func() { w.c.Submit(r, func(workload.Outcome) { w.ended++ }) })
}

func (w *world) run(t *testing.T, until sim.Time) {
	t.Helper()
	if err := w.k.Run(context.Background(), until); err != nil {
		t.Fatal(err)
	}
	if err := w.c.Err(); err != nil {
		t.Fatal(err)
	}
}

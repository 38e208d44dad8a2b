package scenarios

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim/engine"
)

const gibibyte = 1 << 30

// defaultSwapSpace is vLLM V0's, in GiB per GPU.
const defaultSwapSpace = 4

// What copies between GPU and host memory cost.
//
// PCIe carries some 78 % of its rate once packets have headers: about 50 GB/s of Gen5 x16's 64, 25 of Gen4's 32. Beside the
// link's time a load takes until all layers of its blocks are issued and its end is noticed; a millisecond is assumed.
//
// A background copy costs the steps little, but never nothing: it reads the GPU's memory, and the worker has to issue it. Since
// 0.12 vLLM keeps the layers of a block together, so that it is one call of 2 µs (vLLM #29013: cudaMemcpyAsync while its queue has
// room). On served runs with and without offloading no difference can be seen.
const (
	pcieFraction = 0.78
	loadLatency  = time.Millisecond
	copyIssue    = 2 * time.Microsecond
)

// checkOffloading refuses host memory for a model whose layers do not share one table: vLLM's connectors then
// turn its hybrid cache off, which changes the pool.
func (x *deployment) checkOffloading(plan hardware.Memory) error {
	var m Mistakes
	const path = "engine.kv_offloading_size"
	size := x.s.Engine.KVOffloadingSize
	switch {
	case size == 0 || x.s.idle(path) != "":
	case len(plan.Groups) > 1 || len(plan.Groups) == 1 && plan.Groups[0].Window > 0:
		m.at(x.s, path, "is not supported for models with sliding-window layers, such as %s", x.Model.Name)
	case x.s.hostBlocks(plan) == 0:
		m.at(x.s, path, "must hold at least one KV block, %.3g GiB, got %g", float64(plan.BlockBytes)*float64(x.s.gpus())/gibibyte, size)
	}
	return m.err()
}

// hostBlocks returns the KV blocks that the host's memory keeps below the pool; 0: it keeps none.
func (s *Scenario) hostBlocks(plan hardware.Memory) int {
	if s.idle("engine.kv_offloading_size") != "" {
		return 0
	}
	return int(s.Engine.KVOffloadingSize * gibibyte / float64(plan.BlockBytes*int64(s.gpus())))
}

// A Memory is the KV cache of one engine, with the host's memory below it where blocks are offloaded. It outlives a run: the
// next on the same deployment finds what this one has left.
type Memory interface {
	kvcache.Cache
	// Again reads only. It returns how many blocks the sequences would hold in addition if none were shared.
	Again() int
}

// Cold returns an empty cache of the engine, over empty tiers of its own.
func (x *Experiment) Cold() Memory { return x.cold(x.farTier()) }

func (x *Experiment) cold(far farTier) Memory {
	pool := x.Pool()
	n := x.Scenario.hostBlocks(x.Memory)
	if n == 0 {
		return pool
	}
	return kvcache.Over(pool, kvcache.Tiers{
		Host: n, Far: far.store, Selective: x.Scenario.Engine.KVOffloadingPolicy == "write-through-selective",
	})
}

// swapBlocks returns the KV blocks that fit into the swap space; 0: nothing is swapped.
func (x *deployment) swapBlocks(plan hardware.Memory) int {
	if !x.s.swaps() {
		return 0
	}
	return int(x.s.Engine.SwapSpace * gibibyte / float64(plan.BlockBytes))
}

// host is the way of KV blocks to the host's memory and back.
//
// vLLM's own connector copies on a stream of its own. LMCache's stores at the end of the step and loads at its beginning, and
// each time waits for the copies (its vLLM adapter's wait_for_save and start_load_kv, without layerwise or asynchronous
// loading): then the link's time is the step's. That it moves whole chunks of 256 tokens only is not modelled.
func (x *Experiment) host(far farTier) engine.Host {
	bytes, d := float64(x.Memory.BlockBytes), x.Deployment.Device
	read := time.Duration(bytes / d.Bandwidth * 1e9)
	h := engine.Host{
		Block: time.Duration(bytes / (d.PCIe * pcieFraction) * 1e9), Latency: loadLatency, Far: far.link,
		Copy: hardware.Cost{Device: read, Exposed: copyIssue, By: hardware.Causes{KVRead: read}, Bytes: bytes},
	}
	if x.Scenario.Engine.KVOffloadingBackend == "lmcache" {
		h.Copy.Exposed += h.Block
	}
	return h
}

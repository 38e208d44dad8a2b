package scenarios

import (
	"time"

	"github.com/servesim/servesim/hardware"
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
// A background copy costs the steps little, but never nothing: it reads the GPU's memory, and the thread that launches
// the kernels has to issue it, for every layer. The 10 µs a block are assumed, between two reports: LMCache lost 11 % on a
// load without any re-use (LMCache #970), and vLLM's served runs with and without offloading agree within 2 %.
const (
	pcieFraction = 0.78
	loadLatency  = time.Millisecond
	copyIssue    = 10 * time.Microsecond
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

// swapBlocks returns the KV blocks that fit into the swap space; 0: nothing is swapped.
func (x *deployment) swapBlocks(plan hardware.Memory) int {
	if !x.s.swaps() {
		return 0
	}
	return int(x.s.Engine.SwapSpace * gibibyte / float64(plan.BlockBytes))
}

// host is the way of KV blocks to the host's memory and back.
func (x *Experiment) host() engine.Host {
	bytes, d := float64(x.Memory.BlockBytes), x.Deployment.Device
	read := time.Duration(bytes / d.Bandwidth * 1e9)
	return engine.Host{
		Block: time.Duration(bytes / (d.PCIe * pcieFraction) * 1e9), Latency: loadLatency,
		Copy: hardware.Cost{Device: read, Exposed: copyIssue, By: hardware.Causes{KVRead: read}, Bytes: bytes},
	}
}

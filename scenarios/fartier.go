package scenarios

import (
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim/engine"
)

// A farTier is a tier below the host's memory: what it holds, and the way from there. Its zero value is none.
type farTier struct {
	store *kvcache.Store
	link  *engine.Link
}

// What a far tier is like where the scenario does not say: an NVMe drive on PCIe 4.0 x4 reads 7 GB/s in sequence by its data
// sheet (Samsung 990 Pro: 7.45), 100 Gbit/s Ethernet carries 12.5. The latencies are assumed.
const (
	diskBandwidth, remoteBandwidth = 7e9, 12.5e9
	diskLatency, remoteLatency     = 100 * time.Microsecond, time.Millisecond
)

// farDefaults fills in what was left out of the far tier.
func (s *Scenario) farDefaults() {
	f := &s.Engine.KVFarTier
	bandwidth, latency := Bandwidth(diskBandwidth), diskLatency
	if f.Kind == "remote" {
		bandwidth, latency = remoteBandwidth, remoteLatency
	}
	if f.Size > 0 && f.Bandwidth == 0 {
		f.Bandwidth = bandwidth
	}
	if f.Latency == fromProfile {
		f.Latency = latency
	}
}

// farTier returns an empty far tier of one engine, if there is one.
func (x *Experiment) farTier() farTier {
	f, bytes := &x.Scenario.Engine.KVFarTier, float64(x.Memory.BlockBytes)*float64(x.Scenario.gpus())
	if f.Size == 0 || x.Scenario.hostBlocks(x.Memory) == 0 {
		return farTier{}
	}
	blocks := max(int(f.Size*gibibyte/bytes), 1)
	return farTier{kvcache.NewStore(blocks), &engine.Link{Block: time.Duration(bytes / float64(f.Bandwidth) * 1e9), Latency: f.Latency}}
}

// far returns the far tier of another engine of x: a disk of its own, or the store that all of them share.
func (f *fleet) far(x *Experiment) farTier {
	if x.Scenario.Engine.KVFarTier.Kind != "remote" {
		return x.farTier()
	}
	if f.shared == nil {
		f.shared = map[*Experiment]farTier{}
	}
	t, there := f.shared[x]
	if !there {
		t = x.farTier()
		f.shared[x] = t
	}
	return t
}

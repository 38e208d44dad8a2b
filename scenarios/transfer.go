package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/metrics"
)

// Transfer is how KV gets from the engines that prefill to those that decode.
type Transfer struct {
	Mode                 string
	Link                 TransferLink
	Sharing              string
	Handover             time.Duration // fromProfile: as the mode usually has it
	Lease                time.Duration
	Heartbeats           bool
	FirstToken           string
	ReservedDecodeTokens int
}

// TransferLink is a link between engines: a named one, or its numbers.
type TransferLink struct {
	Name      string        // "auto": NVLink within a node, else Hardware.Internode
	Bandwidth Bandwidth     // 0: the line rate of the named one
	Latency   time.Duration // fromProfile: that of the named one
}

// Remote says which prompts go to an engine that prefills.
type Remote struct {
	Policy                string
	MaxLocalPrefillLength int
	MaxPrefillQueueSize   int
	EffISLThreshold       int
	EffISLRatioThreshold  float64
	BorrowAbove           int // prompt tokens
}

// A transferMode is a mode of transfer under its name.
type transferMode struct {
	name     string
	mode     cluster.Mode
	handover time.Duration
	ttft     string
}

// transferModes are the modes. What a hand-over takes beside the transfer has been measured on three prefilling vLLM engines
// and a decoding one on a node (vLLM #51919, #50913): 197 ms from the prefill's token to the client, of which 29 are the
// transfer and 58 the token that is computed again, waiting for a step included; 110 are left for the router's second
// request, the second front end and the notices between processes. With both requests sent at once, the token handed over
// and side channels for the notices it was 36 ms in all, so 7 beside the transfer; SGLang works that way by design.
var transferModes = []transferMode{
	{"pull", cluster.Pull, 110 * time.Millisecond, metrics.FirstTokenDecoded},
	{"push-chunks", cluster.PushChunks, 7 * time.Millisecond, metrics.FirstTokenHanded},
	{"layerwise", cluster.PushLayers, 7 * time.Millisecond, metrics.FirstTokenHanded},
}

func (t *Transfer) mode() transferMode {
	for _, m := range transferModes {
		if m.name == t.Mode {
			return m
		}
	}
	return transferModes[0]
}

func transferModeNames() []string {
	var names []string
	for _, m := range transferModes {
		names = append(names, m.name)
	}
	return names
}

// linkNames are what transfer.link may be: the links within a node, and those between nodes.
func linkNames() []string {
	names := []string{"auto", "nvlink", "pcie"}
	for _, l := range links {
		names = append(names, l.Name)
	}
	return names
}

var transferFields = []field{
	{path: "cluster.transfer.mode", into: func(s *Scenario) any { return &s.Cluster.Transfer.Mode }, def: "pull", choices: transferModeNames(), doc: "pull: when the whole prompt is computed (vLLM's NixlConnector); push-chunks: chunk by chunk beside the prefill, which waits for memory at the decoding engine (SGLang); layerwise: the same, layer by layer (Splitwise, Mooncake)."},
	{path: "cluster.transfer.link.name", into: func(s *Scenario) any { return &s.Cluster.Transfer.Link.Name }, def: "auto", choices: linkNames(), doc: "Between the engines, one for each GPU; auto = nvlink where all GPUs are alike and on one node, else hardware.internode."},
	{path: "cluster.transfer.link.bandwidth", into: func(s *Scenario) any { return &s.Cluster.Transfer.Link.Bandwidth }, limit: positive, doc: "Of the link, per GPU and direction, in place of its line rate, e.g. 50GB/s."},
	{path: "cluster.transfer.link.latency", into: func(s *Scenario) any { return &s.Cluster.Transfer.Link.Latency }, def: "auto", words: autoTime, limit: notNegative, doc: "Of a transfer, beside the time of its bytes; auto = the link's."},
	{path: "cluster.transfer.sharing", into: func(s *Scenario) any { return &s.Cluster.Transfer.Sharing }, def: "fair", choices: []string{"fair", "fifo"}, doc: "fair: transfers that meet get equal parts of the link; fifo: one after the other."},
	{path: "cluster.transfer.handover", into: func(s *Scenario) any { return &s.Cluster.Transfer.Handover }, def: "auto", words: autoTime, limit: notNegative, doc: "Time from one engine to the other beside the transfer: router, second front end, notices. auto = 110ms for pull, 7ms for the others, as measured in vLLM #51919."},
	{path: "cluster.transfer.lease", into: func(s *Scenario) any { return &s.Cluster.Transfer.Lease }, def: "30s", limit: positive, doc: "pull: how long the KV of a prompt is kept for an engine that does not ask for it."},
	{path: "cluster.transfer.heartbeats", into: func(s *Scenario) any { return &s.Cluster.Transfer.Heartbeats }, def: "true", doc: "pull: the decoding engine renews the lease of what it has in its queue."},
	{path: "cluster.transfer.first_token", into: func(s *Scenario) any { return &s.Cluster.Transfer.FirstToken }, def: "decode", choices: []string{"decode", "prefill"}, doc: "push-chunks and layerwise: which engine streams the first token; decode: when the KV is there (SGLang); prefill: as soon as it is sampled (Splitwise, DistServe)."},
	{path: "cluster.transfer.reserved_decode_tokens", into: func(s *Scenario) any { return &s.Cluster.Transfer.ReservedDecodeTokens }, def: "512", limit: notNegative, doc: "push-chunks and layerwise: memory that the decoding engine keeps free for each of its sequences when it takes another prompt, in tokens (SGLang's num_reserved_decode_tokens)."},

	{path: "cluster.remote.policy", into: func(s *Scenario) any { return &s.Cluster.Remote.Policy }, def: "always", choices: []string{"always", "length", "length-or-load"}, doc: "Which prompts are computed by engines that prefill: all; the long ones, while few wait there (Dynamo's first rule); those that are long, or whose decoding engine is busy (Dynamo's isl_or_load)."},
	{path: "cluster.remote.max_local_prefill_length", into: func(s *Scenario) any { return &s.Cluster.Remote.MaxLocalPrefillLength }, def: "1000", limit: notNegative, doc: "length: prompts of which at most so many tokens are not cached stay with the decoding engine."},
	{path: "cluster.remote.max_prefill_queue_size", into: func(s *Scenario) any { return &s.Cluster.Remote.MaxPrefillQueueSize }, def: "2", limit: notNegative, doc: "length: and all do when so many requests wait for their prefill."},
	{path: "cluster.remote.eff_isl_threshold", into: func(s *Scenario) any { return &s.Cluster.Remote.EffISLThreshold }, def: "4096", limit: notNegative, doc: "length-or-load: at most so many tokens that are not cached are short."},
	{path: "cluster.remote.eff_isl_ratio_threshold", into: func(s *Scenario) any { return &s.Cluster.Remote.EffISLRatioThreshold }, def: "0.6", limit: fraction, doc: "length-or-load: and so is at most this share of the prompt."},
	{path: "cluster.remote.borrow_above", into: func(s *Scenario) any { return &s.Cluster.Remote.BorrowAbove }, def: "none", words: noneWord, limit: atLeastOne, doc: "Borrow an engine of the other kind while more than so many prompt tokens are under way at the one that would prefill, or no decoding engine has memory (Splitwise's mixed pool)."},
}

// A split is how the two pools of an experiment work together.
type split struct {
	transfer  cluster.Transfer
	rule      cluster.Rule
	borrow    int64
	bandwidth [2]float64 // bytes/s of an engine's links
	about     metrics.Disaggregation
}

// split resolves the transfer between two pools, and leaves what it finds in the scenario.
func (s *Scenario) split(pools []group) (*split, error) {
	var m Mistakes
	prefill, decode := &pools[0].engine.Deployment, &pools[1].engine.Deployment
	s.alike(&m, prefill, decode)
	for i, plan := range []hardware.Memory{pools[0].engine.Memory, pools[1].engine.Memory} {
		if len(plan.Groups) > 1 || len(plan.Groups) == 1 && plan.Groups[0].Window > 0 {
			m.at(s, "cluster."+pools[i].name, "is not supported for models with sliding-window layers, such as %s", prefill.Model.Name)
			break
		}
	}
	t := &s.Cluster.Transfer
	link := s.transferLink(&m, pools)
	if err := m.err(); err != nil {
		return nil, err
	}
	own := &t.Link
	name := "own link"
	if own.Bandwidth == 0 || own.Name != "auto" {
		own.Name, name = link.Name, link.Name
	}
	if own.Bandwidth == 0 {
		own.Bandwidth = Bandwidth(link.Bandwidth)
	}
	if own.Latency == fromProfile {
		own.Latency = time.Duration(link.Latency * 1e9)
	}
	mode := t.mode()
	if t.Handover == fromProfile {
		t.Handover = mode.handover
	}
	x := &split{
		transfer: cluster.Transfer{
			Mode: mode.mode, Latency: own.Latency, Handover: t.Handover, Lease: t.Lease, Heartbeats: t.Heartbeats,
			Layers: decode.Model.Layers, BlockBytes: travels(decode),
		},
		rule: s.Cluster.Remote.rule(), borrow: int64(s.Cluster.Remote.BorrowAbove),
		about: metrics.Disaggregation{
			Mode: t.Mode, TTFTDefinition: mode.ttft,
			Link: fmt.Sprintf("%s, %.4g GB/s per GPU and direction, %v, %s", name, float64(own.Bandwidth)/1e9, own.Latency, t.Sharing),
		},
	}
	if mode.mode != cluster.Pull && t.FirstToken == "prefill" {
		x.transfer.Early, x.about.TTFTDefinition = true, metrics.FirstTokenEarly
	}
	if t.Sharing == "fifo" {
		x.transfer.Sharing = cluster.FIFO
	}
	for i, d := range []*hardware.Deployment{prefill, decode} {
		x.bandwidth[i] = float64(own.Bandwidth) * float64(d.TP*d.PP)
	}
	if mode.mode != cluster.Pull {
		pools[1].engine.Limits.ReservedDecodeTokens = t.ReservedDecodeTokens
	}
	return x, nil
}

// alike refuses pools whose KV the other could not read.
func (s *Scenario) alike(m *Mistakes, prefill, decode *hardware.Deployment) {
	if prefill.KV != decode.KV {
		m.at(s, "cluster.decode.engine.kv_cache_dtype", "must be that of the engines that prefill, %s, got %s: the KV is used as it is", prefill.KV, decode.KV)
	}
	if prefill.BlockSize != decode.BlockSize {
		m.at(s, "cluster.decode.engine.block_size", "must be that of the engines that prefill, %d, got %d: the KV travels in blocks", prefill.BlockSize, decode.BlockSize)
	}
}

// travels returns the bytes of one block that the GPUs of a decoding engine read. Each reads the heads that it keeps, so that
// what is replicated there travels as often.
func travels(d *hardware.Deployment) int64 {
	bytes := d.Model.KVBytesPerToken(d.KV) * int64(d.BlockSize)
	if d.Model.MLA.KVRank > 0 {
		return bytes * int64(d.TP)
	}
	return bytes * int64(d.Model.KVHeadsPer(d.TP)*d.TP) / int64(d.Model.KVHeads)
}

// nvlinkLatency is what a transfer takes beside its bytes within a node: a send between two H100 (NCCL) takes 7.6 µs.
const nvlinkLatency = 7.6e-6

// transferLink finds the link between the pools, at its line rate: one-sided reads of large blocks come close to it.
func (s *Scenario) transferLink(m *Mistakes, pools []group) hardware.Link {
	prefill, decode := &pools[0].engine.Deployment, &pools[1].engine.Deployment
	within := func(bandwidth float64, d hardware.Device, name string) hardware.Link {
		l := hardware.Link{Name: name, Bandwidth: bandwidth, Latency: d.Link.Latency}
		if l.Latency == 0 {
			l.Latency = nvlinkLatency
		}
		return l
	}
	nvlink := min(prefill.Device.Link.Bandwidth, decode.Device.Link.Bandwidth)
	name := s.Cluster.Transfer.Link.Name
	if name == "auto" {
		gpus := pools[0].gpus() + pools[1].gpus()
		joined := func(l hardware.Link) bool { return l.GPUs == 0 || gpus <= l.GPUs }
		if name = "nvlink"; nvlink == 0 || gpus > s.Hardware.GPUsPerNode || prefill.Device.Name != decode.Device.Name || !joined(decode.Device.Link) {
			return decode.Internode
		}
	}
	switch name {
	case "nvlink":
		if nvlink == 0 {
			m.at(s, "cluster.transfer.link", "nvlink: %s or %s has none; use pcie, or one of %s", prefill.Device.Name, decode.Device.Name, strings.Join(linkNames()[3:], ", "))
		}
		return within(nvlink, decode.Device, name)
	case "pcie":
		return within(min(prefill.Device.PCIe, decode.Device.PCIe), hardware.Device{}, name)
	}
	for _, l := range links {
		if l.Name == name {
			return l
		}
	}
	return decode.Internode
}

// gpus returns the GPUs of a group of engines.
func (g *group) gpus() int { return g.replicas * g.engine.Scenario.gpus() }

// rule returns the rule of a policy.
func (r *Remote) rule() cluster.Rule {
	switch r.Policy {
	case "length":
		return cluster.ByLength{MaxLocalPrefillLength: r.MaxLocalPrefillLength, MaxPrefillQueueSize: r.MaxPrefillQueueSize}
	case "length-or-load":
		return cluster.ByLengthOrLoad{EffISLThreshold: r.EffISLThreshold, EffISLRatioThreshold: r.EffISLRatioThreshold}
	}
	return nil
}

package scenarios

import (
	"strings"
	"testing"
)

var acrossNodes = setup{"model=llama-3.1-70b", "hardware.gpu=h100-sxm", "engine={max_model_len: 8192}"}

// With the same sixteen GPUs: layers that are shared across two nodes sum up over the link between them.
func TestTensorParallelismAcrossNodesIsSlowerThanReplicasAtLoad(t *testing.T) {
	s := acrossNodes.with("workload={requests: 600, rate: 24, prompt: {mean: 1000, p99: 4000}, output: {mean: 250, p99: 900}}")
	wide, two := s.tp(16).run(t), s.tp(8).routed(2, "least-requests").run(t)
	if wide.GPU.Count != 16 || two.GPU.Count != 16 {
		t.Fatalf("%d and %d GPUs", wide.GPU.Count, two.GPU.Count)
	}
	above(t, "time per token of one engine on two nodes and of two engines", wide.Latency.TPOT.Mean, two.Latency.TPOT.Mean, 0.2)
	above(t, "share of the network in a token", wide.Attribution.TPOT.Network, two.Attribution.TPOT.Network, 0.2)
	if text := strings.Join(wide.Warnings, "\n"); !strings.Contains(text, "tensor_parallel_size 16 is more than the 8 GPUs of a node: every layer waits for two all-reduces over ib-ndr") {
		t.Errorf("nothing warns of it: %q", text)
	}
	if text := strings.Join(two.Warnings, "\n"); strings.Contains(text, "node") {
		t.Errorf("a warning without a reason: %q", text)
	}
}

// The link counts only where it is crossed, and pipeline stages cross it once a step instead of twice a layer.
func TestOnlyWhatCrossesTheLinkPaysForIt(t *testing.T) {
	s := acrossNodes.with("workload={requests: 40, rate: 2, prompt: 500, output: 100}")
	slow := "hardware.internode=eth-100"
	above(t, "time per token over Ethernet and over InfiniBand", s.tp(16).with(slow).run(t).Latency.TPOT.Mean, s.tp(16).run(t).Latency.TPOT.Mean, 0.2)
	alike(t, "time per token within a node", s.tp(8).with(slow).run(t).Latency.TPOT.Mean, s.tp(8).run(t).Latency.TPOT.Mean, 0)
	staged := s.tp(8).with("engine.pipeline_parallel_size=2")
	above(t, "share of the network, layers shared over Ethernet and stages", s.tp(16).with(slow).run(t).Attribution.TPOT.Network, staged.with(slow).run(t).Attribution.TPOT.Network, 1)
}

// Pipeline stages on two nodes pass only activations over the link, and still lose to two engines of a node each: every token
// walks through both stages.
func TestPipelineStagesAcrossNodesAreSlowerThanReplicas(t *testing.T) {
	s := acrossNodes.tp(8).with("workload={requests: 600, rate: 24, prompt: {mean: 1000, p99: 4000}, output: {mean: 250, p99: 900}}")
	staged, two := s.with("engine.pipeline_parallel_size=2").run(t), s.routed(2, "least-requests").run(t)
	if staged.GPU.Count != 16 || two.GPU.Count != 16 {
		t.Fatalf("%d and %d GPUs", staged.GPU.Count, two.GPU.Count)
	}
	above(t, "time per token of two stages and of two engines", staged.Latency.TPOT.Mean, two.Latency.TPOT.Mean, 0.2)
	wide := acrossNodes.tp(16).with("workload={requests: 20, rate: 0.5, prompt: 1000, output: 250}")
	lone := acrossNodes.tp(8).with("workload={requests: 20, rate: 0.5, prompt: 1000, output: 250}")
	above(t, "time per token at a low rate, two stages and one node", lone.with("engine.pipeline_parallel_size=2").run(t).Latency.TPOT.Mean, lone.run(t).Latency.TPOT.Mean, 0)
	above(t, "time per token at a low rate over Ethernet, two nodes and one", wide.with("hardware.internode=eth-100").run(t).Latency.TPOT.Mean, lone.run(t).Latency.TPOT.Mean, 0)
}

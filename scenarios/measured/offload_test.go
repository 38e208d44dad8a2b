package measured

import (
	"fmt"
	"testing"
)

// offloaded has two phases of one load on a server whose pool cannot keep all prompts, with so many GiB of host memory.
func offloaded(gib int) string {
	const row = "%s,g,%d,0.15.1,llama-2-7b,H100-SXM,1,0.23,%d,poisson-n,2,200,3000,20,2,100,50,10\n"
	return "id,group,phase,engine_version,model,gpu,tp,gpu_memory_utilization,cpu_offload_gib,arrival,rate_rps,num_requests,prompt_tokens,output_tokens,prefix_groups,prefix_tokens,distinct_prompts,ttft_mean_ms\n" +
		fmt.Sprintf(row, "first", 0, gib) + fmt.Sprintf(row, "second", 1, gib)
}

// The second phase finds on the host what the first has computed and the pool has lost. It pays for no copy of the first.
func TestHostMemoryOutlivesAPhase(t *testing.T) {
	without, with := validate(t, read(t, offloaded(0)), ""), validate(t, read(t, offloaded(100)), "")
	if len(without.Skipped)+len(with.Skipped) > 0 {
		t.Fatal(without.Skipped, with.Skipped)
	}
	a, b := predictions(without)["second ttft_mean"], predictions(with)["second ttft_mean"]
	if b > 0.7*a {
		t.Errorf("with host memory %v ms to a first token, without %v: want far less", b, a)
	}
	if n := with.By["cpu_offload_gib"]["100"]["ttft_mean"].N; n != 2 || without.By["cpu_offload_gib"] != nil {
		t.Errorf("%d rows with host memory have a part of their own, and %v without", n, without.By["cpu_offload_gib"])
	}
}

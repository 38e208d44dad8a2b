package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/servesim/servesim/hardware"
)

// settings fills in what was left to the profile, in vLLM's order: the class's defaults; without chunking the budget
// grows to the longest sequence; it never exceeds what max_num_seqs sequences of max_model_len could use; and there are
// never more sequences than tokens. Values that were given are not touched.
func (x *deployment) settings(m *Mistakes) {
	s, e, p := x.s, &x.s.Engine, &x.profile
	e.EnableChunkedPrefill = switchTo(e.EnableChunkedPrefill.Or(p.ChunkedPrefill))
	e.EnablePrefixCaching = switchTo(e.EnablePrefixCaching.Or(p.PrefixCaching))
	e.SchedulerReserveFullISL = switchTo(e.SchedulerReserveFullISL.Or(p.ReserveFullISL))
	e.AsyncScheduling = switchTo(e.AsyncScheduling.Or(p.AsyncScheduling))
	if !s.Explicit("engine.watermark") {
		e.Watermark = p.Watermark
	}
	if s.swaps() && !s.Explicit("engine.swap_space") {
		e.SwapSpace = defaultSwapSpace
	}
	if e.GPUMemoryUtilization == 0 {
		e.GPUMemoryUtilization = p.Utilization
	}
	x.MaxModelLen = x.longest(m)
	class, defaulted := classOf(x.Device), e.MaxNumBatchedTokens == 0
	if e.MaxNumSeqs == 0 {
		e.MaxNumSeqs = p.MaxNumSeqs[class]
	}
	x.prefillSize()
	// Where a token budget does not act, a given one must not move the memory plan either.
	if defaulted || s.idle("engine.max_num_batched_tokens") != "" {
		x.MaxNumBatchedTokens = min(x.stepTokens(), e.MaxNumSeqs*x.MaxModelLen)
	} else {
		x.MaxNumBatchedTokens = e.MaxNumBatchedTokens
	}
	if defaulted {
		e.MaxNumBatchedTokens = x.MaxNumBatchedTokens
	}
	if !s.Explicit("engine.max_num_seqs") {
		e.MaxNumSeqs = min(e.MaxNumSeqs, x.MaxNumBatchedTokens)
	}
	if e.MaxNumScheduledTokens == 0 {
		e.MaxNumScheduledTokens = e.MaxNumBatchedTokens
	}
	x.TP, x.PP, x.ExpertParallel = e.TensorParallelSize, e.PipelineParallelSize, e.EnableExpertParallel
	x.spread(m)
	x.MaxNumSeqs, x.BlockSize, x.Eager = e.MaxNumSeqs, e.BlockSize, e.EnforceEager
	x.speculation(m)
	x.graphs(m)
}

// longest returns max_model_len: the model's own where none was given. The longest that fits (-1) starts from there and
// is known once the memory is planned.
func (x *deployment) longest(m *Mistakes) int {
	e, most := &x.s.Engine, x.Model.MaxPositions
	switch {
	case e.MaxModelLen <= 0 && most == 0:
		m.at(x.s, "engine.max_model_len", "must be given: %s does not say how long its sequences may be", x.Model.Name)
		return 1
	case e.MaxModelLen < 0:
		return most
	case e.MaxModelLen == 0:
		e.MaxModelLen = most
	case most > 0 && e.MaxModelLen > most:
		m.at(x.s, "engine.max_model_len", "must be at most %d, the longest sequence of %s, got %d", most, x.Model.Name, e.MaxModelLen)
	}
	return e.MaxModelLen
}

func (x *deployment) graphs(m *Mistakes) {
	e := &x.s.Engine
	if x.Eager {
		return
	}
	if len(e.CUDAGraphCaptureSizes) > 0 {
		sizes := e.CUDAGraphCaptureSizes
		for i := 1; i < len(sizes); i++ {
			if sizes[i] <= sizes[i-1] {
				m.at(x.s, "engine.cudagraph_capture_sizes", "must ascend, got %d after %d", sizes[i], sizes[i-1])
				return
			}
		}
		if k := x.Drafter; k.Drafts > 0 && !k.Varies {
			sizes = hardware.MultiplesOf(1+k.Drafts, sizes)
		}
		reached, _ := slices.BinarySearch(sizes, x.MaxNumBatchedTokens+1)
		x.Graphs = sizes[:reached]
		if reached < len(sizes) {
			x.note(droppedGraphs(sizes[reached:], reached, x.MaxNumBatchedTokens))
		}
		return
	}
	dataCentre := strings.HasPrefix(x.Device.Arch, "Blackwell") && classOf(x.Device) == huge
	k := x.Drafter
	x.Graphs = hardware.CaptureSizes(x.MaxNumSeqs*(1+k.Drafts), x.MaxNumBatchedTokens, dataCentre)
	if k.Drafts > 0 && !k.Varies {
		x.Graphs = hardware.MultiplesOf(1+k.Drafts, x.Graphs)
	}
}

// droppedGraphs says which capture sizes no step reaches; vLLM leaves them out as well.
func droppedGraphs(dropped []int, kept, budget int) string {
	text := fmt.Sprintf("cudagraph_capture_sizes above max_num_batched_tokens, %d, are dropped: %v", budget, dropped)
	if kept == 0 {
		text += "; none is left, so that every step runs without a CUDA graph"
	}
	return text
}

// checkStart makes the checks that vLLM makes when it starts.
func (x *deployment) checkStart(m *Mistakes) {
	x.checkPolicy(m)
	s, e := x.s, &x.s.Engine
	budget, seqs := "engine.max_num_batched_tokens", "engine.max_num_seqs"
	if s.idle(budget) == "" && s.idle(seqs) == "" && e.MaxNumBatchedTokens < e.MaxNumSeqs {
		path, text := budget, "must be at least max_num_seqs, %[2]d, got %[1]d"
		if !s.Explicit(budget) {
			path, text = seqs, "must be at most max_num_batched_tokens, %[1]d, got %[2]d"
		}
		m.at(s, path, text, e.MaxNumBatchedTokens, e.MaxNumSeqs)
	}
	if e.LongPrefillTokenThreshold > x.MaxModelLen {
		m.at(s, "engine.long_prefill_token_threshold", "must be at most max_model_len, %d, got %d", x.MaxModelLen, e.LongPrefillTokenThreshold)
	}
	if s.idle(budget) == "" && !s.splits() && e.MaxNumBatchedTokens < x.MaxModelLen {
		m.at(s, budget, "must be at least max_model_len, %d, when prompts are not split, got %d: a longer prompt could never be scheduled; raise it, lower max_model_len, or use the chunked scheduler with enable_chunked_prefill", x.MaxModelLen, e.MaxNumBatchedTokens)
	}
	scheduled := "engine.max_num_scheduled_tokens"
	if n := e.MaxNumScheduledTokens; s.idle(scheduled) == "" && n > 0 && !s.splits() && n < x.MaxModelLen {
		m.at(s, scheduled, "must be at least max_model_len, %d, when prompts are not split, got %d: a longer prompt could never be scheduled", x.MaxModelLen, n)
	}
	if s.idle(scheduled) == "" && e.MaxNumScheduledTokens > e.MaxNumBatchedTokens {
		m.at(s, scheduled, "must be at most max_num_batched_tokens, %d, got %d", e.MaxNumBatchedTokens, e.MaxNumScheduledTokens)
	}
	if x.MaxNumBatchedTokens > e.MaxNumSeqs*x.MaxModelLen {
		x.note(fmt.Sprintf("max_num_batched_tokens %d exceeds max_num_seqs × max_model_len, %d: a step can never be that large", x.MaxNumBatchedTokens, e.MaxNumSeqs*x.MaxModelLen))
	}
}

// plan divides the memory. A pool that cannot hold one sequence of max_model_len is refused, as vLLM does when it starts;
// one whose size was given is only remarked upon. With max_model_len: auto the longest sequence that fits is found.
func (x *deployment) plan() (hardware.Memory, error) {
	e := &x.s.Engine
	options := hardware.MemoryOptions{
		Utilization: e.GPUMemoryUtilization, KVCacheBytes: int64(e.KVCacheMemoryBytes),
		NumGPUBlocksOverride: cmp.Or(e.NumGPUBlocksOverride, x.overlayBlocks()), GraphsSubtracted: x.profile.GraphMemory,
		SamplerBytes: samplerBytes(x.profile),
	}
	plan, err := hardware.PlanMemory(x.Deployment, options)
	var tooLong *hardware.ContextTooLongError
	if errors.As(err, &tooLong) && e.MaxModelLen < 0 && tooLong.Longest > 0 {
		x.MaxModelLen = tooLong.Longest
		plan, err = hardware.PlanMemory(x.Deployment, options)
	}
	var tooLarge *hardware.DoesNotFitError
	if errors.As(err, &tooLarge) && e.MaxModelLen < 0 {
		x.MaxModelLen = 1 // the remedy is for an engine that holds any sequence at all
		_, err = hardware.PlanMemory(x.Deployment, options)
	}
	if err != nil {
		var m Mistakes
		path := "engine"
		switch {
		case errors.As(err, &tooLong):
			path = "engine.max_model_len"
		case errors.As(err, &tooLarge) && tooLarge.Activations > tooLarge.Needed && tooLarge.MaxNumSeqs > 0:
			path = "engine.max_num_seqs"
		case errors.As(err, &tooLarge) && tooLarge.Activations > tooLarge.Needed:
			path = x.stepTokensKey()
		}
		_, key, _ := strings.Cut(x.stepTokensKey(), ".")
		m.at(x.s, path, "%s", strings.ReplaceAll(err.Error(), "max_num_batched_tokens", key))
		return plan, m
	}
	e.MaxModelLen = x.MaxModelLen
	if beyond := plan.Requested + plan.Graphs - plan.Total; beyond > 0 && !x.profile.GraphMemory && e.KVCacheMemoryBytes == 0 && e.NumGPUBlocksOverride == 0 {
		x.note(fmt.Sprintf("CUDA graphs take %.2f GiB beyond gpu_memory_utilization %g, which is more than the GPU has left: a real engine may run out of memory", float64(plan.Graphs)/gibibyte, e.GPUMemoryUtilization))
	}
	if asked := e.KVCacheMemoryBytes > 0 || e.NumGPUBlocksOverride > 0; asked && plan.KV > plan.Left {
		x.note(fmt.Sprintf("the KV pool that was asked for needs %.1f GiB per GPU; %s has %.1f GiB left for it beside weights, activations and CUDA graphs: a real engine would run out of memory",
			float64(plan.KV)/gibibyte, x.Device.Name, float64(max(plan.Left, 0))/gibibyte))
	}
	switch {
	case plan.Blocks < 2:
		var m Mistakes
		m.at(x.s, "engine", "the KV pool of %d blocks holds nothing: one block is never handed out, so at least 2 are needed", plan.Blocks)
		return plan, m
	case plan.MaxConcurrency < 1:
		x.note(fmt.Sprintf("the KV pool that was asked for, %d blocks, is too small for one sequence of max_model_len %d: longer requests are rejected", plan.Blocks, x.MaxModelLen))
	}
	return plan, nil
}

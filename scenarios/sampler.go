package scenarios

import "github.com/servesim/servesim/hardware"

// samplerBytes returns what sampling takes in the profiling run of a version, in bytes per sequence and entry of the
// vocabulary. The second model runner, of mid-2026, profiled its sampler without top-k and top-p until August.
func samplerBytes(p Profile) float64 {
	switch p.Name {
	case "vllm-0.9", "vllm-0.10", "vllm-0.14":
		return hardware.WholeSort
	case "vllm-0.20":
		return hardware.NoSort
	}
	return hardware.SegmentedSort
}

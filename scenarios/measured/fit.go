package measured

import (
	"slices"

	"github.com/servesim/servesim/hardware"
)

// fitPart is the part of the built-in table that shows how far the constants of vLLM 0.15 carry beyond what they were fitted
// to. No other version was measured on enough models to leave some out.
const fitPart = "fit_of_0.15.1"

// fittedModels are those whose runs on H100 the constants of vLLM 0.14 to 0.16 were fitted to.
var fittedModels = []string{"codellama-34b", "llama-2-70b", "llama-3.1-8b", "mixtral-8x22b", "qwen3-14b"}

// inFit says whether constants were fitted to the row: "yes"; "form", if only the form of the cost model was chosen with an
// eye on it — what a group's shared prefix costs, and that threads only wait for each other where heads are grouped, were
// learnt from Llama-2-7B —; "no"; or "", where the question does not arise.
func (r *Row) inFit() string {
	if r.EngineVersion != "0.15.1" {
		return ""
	}
	m, _, _, err := hardware.FindModel(r.Model)
	d, _, deviceErr := hardware.FindDevice(r.GPU)
	switch {
	case err != nil || deviceErr != nil || d.Name != "h100-sxm":
		return "no"
	case slices.Contains(fittedModels, m.Name):
		return "yes"
	case m.Name == "llama-2-7b":
		return "form"
	}
	return "no"
}

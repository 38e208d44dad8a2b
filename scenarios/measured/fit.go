package measured

import (
	"slices"
	"strings"

	"github.com/servesim/servesim/hardware"
)

// fitPart names the part of the built-in runs of an engine version that shows how far its constants carry beyond the rows
// that they were fitted to.
func fitPart(version string) string { return "fit_of_" + version }

// What the parts say of a row: constants of its version were fitted to it; only the form of the cost model was chosen with an
// eye on it; neither.
const (
	fitted  = "yes"
	shaped  = "form"
	leftOut = "no"
)

// fittings say which rows of a version its constants were fitted to: at most half of its models where there are several, of its
// GPUs, parallel sizes or loads where there is one.
var fittings = []struct {
	version string // and its patches
	rows    func(r *Row, model, gpu string) bool
}{
	{"0.11", func(r *Row, model, gpu string) bool {
		return model == "qwen3-8b" && gpu == "h100-sxm" && (r.Concurrency == 1 || r.Concurrency == 4)
	}},
	{"0.15", func(_ *Row, model, gpu string) bool {
		return gpu == "h100-sxm" && slices.Contains([]string{"codellama-34b", "llama-2-70b", "llama-3.1-8b", "mixtral-8x22b", "qwen3-14b"}, model)
	}},
	{"0.19", func(_ *Row, _, gpu string) bool { return gpu == "rtx-pro-6000-server" }},
	{"0.21", func(r *Row, _, gpu string) bool { return gpu == "h100-sxm" && r.TP == 2 }},
}

// inFit says whether constants were fitted to a built-in row, or "", where the question does not arise. What a group's shared prefix
// costs, and that threads only wait for each other where heads are grouped, was learnt from Llama-2-7B on H100 with 0.15.
func (r *Row) inFit() string {
	for _, f := range fittings {
		if r.EngineVersion != f.version && !strings.HasPrefix(r.EngineVersion, f.version+".") {
			continue
		}
		m, _, _, _ := hardware.FindModel(r.Model)
		d, _, _ := hardware.FindDevice(r.GPU)
		switch {
		case f.rows(r, m.Name, d.Name):
			return fitted
		case f.version == "0.15" && m.Name == "llama-2-7b" && d.Name == "h100-sxm":
			return shaped
		}
		return leftOut
	}
	return ""
}

// countFit adds a comparison to the part of its version.
func (b *builder) countFit(r *Row, c Comparison) {
	if in := r.inFit(); in != "" && b.embedded {
		b.count(fitPart(r.EngineVersion), in, c)
	}
}

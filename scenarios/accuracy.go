package scenarios

import (
	"fmt"

	"github.com/servesim/servesim/hardware"
)

// A band is how far predictions were off for a class of runs: nine of ten mean end-to-end times and times per token lay within it,
// rounded up, as servesim validate prints them. The first band that fits a run is its own.
type band struct {
	card  string // a device; "": any
	kind  string // its status; "": any
	old   bool   // of an engine that does not schedule ahead, vLLM 0.13 and before
	draft bool   // with speculative decoding
	pct   float64
	basis string
}

// Source of the bands: the summary of servesim validate by class (90th percentile of the absolute error).
//
//	vLLM 0.15, Poisson arrivals, H100, A100 and L40S   end-to-end 6.6 % of 46 runs, per token 8.3 % of 48
//	vLLM 0.21, closed loop, gpt-oss on H100 and H200   per token 6.5 % of 48 runs
//	vLLM 0.11, closed loop                             per token 23 % of 6 runs; bursts, with incomplete settings, more
//	vLLM 0.19, logs of an RTX 4090                     means within 5 % of one run: half as wide as where there is none
var bands = []band{
	{old: true, pct: 30, basis: "few runs of engines of this age were compared"},
	{draft: true, pct: 25, basis: "no served run with speculative decoding was compared, and acceptance is what you or we assume"},
	{kind: hardware.Measured, pct: 10},
	{card: "rtx-4090", pct: 15, basis: "one served run was compared"},
	{pct: 25, basis: "no served run was compared"},
}

// bandOf finds the band of a deployment.
func bandOf(x *deployment) band {
	for _, b := range bands {
		if (b.card == "" || b.card == x.Device.Name) && (b.kind == "" || b.kind == x.Device.Status) && (!b.old || !x.profile.AsyncScheduling) && (!b.draft || x.s.speculates()) {
			return b
		}
	}
	panic("scenarios: the last band fits everything")
}

// A fit is worth twice the error that it made on results left out, and never less than what two runs of one server differ
// by when all is well.
const (
	leftOutFactor = 2
	repeatability = 3
)

// provenance says what the numbers of the deployment rest on.
func provenance(x *deployment) Provenance {
	b := bandOf(x)
	p := Provenance{
		GPU: x.Device.Name, GPUStatus: x.Device.Status, Model: x.Model.Name, WeightDtype: string(x.Weights),
		EngineProfile: x.profile.Name, ErrorBandPct: b.pct, basis: b.basis,
	}
	o := x.s.overlay
	if o == nil || o.Fitted.Results == 0 {
		return p
	}
	p.Overlay = o.label()
	if fitted := max(repeatability, leftOutFactor*o.LeaveOneOutPct); o.LeaveOneOutPct > 0 && o.differs(x) == "" && fitted < p.ErrorBandPct {
		p.ErrorBandPct, p.unfitted = fitted, &b
	}
	return p
}

// provenanceOf returns the provenance of engines that share requests: that of the one that is known least, and no better than where
// no served run was compared.
func provenanceOf(pools []group) Provenance {
	p := pools[0].engine.Provenance
	for i := range pools {
		if q := pools[i].engine.Provenance; q.ErrorBandPct > p.ErrorBandPct {
			p = q
		}
	}
	if last := bands[len(bands)-1]; p.ErrorBandPct <= last.pct {
		p.ErrorBandPct, p.basis, p.unfitted = last.pct, "no served run of engines that share requests was compared", nil
	}
	return p
}

// beyond returns the provenance of a run outside the loads that the overlay was fitted to: its band is not narrower
// than that of any other run.
func (p Provenance) beyond() Provenance {
	if p.unfitted != nil {
		p.ErrorBandPct, p.basis, p.unfitted = p.unfitted.pct, p.unfitted.basis, nil
	}
	return p
}

// Accuracy says in a line how far to trust the numbers, and why: "h100-sxm: measured, ±10%".
func (p Provenance) Accuracy() string {
	text := fmt.Sprintf("times within about ±%.0f%%; kernels of the %s: %s", p.ErrorBandPct, p.GPU, p.GPUStatus)
	switch {
	case p.unfitted != nil:
		return fmt.Sprintf("times within about ±%.0f%%; fitted to this machine: %s", p.ErrorBandPct, p.Overlay)
	case p.basis != "":
		text += ", " + p.basis
	}
	return text
}

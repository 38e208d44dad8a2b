package scenarios

import (
	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/sim/metrics"
)

// Version is the version of the simulator that stands in every report.
const Version = "0.1.0"

// Result is the report of a run. Its JSON keys are stable: scripts depend on them, new ones may be added.
type Result struct {
	Name       string     `json:"scenario"`
	Seed       uint64     `json:"seed"`
	Version    string     `json:"version"`
	Provenance Provenance `json:"provenance"`
	// Config is the resolved scenario, complete: saved and run again, it gives the same bytes.
	Config Map `json:"config"`
	metrics.Report
}

// Provenance says what the numbers of a report rest on.
type Provenance struct {
	GPU           string `json:"gpu"`
	GPUStatus     string `json:"gpu_status"` // "measured", "assumed": where the card's kernel efficiencies come from
	Model         string `json:"model"`
	WeightDtype   string `json:"weight_dtype"`
	EngineProfile string `json:"engine_profile"`
	// ErrorBandPct is how far, in percent, a predicted time per token may be off: from comparisons with served runs of
	// cards whose kernels were measured; wider where they were not.
	ErrorBandPct float64 `json:"error_band_pct"`
}

// Nine of ten predictions of TPOT lie within 7 % of served runs on cards whose kernels were measured (vLLM 0.15.1 on H100, A100 and
// L40S), and those of end-to-end time within 10 %. Nothing comparable backs an assumed card, and an engine of another
// age has other host times.
const (
	bandMeasured = 10
	bandAssumed  = 25
	bandOld      = 30
)

func provenance(x *deployment) Provenance {
	p := Provenance{
		GPU: x.Device.Name, GPUStatus: x.Device.Status, Model: x.Model.Name, WeightDtype: string(x.Weights),
		EngineProfile: x.profile.Name, ErrorBandPct: bandMeasured,
	}
	if x.Device.Status != hardware.Measured {
		p.ErrorBandPct = bandAssumed
	}
	if !x.profile.AsyncScheduling {
		p.ErrorBandPct = max(p.ErrorBandPct, bandOld)
	}
	return p
}

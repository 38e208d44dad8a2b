package scenarios

import (
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
	// ErrorBandPct is how far, in percent, a predicted mean time may be off: nine of ten comparisons with served runs of
	// the same class lay within it.
	ErrorBandPct float64 `json:"error_band_pct"`
	Overlay      string  `json:"profile,omitempty"` // the constants of one's own machine, if they were used

	basis    string // what else is to be said of the band
	unfitted *band  // the band without the overlay, where the overlay made it narrower
}

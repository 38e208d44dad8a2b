package hardware

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ColumnError says what is wrong with one number of a device, under the name that the table of GPUs gives it.
type ColumnError struct {
	Device, Column string
	Problem        string  // completes "Column …"
	Got            float64 // in the column's unit; 0 where nothing was given
}

// Error names the device, the column and the range that is allowed.
func (e *ColumnError) Error() string {
	text := e.Device + ": " + e.Column + " " + e.Problem
	if e.Got != 0 {
		text += fmt.Sprintf(", got %g", e.Got)
	}
	return text
}

// A column is one number of a data sheet: its name, its unit in SI, and the range that is believed, in its own unit. The ranges are
// decades wider than any product: they keep times and sizes finite, and catch a wrong unit.
type column struct {
	name      string
	unit      float64
	low, high float64
	optional  bool // 0: there is none
	of        func(*Device) float64
}

var columns = []column{
	{"sm", 1, 1, 1e5, false, func(d *Device) float64 { return float64(d.SMs) }},
	{"bf16_tflops", tera, 0.1, 1e6, false, func(d *Device) float64 { return d.BF16 }},
	{"fp8_tflops", tera, 0.1, 1e6, true, func(d *Device) float64 { return d.FP8 }},
	{"int8_tops", tera, 0.1, 1e6, true, func(d *Device) float64 { return d.INT8 }},
	{"fp4_tflops", tera, 0.1, 1e6, true, func(d *Device) float64 { return d.FP4 }},
	{"mem_gb", giga, 0.1, 1e5, false, func(d *Device) float64 { return float64(d.Memory) }},
	{"mem_bw_tbs", tera, 0.001, 1000, false, func(d *Device) float64 { return d.Bandwidth }},
	{"l2_mb", mib, 0.001, 1e6, true, func(d *Device) float64 { return float64(d.L2) }},
	{"link_gbs_per_dir", giga, 0.1, 1e5, true, func(d *Device) float64 { return d.Link.Bandwidth }},
	{"link latency", 1, 1e-9, 1, true, func(d *Device) float64 { return d.Link.Latency }},
	{"pcie_gbs_per_dir", giga, 0.1, 1e5, false, func(d *Device) float64 { return d.PCIe }},
	{"tdp_w", 1, 1, 1e5, false, func(d *Device) float64 { return d.TDP }},
	{"usd_per_h_typ", 1, 0, 1e6, true, func(d *Device) float64 { return d.USDPerHour }},
}

// checkColumns reports every number that is missing or outside its range.
func (d Device) checkColumns() error {
	var faults []error
	for _, c := range columns {
		v := c.of(&d) / c.unit
		problem := ""
		switch within := v >= c.low && v <= c.high; {
		case v == 0 && !c.optional:
			problem = "is missing"
		case v != 0 && !within && c.optional:
			problem = fmt.Sprintf("must be 0 (none) or lie between %s and %s", plain(c.low), plain(c.high))
		case v != 0 && !within:
			problem = fmt.Sprintf("must lie between %s and %s", plain(c.low), plain(c.high))
		default:
			continue
		}
		faults = append(faults, &ColumnError{Device: d.label(), Column: c.name, Problem: problem, Got: v})
	}
	return errors.Join(faults...)
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// archMissing is the refusal of a card that does not say whose kernels are like its own.
func archMissing(d Device) error {
	var known []string
	for _, c := range datasheets {
		if fitOf(c.Name, Newest) != nil && !slices.Contains(known, c.Arch) {
			known = append(known, c.Arch)
		}
	}
	return &ColumnError{Device: d.label(), Column: "arch", Problem: "is missing: it decides which kernels are assumed; known are " + strings.Join(known, ", ")}
}

// usualPCIe returns the slowest link to the host among the cards of a generation: x16 of the PCIe that it came with; of an unknown
// one, that of PCIe 4.
func usualPCIe(arch string) float64 {
	slowest := math.Inf(1)
	for _, c := range datasheets {
		if generationOf(c.Arch) == generationOf(arch) {
			slowest = min(slowest, c.PCIe)
		}
	}
	if math.IsInf(slowest, 1) {
		return 32 * giga
	}
	return slowest
}

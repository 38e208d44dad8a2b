package hardware

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Devices returns every known device, in the order of its table, each with the newest kernels known for it: fitted on
// the card itself where there are measurements, else derived from a sibling by the rule of Assume, else none
// (Status DatasheetOnly). The slice is the caller's.
func Devices() []Device {
	all := slices.Clone(datasheets)
	for i := range all {
		d := &all[i]
		d.Status = DatasheetOnly
		if f := fitOf(d.Name, Newest); f != nil {
			d.Kernels, d.Status = complete(f.kernels, *d), f.status
		} else if k, err := derive(*d); err == nil {
			d.Kernels, d.Status = k, Assumed
		}
	}
	return all
}

// KernelsOf returns the kernels of a device in a generation of kernels: Newest (also "") or Vidur2024. What an older
// generation was not measured for is taken from the newest.
func KernelsOf(device, generation string) (Kernels, error) {
	d, _, err := FindDevice(device)
	if err != nil {
		return Kernels{}, err
	}
	if generation == "" || generation == Newest {
		return d.Kernels, d.kernelsKnown()
	}
	f := fitOf(d.Name, generation)
	if f == nil {
		return Kernels{}, fmt.Errorf("%s: no %q kernels are known; choose one of: %s", d.Name, generation, strings.Join(generations(d.Name), ", "))
	}
	k := f.kernels
	if now := fitOf(d.Name, Newest); now != nil {
		k = overlay(now.kernels, k)
	}
	return complete(k, d), nil
}

// generations lists the kernel generations of a device.
func generations(device string) []string {
	known := []string{Newest}
	for _, f := range fits {
		if f.device == device && f.generation != Newest {
			known = append(known, f.generation)
		}
	}
	return known
}

func fitOf(device, generation string) *fit {
	i := slices.IndexFunc(fits, func(f fit) bool { return f.device == device && f.generation == generation })
	if i < 0 {
		return nil
	}
	return &fits[i]
}

// Check reports what keeps a device from pricing a step: every number that is missing, not positive or not finite,
// and kernels that nobody has measured and no rule derives.
func (d Device) Check() error {
	var faults []error
	require := func(name string, x float64) {
		if !(x > 0) || math.IsInf(x, 0) {
			faults = append(faults, fmt.Errorf("%s: %s must be positive and finite, got %g", d.label(), name, x))
		}
	}
	require("SMs", float64(d.SMs))
	require("BF16 rate", d.BF16)
	require("memory", float64(d.Memory))
	require("memory bandwidth", d.Bandwidth)
	require("PCIe bandwidth", d.PCIe)
	require("TDP", d.TDP)
	for _, o := range []struct {
		name string
		x    float64
	}{
		{"FP8 rate", d.FP8}, {"INT8 rate", d.INT8}, {"FP4 rate", d.FP4}, {"L2 size", float64(d.L2)},
		{"link bandwidth", d.Link.Bandwidth}, {"link latency", d.Link.Latency}, {"price", d.USDPerHour},
	} {
		if !(o.x >= 0) || math.IsInf(o.x, 0) {
			faults = append(faults, fmt.Errorf("%s: %s must be finite and not negative, got %g", d.label(), o.name, o.x))
		}
	}
	if len(faults) == 0 {
		faults = append(faults, d.kernelsKnown())
	}
	return errors.Join(faults...)
}

func (d Device) label() string { return cmp.Or(d.Name, "device") }

// kernelsKnown is nil when the device has kernels.
func (d Device) kernelsKnown() error {
	if d.Kernels.GEMM.Compute > 0 {
		return nil
	}
	return noRule(d)
}

// Assume returns the device with kernels derived from the nearest measured card of its generation; for devices that are
// not in the table. It fails where Arch has no measured card.
func (d Device) Assume() (Device, error) {
	k, err := derive(d)
	if err != nil {
		return d, err
	}
	d.Kernels, d.Status = k, Assumed
	if err := d.Check(); err != nil {
		return d, err
	}
	return d, nil
}

package hardware

import (
	"cmp"
	"errors"
	"fmt"
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

// Check reports what keeps a device from pricing a step: every number that is missing or outside any believable range (each
// a *ColumnError), and kernels that nobody has measured and no rule derives.
func (d Device) Check() error {
	if err := d.checkColumns(); err != nil {
		return err
	}
	return d.kernelsKnown()
}

func (d Device) label() string { return cmp.Or(d.Name, "device") }

// kernelsKnown is nil when the device has kernels.
func (d Device) kernelsKnown() error {
	if d.Kernels.GEMM.Compute > 0 {
		return nil
	}
	return noRule(d)
}

// Assume returns the device with kernels that nobody has measured on it: for devices that are not in the table, those derived from the
// nearest measured card of its generation; for a card of the table with other numbers, its own. Without PCIe it gets what its
// generation came with. It fails where a number is missing or where Arch has no measured card.
func (d Device) Assume() (Device, error) {
	if d.PCIe == 0 {
		d.PCIe = usualPCIe(d.Arch)
	}
	faults := []error{d.checkColumns()}
	k, err := deriveFromItself(d)
	if err != nil && d.Arch == "" {
		err = archMissing(d)
	}
	if err := errors.Join(append(faults, err)...); err != nil {
		return d, err
	}
	d.Kernels, d.Status = k, Assumed
	return d, d.Check()
}

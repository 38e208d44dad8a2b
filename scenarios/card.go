package scenarios

import (
	"errors"
	"fmt"
	"strings"

	"github.com/servesim/servesim/hardware"
)

// device finds the GPU, or makes one of the columns given: they replace those of a known card, of the default one where there is no
// name. A card under a name that nobody knows, or an unnamed one of another generation, has columns of its own only.
func (x *deployment) device(m *Mistakes) {
	s, g := x.s, &x.s.Hardware.GPU
	sold, note, err := hardware.FindDevice(g.Name)
	if !s.givesColumns() {
		x.note(note)
		if err != nil {
			m.at(s, "hardware.gpu", "%v (or a mapping with the numbers of your card)", err)
			return
		}
		x.Device = sold
		x.kernels(m)
		return
	}
	if err == nil && !s.Explicit("hardware.gpu.name") && g.Arch != "" && g.Arch != sold.Arch {
		err, g.Name = errUnnamed, "custom"
	}
	if err != nil {
		x.ownCard(m)
		return
	}
	x.note(note)
	x.Device = sold
	x.replaceColumns(m)
}

var errUnnamed = errors.New("a card without a name")

// givesColumns reports whether the scenario says anything of the GPU besides its name; a zero says something, too.
func (s *Scenario) givesColumns() bool {
	for _, key := range children("hardware.gpu") {
		if key != "name" && s.Explicit(join("hardware.gpu", key)) {
			return true
		}
	}
	named := s.Hardware.GPU
	named.Name = ""
	return named != GPU{}
}

// ownCard makes a card of the columns alone.
func (x *deployment) ownCard(m *Mistakes) {
	d := hardware.Device{Name: x.s.Hardware.GPU.Name}
	x.s.onto(&d)
	withoutPCIe := d.PCIe == 0
	d, err := d.Assume()
	if err != nil {
		x.refuseDevice(m, err, ", and no known GPU has this name")
		return
	}
	x.Device = d
	text := d.Name + " is a card of your own: its kernel efficiencies are assumed from its generation"
	if withoutPCIe && d.Link.Bandwidth == 0 && x.s.gpus() > 1 {
		text += fmt.Sprintf(", and so is PCIe, %g GB/s per direction", d.PCIe/1e9)
	}
	x.note(text)
}

// replaceColumns puts the columns given in place of the known card's. Its kernels stay those that were measured as long as nothing
// changes that the time of a step follows from.
func (x *deployment) replaceColumns(m *Mistakes) {
	sold, d := x.Device, x.Device
	x.s.onto(&d)
	changed := x.changed(&sold, &d)
	if len(changed) == 0 {
		if err := d.Check(); err != nil {
			x.refuseDevice(m, err, "")
			return
		}
		x.Device = d
		x.kernels(m)
		return
	}
	d, err := d.Assume()
	if err != nil {
		x.refuseDevice(m, err, "")
		return
	}
	x.Device = d
	x.note(fmt.Sprintf("this %s differs from the one that is sold in %s: its kernel efficiencies are assumed", d.Name, strings.Join(changed, ", ")))
}

// changed lists the columns in which d differs from the card as it is sold, and that the steps of this engine depend on.
func (x *deployment) changed(sold, d *hardware.Device) []string {
	several, w := x.s.gpus() > 1, x.Weights
	var list []string
	for _, c := range []struct {
		column  string
		differs bool
	}{
		{"arch", sold.Arch != d.Arch},
		{"sm", sold.SMs != d.SMs},
		{"bf16_tflops", sold.BF16 != d.BF16},
		{"fp8_tflops", sold.FP8 != d.FP8 && (w == hardware.FP8 || w == hardware.INT8)},
		{"int8_tops", sold.INT8 != d.INT8 && w == hardware.INT8},
		{"fp4_tflops", sold.FP4 != d.FP4 && (w == hardware.MXFP4 || w == hardware.NVFP4)},
		{"mem_bw_tbs", sold.Bandwidth != d.Bandwidth},
		{"link_gbs_per_dir", sold.Link.Bandwidth != d.Link.Bandwidth && several},
		{"pcie_gbs_per_dir", sold.PCIe != d.PCIe && several && (d.Link.Bandwidth == 0 || d.Link.GPUs > 0)},
		{"tdp_w", sold.TDP != d.TDP},
	} {
		if c.differs {
			list = append(list, c.column)
		}
	}
	return list
}

// refuseDevice gives the faults of a card the places of their columns; why says, of a column that is missing, what it is needed for.
func (x *deployment) refuseDevice(m *Mistakes, err error, why string) {
	for _, e := range flatten(err) {
		var c *hardware.ColumnError
		if !errors.As(e, &c) {
			m.at(x.s, "hardware.gpu", "%v", e)
			continue
		}
		path := "hardware.gpu." + c.Column
		if reported := "hardware.gpu.mem_mib_reported"; c.Column == "mem_gb" && x.s.Explicit(reported) {
			path = reported
		}
		f := fieldAt(path)
		if f == nil || !x.s.Explicit(path) {
			m.at(x.s, "hardware.gpu", "%v%s", e, why)
			why = "" // once is enough
			continue
		}
		text := c.Problem
		if path != "hardware.gpu."+c.Column {
			text = c.Column + " " + text
		}
		if given, ok := f.into(x.s).(*float64); ok {
			text = fmt.Sprintf("%s, got %g", text, *given)
		}
		m.at(x.s, path, "%s", text)
	}
}

// onto puts the columns that were given in place of the device's own numbers. A link of zero is no link: the GPUs meet over PCIe.
func (s *Scenario) onto(d *hardware.Device) {
	g := &s.Hardware.GPU
	set := func(to *float64, v, scale float64) {
		if v > 0 {
			*to = v * scale
		}
	}
	text := func(to *string, v string) {
		if v != "" {
			*to = v
		}
	}
	text(&d.Vendor, g.Vendor)
	text(&d.Arch, g.Arch)
	text(&d.Link.Name, g.LinkType)
	text(&d.Source, g.Source)
	text(&d.Note, g.Note)
	set(&d.BF16, g.BF16TFLOPS, 1e12)
	set(&d.FP8, g.FP8TFLOPS, 1e12)
	set(&d.INT8, g.INT8TOPS, 1e12)
	set(&d.FP4, g.FP4TFLOPS, 1e12)
	set(&d.Bandwidth, g.MemBWTBs, 1e12)
	set(&d.Link.Bandwidth, g.LinkGBs, 1e9)
	set(&d.PCIe, g.PCIeGBs, 1e9)
	set(&d.TDP, g.TDPW, 1)
	set(&d.USDPerHour, g.USDPerHTyp, 1)
	if g.LinkGBs == 0 && s.Explicit("hardware.gpu.link_gbs_per_dir") {
		d.Link = hardware.Link{}
	}
	if g.USDPerHTyp == 0 && s.Explicit("hardware.gpu.usd_per_h_typ") {
		d.USDPerHour = 0
	}
	whole := func(v float64) int64 { return int64(min(v, 1<<62)) } // which is out of every range
	if g.SM > 0 {
		d.SMs = int(whole(g.SM))
	}
	if g.L2MB > 0 {
		d.L2 = whole(g.L2MB * (1 << 20))
	}
	switch {
	case g.MemMiBReported > 0:
		d.Memory = whole(g.MemMiBReported * (1 << 20))
	case g.MemGB > 0:
		d.Memory = whole(g.MemGB * 1e9)
	}
}

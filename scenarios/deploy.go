package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/servesim/servesim/hardware"
)

// A deployment is one engine as the scenario resolves to: every setting that was left to the profile has its value.
type deployment struct {
	s       *Scenario // a copy with the settings filled in
	profile Profile
	hardware.Deployment
	notes []string // how names and settings were understood
}

// deploy resolves model, GPU and engine settings, and returns everything that is wrong with them. Sections that are known
// to hold mistakes are not looked at again, nor what depends on them; wrong may be nil.
func (s *Scenario) deploy(wrong func(section string) bool) (*deployment, Mistakes) {
	if wrong == nil {
		wrong = func(string) bool { return false }
	}
	var m Mistakes
	copied := *s
	x := &deployment{s: &copied}
	x.profile, _ = FindProfile(s.Engine.Profile)
	x.readOverlay(&m)
	x.s.Engine.Profile = x.profile.Name
	if x.s.Scheduler.Name == "" {
		x.s.Scheduler.Name = x.profile.Scheduler
	}
	if !wrong("model") {
		x.model(&m)
	}
	if !wrong("hardware") {
		x.device(&m)
		x.link(&m)
	}
	if len(m) > 0 || wrong("model") || wrong("hardware") || wrong("engine") || wrong("scheduler") {
		return x, m
	}
	x.overlayDevice()
	x.settings(&m)
	x.checkStart(&m)
	x.host()
	if len(m) == 0 {
		x.validate(&m)
	}
	return x, m
}

func (m *Mistakes) at(s *Scenario, path, format string, args ...any) {
	m.add(s.place(path), path, format, args...)
}

// model finds the model: a file if the name looks like one, else a known name.
func (x *deployment) model(m *Mistakes) {
	s := x.s
	var stored hardware.Dtype
	var err error
	if strings.HasSuffix(s.Model, ".json") {
		x.Model, stored, err = s.readModel()
	} else {
		var note string
		x.Model, stored, note, err = hardware.FindModel(s.Model)
		x.note(note)
	}
	if err != nil {
		if !strings.HasSuffix(s.Model, ".json") {
			err = fmt.Errorf("%w (or the path of a config.json)", err)
		}
		m.at(s, "model", "%v", err)
		return
	}
	x.Weights = stored
	if x.Weights == "" {
		x.Weights = x.Model.Dtype
	}
	if q, err := hardware.ParseDtype(s.Engine.Quantization); err != nil {
		m.at(s, "engine.quantization", "%v", err)
	} else if q != "" {
		x.Weights = q
	}
	if d, err := hardware.ParseDtype(s.Engine.Dtype); err == nil && d != "" && !x.Weights.Narrow() {
		x.Weights = d
	}
	x.KV = hardware.BF16
	if d, err := hardware.ParseDtype(s.Engine.KVCacheDtype); err == nil && d != "" {
		x.KV = d
	} else if x.Weights == hardware.FP16 {
		x.KV = hardware.FP16
	}
}

// readModel reads a config.json. Its path in the resolved configuration is absolute, so that the configuration runs
// from anywhere.
func (s *Scenario) readModel() (hardware.Model, hardware.Dtype, error) {
	typed, path := s.Model, s.resolvePath("model", s.Model)
	text, err := os.ReadFile(path)
	if err != nil {
		return hardware.Model{}, "", errors.New(typed + ": cannot be read: " + unwrapPath(err).Error())
	}
	s.Model = path
	m, stored, err := hardware.ParseConfig(bytes.NewReader(text), typed)
	if err != nil {
		return m, stored, contentError{err}
	}
	m.Name = configName(path)
	return m, stored, nil
}

// configName names a model after its file: after its folder where the file is called as Hugging Face calls them all, else
// after both.
func configName(path string) string {
	folder, file := filepath.Base(filepath.Dir(path)), strings.TrimSuffix(filepath.Base(path), ".json")
	switch {
	case file == "config":
		return folder
	case folder == "." || folder == string(filepath.Separator):
		return file
	}
	return folder + "/" + file
}

// resolvePath returns the absolute path of a file that a value names: relative to the scenario's own file, or to the
// working directory when a flag set it.
func (s *Scenario) resolvePath(field, file string) string {
	if !filepath.IsAbs(file) && s.place(field).origin == "" {
		file = filepath.Join(s.dir, file)
	}
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return file
}

func (x *deployment) note(text string) {
	if text != "" {
		x.notes = append(x.notes, text)
	}
}

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

// kernels puts older generations of kernels in place, where the scenario asks for them.
func (x *deployment) kernels(m *Mistakes) {
	want := x.s.Hardware.Kernels
	older := func(path, generation string) (hardware.Kernels, bool) {
		if generation == "default" {
			return hardware.Kernels{}, false
		}
		k, err := hardware.KernelsOf(x.Device.Name, generation)
		if err != nil {
			m.at(x.s, path, "%v", err)
		}
		return k, err == nil
	}
	k := &x.Device.Kernels
	if old, ok := older("hardware.kernels.gemm", want.GEMM); ok {
		k.GEMM, k.GEMMFP8, k.MoE = old.GEMM, old.GEMMFP8, old.MoE
	}
	if old, ok := older("hardware.kernels.attention", want.Attention); ok {
		k.DecodeMemory, k.DecodeMemoryFP8, k.DecodeT0, k.DecodeTau = old.DecodeMemory, old.DecodeMemoryFP8, old.DecodeT0, old.DecodeTau
		k.PrefillCompute, k.PrefillT0, k.PrefillL0, k.PrefillHead64 = old.PrefillCompute, old.PrefillT0, old.PrefillL0, old.PrefillHead64
	}
}

// links between nodes that have a name: per GPU and direction. Sources: InfiniBand NDR (400 Gb/s) and HDR (200 Gb/s), RoCE at
// the same line rates, 100 Gb/s Ethernet; latencies are typical of NCCL across one switch.
var links = []hardware.Link{
	{Name: "ib-ndr", Bandwidth: 50e9, Latency: 5e-6},
	{Name: "ib-hdr", Bandwidth: 25e9, Latency: 5e-6},
	{Name: "ib-xdr", Bandwidth: 100e9, Latency: 5e-6},
	{Name: "roce-400", Bandwidth: 50e9, Latency: 8e-6},
	{Name: "roce-200", Bandwidth: 25e9, Latency: 8e-6},
	{Name: "eth-100", Bandwidth: 12.5e9, Latency: 25e-6},
}

func (x *deployment) link(m *Mistakes) {
	s, in := x.s, &x.s.Hardware.Internode
	x.GPUsPerNode = s.Hardware.GPUsPerNode
	known := false
	var names []string
	for _, l := range links {
		names = append(names, l.Name)
		if strings.EqualFold(l.Name, in.Name) {
			x.Internode, known = l, true
		}
	}
	if !known && (in.Bandwidth == 0 || s.Explicit("hardware.internode.name")) {
		m.at(s, "hardware.internode", "unknown link %q%s; known are %s, or give bandwidth and latency", in.Name, didYouMean(in.Name, names), strings.Join(names, ", "))
		return
	}
	if in.Bandwidth > 0 {
		x.Internode.Bandwidth = float64(in.Bandwidth)
	}
	if s.Explicit("hardware.internode.latency") {
		x.Internode.Latency = in.Latency.Seconds()
	} else {
		in.Latency = time.Duration(x.Internode.Latency * 1e9)
	}
	if in.Bandwidth == 0 {
		in.Bandwidth = Bandwidth(x.Internode.Bandwidth)
	}
}

func (x *deployment) host() {
	x.Host = x.profile.Host
	if x.TP*x.PP > 1 {
		x.Host.HiddenBase += x.profile.Workers.Seconds()
	}
	e := &x.s.Engine
	x.Host.ExposedPerSampled = e.SamplingCost.Seconds() + e.ConstrainedDecoding.Share*e.ConstrainedDecoding.Cost.Seconds()
	x.ExpertSkew = servedSkew(x.Model)
	if !x.s.Explicit("frontend.api_servers") && x.s.Engine.APIServerCount > 0 {
		x.s.Frontend.APIServers = x.s.Engine.APIServerCount
	}
	x.s.Engine.APIServerCount = x.s.Frontend.APIServers
	x.frontend()
}

// frontend leaves to the profile what the scenario does.
func (x *deployment) frontend() {
	f, p := &x.s.Frontend, &x.profile.Frontend
	for _, one := range []struct {
		given *time.Duration
		own   time.Duration
	}{{&f.PerRequest, p.PerRequest}, {&f.Tokenize, p.PerToken}, {&f.Latency, p.Ingress}, {&f.PerChunk, p.PerChunk}} {
		if *one.given == fromProfile {
			*one.given = one.own
		}
	}
}

// validate lets the hardware package refuse what no such engine could be, and gives each refusal its place.
func (x *deployment) validate(m *Mistakes) {
	for _, e := range flatten(x.Validate()) {
		text, path := e.Error(), "engine"
		if strings.HasPrefix(text, "expert parallelism") {
			path = "engine.enable_expert_parallel"
		}
		for _, key := range children("engine") {
			if rest, ok := strings.CutPrefix(text, key+" "); ok {
				text, path = rest, join("engine", key)
			}
		}
		m.at(x.s, path, "%s", text)
	}
}

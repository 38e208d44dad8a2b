package scenarios

import (
	"bytes"
	"cmp"
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
	x.noteNodes()
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

// noteNodes warns of what is often slower than it looks: layers that are shared across nodes sum up over the link between
// them, twice each.
func (x *deployment) noteNodes() {
	node := x.GPUsPerNode
	if x.TP <= node {
		return
	}
	x.note(fmt.Sprintf("tensor_parallel_size %d is more than the %d GPUs of a node: every layer waits for two all-reduces over %s; replicas on one node each, or pipeline_parallel_size across nodes, are often faster",
		x.TP, node, cmp.Or(x.Internode.Name, "the link between the nodes")))
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

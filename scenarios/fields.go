package scenarios

import "github.com/servesim/servesim/sim/cluster"

func routerNames() []string { return cluster.Names() }

var (
	autoWord = []word{{"auto", 0}}
	noneWord = []word{{"none", 0}}
	autoTime = []word{{"auto", float64(fromProfile)}} // where zero is a time like any other
)

var generalFields = []field{
	{path: "name", into: func(s *Scenario) any { return &s.Name }, def: "unnamed", doc: "What the report is headed with."},
	{path: "summary", into: func(s *Scenario) any { return &s.Summary }, doc: "One line on what the scenario shows."},
	{path: "seed", into: func(s *Scenario) any { return &s.Seed }, def: "1", limit: notNegative, doc: "Everything that is drawn follows from it; the same seed gives the same bytes."},
	{path: "model", into: func(s *Scenario) any { return &s.Model }, def: "meta-llama/Llama-3.1-8B-Instruct", doc: "A model's name or Hugging Face id, or the path of a Hugging Face config.json."},
	{path: "overlay", into: func(s *Scenario) any { return &s.Overlay }, file: true, doc: "A file with the constants of your own machine, as servesim calibrate writes it; they take the place of the engine profile's and the GPU's."},
}

var hardwareFields = []field{
	{path: "hardware.gpu.name", into: func(s *Scenario) any { return &s.Hardware.GPU.Name }, def: "H100-SXM", doc: "Name of the GPU."},
	{path: "hardware.gpu.vendor", into: func(s *Scenario) any { return &s.Hardware.GPU.Vendor }, doc: "Maker."},
	{path: "hardware.gpu.arch", into: func(s *Scenario) any { return &s.Hardware.GPU.Arch }, doc: "Generation, e.g. Hopper; it decides which kernel efficiencies are assumed."},
	{path: "hardware.gpu.sm", into: func(s *Scenario) any { return &s.Hardware.GPU.SM }, limit: atLeastOne, doc: "Multiprocessors."},
	{path: "hardware.gpu.bf16_tflops", into: func(s *Scenario) any { return &s.Hardware.GPU.BF16TFLOPS }, limit: positive, doc: "Dense BF16 peak, TFLOP/s."},
	{path: "hardware.gpu.fp8_tflops", into: func(s *Scenario) any { return &s.Hardware.GPU.FP8TFLOPS }, limit: positive, doc: "Dense FP8 peak, TFLOP/s."},
	{path: "hardware.gpu.int8_tops", into: func(s *Scenario) any { return &s.Hardware.GPU.INT8TOPS }, limit: positive, doc: "Dense INT8 peak, TOP/s."},
	{path: "hardware.gpu.fp4_tflops", into: func(s *Scenario) any { return &s.Hardware.GPU.FP4TFLOPS }, limit: positive, doc: "Dense FP4 peak, TFLOP/s."},
	{path: "hardware.gpu.mem_gb", into: func(s *Scenario) any { return &s.Hardware.GPU.MemGB }, limit: positive, doc: "Memory as sold, GB."},
	{path: "hardware.gpu.mem_mib_reported", into: func(s *Scenario) any { return &s.Hardware.GPU.MemMiBReported }, limit: positive, doc: "Memory as the driver reports it, MiB."},
	{path: "hardware.gpu.mem_type", into: func(s *Scenario) any { return &s.Hardware.GPU.MemType }, doc: "E.g. HBM3."},
	{path: "hardware.gpu.mem_bw_tbs", into: func(s *Scenario) any { return &s.Hardware.GPU.MemBWTBs }, limit: positive, doc: "Memory bandwidth, TB/s."},
	{path: "hardware.gpu.l2_mb", into: func(s *Scenario) any { return &s.Hardware.GPU.L2MB }, limit: positive, doc: "Second-level cache, MB."},
	{path: "hardware.gpu.link_gbs_per_dir", into: func(s *Scenario) any { return &s.Hardware.GPU.LinkGBs }, limit: notNegative, doc: "Link to the other GPUs of the node, GB/s per direction."},
	{path: "hardware.gpu.link_type", into: func(s *Scenario) any { return &s.Hardware.GPU.LinkType }, doc: "E.g. NVLink4."},
	{path: "hardware.gpu.pcie", into: func(s *Scenario) any { return &s.Hardware.GPU.PCIe }, doc: "E.g. 5.0x16."},
	{path: "hardware.gpu.pcie_gbs_per_dir", into: func(s *Scenario) any { return &s.Hardware.GPU.PCIeGBs }, limit: positive, doc: "Link to the host, GB/s per direction."},
	{path: "hardware.gpu.tdp_w", into: func(s *Scenario) any { return &s.Hardware.GPU.TDPW }, limit: positive, doc: "Power limit, W."},
	{path: "hardware.gpu.usd_per_h_low", into: func(s *Scenario) any { return &s.Hardware.GPU.USDPerHLow }, limit: notNegative, doc: "Low on-demand price, USD an hour."},
	{path: "hardware.gpu.usd_per_h_typ", into: func(s *Scenario) any { return &s.Hardware.GPU.USDPerHTyp }, limit: notNegative, doc: "Typical on-demand price, USD an hour."},
	{path: "hardware.gpu.ridge_bf16_flop_per_byte", into: func(s *Scenario) any { return &s.Hardware.GPU.RidgeBF16 }, limit: positive, doc: "Follows from the peaks; read over."},
	{path: "hardware.gpu.source", into: func(s *Scenario) any { return &s.Hardware.GPU.Source }, doc: "Where the numbers come from."},
	{path: "hardware.gpu.note", into: func(s *Scenario) any { return &s.Hardware.GPU.Note }, doc: "A remark."},
	{path: "hardware.gpus_per_node", into: func(s *Scenario) any { return &s.Hardware.GPUsPerNode }, def: "8", limit: atLeastOne, doc: "Beyond it, traffic crosses the internode link."},
	{path: "hardware.internode.name", into: func(s *Scenario) any { return &s.Hardware.Internode.Name }, def: "ib-ndr", doc: "A named link."},
	{path: "hardware.internode.bandwidth", into: func(s *Scenario) any { return &s.Hardware.Internode.Bandwidth }, limit: positive, doc: "Bandwidth per GPU and direction, e.g. 50GB/s."},
	{path: "hardware.internode.latency", into: func(s *Scenario) any { return &s.Hardware.Internode.Latency }, limit: notNegative, doc: "Latency of one message, e.g. 5us."},
	{path: "hardware.kernels.gemm", into: func(s *Scenario) any { return &s.Hardware.Kernels.GEMM }, def: "default", doc: "Generation of the matrix kernels; default = the newest known for the GPU."},
	{path: "hardware.kernels.attention", into: func(s *Scenario) any { return &s.Hardware.Kernels.Attention }, def: "default", doc: "Generation of the attention kernels; default = the newest known for the GPU."},
	{path: "hardware.kernels.weight_only", into: func(s *Scenario) any { return &s.Hardware.Kernels.WeightOnly }, def: "default", choices: []string{"default", "unfused"}, doc: "Matrix kernels of AWQ and GPTQ weights: default = Marlin's; unfused = the formats' own, which widen a matrix before they multiply (vLLM until 2024, and what its --quantization awq and gptq force)."},
}

// serverFields are what surrounds one engine.
var serverFields = []field{
	{path: "cluster.replicas", into: func(s *Scenario) any { return &s.Cluster.Replicas }, limit: replicaCount, doc: "Engines that share the load; left out: one, or those of the groups."},
	{path: "cluster.router", into: func(s *Scenario) any { return &s.Cluster.Router }, def: "round-robin", choices: cluster.Names(), doc: "Which engine a request goes to."},
	{path: "cluster.hop", into: func(s *Scenario) any { return &s.Cluster.Hop }, def: "0s", limit: notNegative, doc: "From the router to the engine; requests do not wait for each other."},
	{path: "cluster.groups", into: func(s *Scenario) any { return &s.Cluster.Groups }, doc: "Replicas that differ from hardware.gpu and engine: a list of {name, replicas, gpu, engine}; what a group leaves out is as above."},
}

// frontendFields are what stands between the client and the engine.
var frontendFields = []field{
	{path: "frontend.api_servers", into: func(s *Scenario) any { return &s.Frontend.APIServers }, def: "1", limit: replicaCount, doc: "API processes; they share prompts and streams evenly."},
	{path: "frontend.per_request", into: func(s *Scenario) any { return &s.Frontend.PerRequest }, def: "auto", words: autoTime, limit: notNegative, doc: "Time of an API process for each request, before its prompt: HTTP, chat template. Other requests wait for it. auto = as the engine profile has it, here and below."},
	{path: "frontend.tokenize", into: func(s *Scenario) any { return &s.Frontend.Tokenize }, def: "auto", words: autoTime, limit: notNegative, doc: "Time of an API process for each token of a prompt; prompts wait for each other."},
	{path: "frontend.latency", into: func(s *Scenario) any { return &s.Frontend.Latency }, def: "auto", words: autoTime, limit: notNegative, doc: "Everything else between client and scheduler, there and back; nobody waits for anybody."},
	{path: "frontend.per_chunk", into: func(s *Scenario) any { return &s.Frontend.PerChunk }, def: "auto", words: autoTime, limit: notNegative, doc: "Time of an API process to detokenise and write one chunk of an answer; chunks wait for each other."},
}

var workloadFields = []field{
	{path: "workload.requests", into: func(s *Scenario) any { return &s.Workload.Requests }, def: "auto", words: autoWord, limit: atLeastOne, doc: "How many requests; auto = 1000, all rows of a trace, or as many as the duration holds."},
	{path: "workload.duration", into: func(s *Scenario) any { return &s.Workload.Duration }, def: "none", words: noneWord, limit: positive, doc: "No arrivals after this; what has arrived is served to its end."},
	{path: "workload.horizon", into: func(s *Scenario) any { return &s.Workload.Horizon }, def: "none", words: noneWord, limit: positive, doc: "The simulation stops here; what is not done by then counts as unfinished."},
	{path: "workload.rate", into: func(s *Scenario) any { return &s.Workload.Rate }, def: "auto", words: []word{{"auto", 0}, {"inf", inf}, {".inf", inf}}, limit: sane, doc: "Requests per second; inf = all at once; auto = 10, or a trace's own times."},
	{path: "workload.arrivals.name", into: func(s *Scenario) any { return &s.Workload.Arrivals.Name }, def: "poisson", choices: []string{"poisson", "constant", "burst", "gamma", "closed", "trace"}, planned: []string{"stages", "ramp", "weibull", "mmpp"}, doc: "The law of arrivals."},
	{path: "workload.arrivals.burstiness", into: func(s *Scenario) any { return &s.Workload.Arrivals.Burstiness }, def: "1", words: []word{{"inf", inf}}, limit: positive, doc: "gamma: the shape; 1 is Poisson, less is burstier."},
	{path: "workload.arrivals.rescale", into: func(s *Scenario) any { return &s.Workload.Arrivals.Rescale }, def: "auto", words: autoWord, doc: "Stretch the drawn times so that the last request arrives exactly at requests/rate, as vLLM's benchmark does; auto = with gamma only."},
	{path: "workload.arrivals.clients", into: func(s *Scenario) any { return &s.Workload.Arrivals.Clients }, def: "32", limit: atLeastOne, doc: "closed: clients that each wait for their answer."},
	{path: "workload.arrivals.think", into: func(s *Scenario) any { return &s.Workload.Arrivals.Think }, def: "0s", limit: notNegative, doc: "closed: the pause between an answer and the next request."},
	{path: "workload.arrivals.file", into: func(s *Scenario) any { return &s.Workload.Arrivals.File }, file: true, doc: "trace: a file, relative to the scenario, or an embedded trace."},
	{path: "workload.arrivals.format", into: func(s *Scenario) any { return &s.Workload.Arrivals.Format }, def: "auto", choices: []string{"auto", "azure", "mooncake", "servesim"}, planned: []string{"burstgpt", "sharegpt", "servegen", "vidur", "splitwise"}, doc: "trace: its format; auto = by its first line."},
	{path: "workload.arrivals.speed", into: func(s *Scenario) any { return &s.Workload.Arrivals.Speed }, def: "1", limit: positive, doc: "trace: time runs so many times faster."},
	{path: "workload.arrivals.stages", def: "none", doc: "stages: rates one after the other."},
	{path: "workload.max_concurrency", into: func(s *Scenario) any { return &s.Workload.MaxConcurrency }, def: "none", words: noneWord, limit: atLeastOne, doc: "The client keeps at most so many requests open and holds back the others."},
}

// loadFields follow the two length laws.
var loadFields = []field{
	{path: "workload.max_tokens", into: func(s *Scenario) any { return &s.Workload.MaxTokens }, def: "auto", words: autoWord, limit: atLeastOne, doc: "Output tokens that the client asks for; auto = exactly what the answer will have."},
	{path: "workload.prefix.groups", into: func(s *Scenario) any { return &s.Workload.Prefix.Groups }, def: "1", limit: atLeastOne, doc: "How many different beginnings."},
	{path: "workload.prefix.tokens", into: func(s *Scenario) any { return &s.Workload.Prefix.Tokens }, def: "0", limit: notNegative, doc: "Length of the shared beginning; it is added to the prompt."},
	{path: "workload.prefix.distinct", into: func(s *Scenario) any { return &s.Workload.Prefix.Distinct }, words: noneWord, limit: atLeastOne, doc: "How many different prompts there are: they come round in one shuffled order; left out: no prompt comes twice."},
	{path: "workload.classes", into: func(s *Scenario) any { return &s.Workload.Classes }, doc: "Kinds of requests: a list of {name, share, priority, prompt, output, slo}; what is left out of prompt, output and slo is the workload's."},
	{path: "workload.clients.count", into: func(s *Scenario) any { return &s.Workload.Clients.Count }, limit: limit{"be from 1 to 1048576", func(v float64) bool { return v >= 1 && v <= 1<<20 }}, doc: "How many clients; one if left out."},
	{path: "workload.clients.skew", into: func(s *Scenario) any { return &s.Workload.Clients.Skew }, def: "0", limit: notNegative, doc: "Zipf's law: the k-th client sends 1/k^skew as much as the first; 0 = all the same."},
	{path: "workload.clients.shares", into: func(s *Scenario) any { return &s.Workload.Clients.Shares }, doc: "One client for each weight of a list, in place of count and skew."},
	{path: "workload.timeout", into: func(s *Scenario) any { return &s.Workload.Timeout }, def: "none", words: noneWord, limit: positive, doc: "A client gives up after this; counted as aborted."},
}

// sessionFields follow the law of their turns.
var sessionFields = []field{
	{path: "workload.sessions.think", into: func(s *Scenario) any { return &s.Workload.Sessions.Think }, def: "10s", limit: notNegative, doc: "From the end of an answer to the next turn of its session."},
	{path: "warmup", into: func(s *Scenario) any { return &s.Warmup }, def: "0s", limit: notNegative, doc: "Requests that arrive before this are served but not measured."},
}

// targetFields are the targets of a section.
func targetFields(path string, of func(*Scenario) *SLO) []field {
	return []field{
		{path: path + ".ttft", into: func(s *Scenario) any { return &of(s).TTFT }, limit: positive, doc: "Time to first token."},
		{path: path + ".tpot", into: func(s *Scenario) any { return &of(s).TPOT }, limit: positive, doc: "Time per output token after the first."},
		{path: path + ".itl", into: func(s *Scenario) any { return &of(s).ITL }, limit: positive, doc: "The largest gap between two tokens of an answer."},
		{path: path + ".e2el", into: func(s *Scenario) any { return &of(s).E2EL }, limit: positive, doc: "From sending to the last token."},
	}
}

// lengthFields are the fields of one law of lengths; about says what holds without it.
func lengthFields(path string, of func(*Scenario) *Length, about ...string) []field {
	law := "The law; left out: the one that the numbers given belong to."
	if len(about) > 0 {
		law = "The law. " + about[0] + "; without this key: the one that the numbers given belong to."
	}
	return []field{
		{path: path + ".dist", into: func(s *Scenario) any { return &of(s).Dist }, choices: []string{"fixed", "uniform", "normal", "lognormal"}, planned: []string{"pareto", "zipf", "empirical", "gamma", "exponential"}, doc: law},
		{path: path + ".mean", into: func(s *Scenario) any { return &of(s).Mean }, limit: atLeastOne, doc: "Mean, in tokens."},
		{path: path + ".std", into: func(s *Scenario) any { return &of(s).Std }, limit: notNegative, doc: "normal, lognormal: standard deviation, in tokens."},
		{path: path + ".p50", into: func(s *Scenario) any { return &of(s).P50 }, limit: atLeastOne, doc: "lognormal: median, in place of the mean."},
		{path: path + ".p99", into: func(s *Scenario) any { return &of(s).P99 }, limit: atLeastOne, doc: "lognormal: 99th percentile, in place of the standard deviation."},
		{path: path + ".range_ratio", into: func(s *Scenario) any { return &of(s).RangeRatio }, limit: belowOne, doc: "uniform: the half-width as a share of the mean, as vLLM's --random-range-ratio."},
		{path: path + ".min", into: func(s *Scenario) any { return &of(s).Min }, limit: atLeastOne, doc: "uniform: the shortest, together with max and in place of mean and range_ratio."},
		{path: path + ".max", into: func(s *Scenario) any { return &of(s).Max }, limit: atLeastOne, doc: "The longest; what is drawn above it becomes this."},
	}
}

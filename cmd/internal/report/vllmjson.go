package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/servesim/servesim/scenarios"
)

// simulated stands where vLLM's result says when and against which back end it was measured: a simulation has neither,
// and two equal ones should be equal files.
const (
	simulated     = "servesim"
	simulatedDate = "19700101-000000"
)

// A Detail is one request as --save-detailed writes it: times in seconds.
type Detail struct {
	Start, TTFT   float64
	ITL           []float64
	Input, Output int
	Error         string
}

// load is what vLLM's result repeats of how it was asked.
type load struct {
	requests    int
	rate        float64
	burstiness  float64
	concurrency int // 0: no limit
}

// loadOf reads it off the resolved configuration.
func loadOf(r *scenarios.Result) load {
	l := load{requests: r.Report.Requests.Submitted, rate: math.Inf(1), burstiness: 1}
	if x, ok := numeric(r.Config.Get("workload.rate")); ok {
		l.rate = x
	}
	if x, ok := numeric(r.Config.Get("workload.arrivals.burstiness")); ok {
		l.burstiness = x
	}
	for _, path := range []string{"workload.max_concurrency", "workload.arrivals.clients"} {
		if x, ok := numeric(r.Config.Get(path)); ok {
			l.concurrency = int(x)
			break
		}
	}
	return l
}

// numeric reads a number of a configuration, whatever form it was given in.
func numeric(v any) (float64, bool) {
	if v == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	return x, err == nil && !math.IsNaN(x)
}

// An object is a JSON object whose keys keep their order.
type object []struct {
	key   string
	value any
}

func (o *object) put(key string, value any) {
	*o = append(*o, struct {
		key   string
		value any
	}{key, value})
}

// MarshalJSON writes the keys in order, and vLLM's "inf" for an unlimited rate.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if f, ok := x.value.(float64); ok && math.IsInf(f, 0) {
			x.value = "inf"
		}
		value, err := json.Marshal(x.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", x.key, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// VLLMJSON writes the object that `vllm bench serve --save-result` writes, with the same keys in the same order; with
// details, those of --save-detailed too.
func VLLMJSON(w io.Writer, r *scenarios.Result, b Bench, details []Detail) error {
	m, l := &r.Report, loadOf(r)
	var o object
	o.put("date", simulatedDate)
	o.put("endpoint_type", simulated)
	o.put("backend", simulated)
	o.put("label", nil)
	o.put("model_id", modelID(r))
	o.put("tokenizer_id", modelID(r))
	o.put("num_prompts", l.requests)
	o.put("request_rate", l.rate)
	o.put("burstiness", l.burstiness)
	o.put("max_concurrency", nilIfZero(l.concurrency))
	o.put("duration", m.DurationS)
	o.put("completed", m.Requests.Completed)
	o.put("failed", failed(m))
	o.put("total_input_tokens", m.Tokens.Input)
	o.put("total_output_tokens", m.Tokens.Output)
	o.put("request_throughput", m.Throughput.RequestsPerS)
	o.put("request_goodput", m.Goodput.RequestsPerS)
	o.put("output_throughput", m.Throughput.OutputTokensPerS)
	o.put("total_token_throughput", m.Throughput.TotalTokensPerS)
	if details != nil {
		o.detail(details)
	}
	o.put("max_output_tokens_per_s", float64(m.Throughput.PeakOutputTokensPerS))
	o.put("max_concurrent_requests", m.Throughput.PeakConcurrentRequests)
	o.put("rtfx", 0.0)
	if m.Speculation != nil {
		o.speculation(m.Speculation)
	}
	for _, name := range b.Metrics {
		s := latencyOf(m, name)
		o.put("mean_"+name+"_ms", s.Mean)
		o.put("median_"+name+"_ms", s.P50)
		o.put("std_"+name+"_ms", s.Std)
		for _, p := range b.Percentiles {
			o.put("p"+Percentile(p)+"_"+name+"_ms", at(s, p))
		}
	}
	out, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = w.Write(append(out, '\n'))
	return err
}

// modelID is the model as the user named it, which for vLLM is its Hugging Face id.
func modelID(r *scenarios.Result) string {
	if id, ok := r.Config.Get("model").(string); ok {
		return id
	}
	return r.Provenance.Model
}

func nilIfZero(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// detail adds the lists with one entry a request.
func (o *object) detail(details []Detail) {
	n := len(details)
	inputs, outputs := make([]int, n), make([]int, n)
	ttfts, starts, itls := make([]float64, n), make([]float64, n), make([][]float64, n)
	texts, faults := make([]string, n), make([]string, n)
	for i, d := range details {
		inputs[i], outputs[i], ttfts[i], starts[i], faults[i] = d.Input, d.Output, d.TTFT, d.Start, d.Error
		itls[i] = append([]float64{}, d.ITL...)
	}
	o.put("input_lens", inputs)
	o.put("output_lens", outputs)
	o.put("ttfts", ttfts)
	o.put("itls", itls)
	o.put("start_times", starts)
	o.put("generated_texts", texts)
	o.put("errors", faults)
}

// VLLMFileName is the name that vLLM gives its result file, less the date.
func VLLMFileName(r *scenarios.Result) string {
	l := loadOf(r)
	rate := "inf"
	if !math.IsInf(l.rate, 1) {
		rate = strconv.FormatFloat(l.rate, 'f', -1, 64)
		if !strings.Contains(rate, ".") {
			rate += ".0" // as Python prints it
		}
	}
	name := simulated + "-" + rate + "qps"
	if l.concurrency > 0 {
		name += fmt.Sprintf("-concurrency%d", l.concurrency)
	}
	return name + "-" + path.Base(modelID(r)) + ".json"
}

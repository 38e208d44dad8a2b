package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/servesim/servesim/cmd/internal/report"
	"github.com/servesim/servesim/hardware"
)

// rooflineFlags say what to place on which roofline.
type rooflineFlags struct {
	model, gpu, dtype, quantization, kv string
	tp, context                         int
	batches                             []int
	format                              string
}

func newRoofline(e *env) *cobra.Command {
	var r rooflineFlags
	c := &cobra.Command{
		Use:   "roofline --model M --gpu G",
		Short: "Place a model's prefill and decode on a GPU's roofline",
		Long: "Place a model's prefill and decode on a GPU's roofline: a step left of the ridge waits for memory, a step right of it\n" +
			"for arithmetic. Decoding reads all weights for one token of each sequence; that is why batching pays.",
		Args: arguments(0),
		RunE: func(*cobra.Command, []string) error { return r.run(e) },
	}
	f := c.Flags()
	f.StringVar(&r.model, "model", "llama-3.1-8b", "short `NAME` (servesim models) or Hugging Face id")
	f.StringVar(&r.gpu, "gpu", "h100-sxm", "`NAME` of the card (servesim gpus)")
	f.StringVar(&r.dtype, "dtype", "auto", "`TYPE` of weights and activations: auto, bfloat16, float16")
	f.StringVar(&r.quantization, "quantization", "", "`METHOD` for the weights: fp8, int8, awq, gptq, mxfp4 (also -q)")
	f.StringVar(&r.kv, "kv-cache-dtype", "auto", "`TYPE` of the KV cache: auto, bfloat16, fp8")
	f.IntVar(&r.tp, "tensor-parallel-size", 1, "`N` GPUs share each layer (also -tp)")
	f.IntSliceVar(&r.batches, "batch", []int{1, 8, 32, 128, 256}, "batch sizes of the decode steps: `N,N...`")
	f.IntVar(&r.context, "context", 1024, "`N` tokens in each sequence, and in the prompt that is prefilled")
	f.StringVar(&r.format, "format", "table", "`table` or json")
	return c
}

func (r *rooflineFlags) run(e *env) error {
	if err := checkFormat(r.format, "table", "json"); err != nil {
		return err
	}
	d, notes, err := r.deployment()
	if err != nil {
		return usageError{err}
	}
	place, err := hardware.Place(d, r.batches, r.context)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintf(e.stderr, "servesim: note: %s\n", n)
	}
	if r.format == "json" {
		return rooflineJSON(e.stdout, d, place)
	}
	return rooflineText(e.stdout, d, place)
}

// deployment resolves the names. CUDA graphs are captured as vLLM does by default on this class of card.
func (r *rooflineFlags) deployment() (d hardware.Deployment, notes []string, err error) {
	if r.context > 1<<20 {
		return d, nil, fmt.Errorf("--context %d: at most %d tokens", r.context, 1<<20)
	}
	for _, n := range r.batches {
		if n < 1 || n > 1<<16 {
			return d, nil, fmt.Errorf("--batch %d: must lie between 1 and %d", n, 1<<16)
		}
	}
	model, weights, note, err := hardware.FindModel(r.model)
	if err != nil {
		return d, nil, fmt.Errorf("--model: %w", err)
	}
	gpu, gpuNote, err := hardware.FindDevice(r.gpu)
	if err != nil {
		return d, nil, fmt.Errorf("--gpu: %w", err)
	}
	for _, n := range []string{note, gpuNote} {
		if n != "" {
			notes = append(notes, n)
		}
	}
	if weights == "" {
		weights = model.Dtype
	}
	for _, t := range []struct{ flag, value string }{{"--dtype", r.dtype}, {"--quantization", r.quantization}} {
		if t.value == "" || t.value == "auto" {
			continue
		}
		if weights, err = hardware.ParseDtype(t.value); err != nil {
			return d, nil, fmt.Errorf("%s: %w", t.flag, err)
		}
	}
	kv := hardware.BF16
	if r.kv != "auto" {
		if kv, err = hardware.ParseDtype(r.kv); err != nil {
			return d, nil, fmt.Errorf("--kv-cache-dtype: %w", err)
		}
	}
	const tokens, sequences = 8192, 1024
	d = hardware.Deployment{
		Model: model, Device: gpu, Weights: weights, KV: kv,
		TP: r.tp, PP: 1, GPUsPerNode: max(8, r.tp),
		Graphs:              hardware.CaptureSizes(sequences, tokens, false),
		MaxNumBatchedTokens: tokens, MaxNumSeqs: sequences, MaxModelLen: model.MaxPositions, BlockSize: 16,
		ExpertSkew: 1,
	}
	return d, notes, nil
}

// rooflineText draws the picture and puts the numbers under it.
func rooflineText(w io.Writer, d hardware.Deployment, p hardware.Placement) error {
	gpus := d.Device.Name
	if d.TP > 1 {
		gpus = fmt.Sprintf("%d × %s (per GPU)", d.TP, d.Device.Name)
	}
	fmt.Fprintf(w, "%s (%s) on %s\n", d.Model.Name, d.Weights, gpus)
	fmt.Fprintf(w, "ridge %.0f FLOP/B = %.4g TFLOP/s ÷ %.3g TB/s: below it a step waits for memory, above it for arithmetic\n\n",
		p.Ridge, p.Peak/1e12, p.Bandwidth/1e12)
	if _, err := io.WriteString(w, drawRoofline(p)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t := report.Table{
		Header: []string{"", "step", "FLOP/B", "attainable TFLOP/s", "predicted TFLOP/s", "of peak", "time", "waits for"},
		Left:   []int{0, 1},
	}
	for i, x := range p.Points {
		t.Rows = append(t.Rows, []string{
			pointMark(i, x), pointName(x), three(x.Intensity), three(x.Attainable / 1e12), three(x.Achieved / 1e12),
			fmt.Sprintf("%.1f%%", 100*x.Achieved/p.Peak), report.Span(x.Time.Seconds() * 1e3), waitsFor(x),
		})
	}
	if err := t.Text(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nFLOP/B: arithmetic per byte of memory traffic, KV cache included. time: predicted, on the GPU, without the host.\n")
	return err
}

func pointName(x hardware.Point) string {
	if x.Phase == "prefill" {
		return fmt.Sprintf("prefill of %d tokens", x.Tokens)
	}
	return fmt.Sprintf("decode, batch %d", x.Batch)
}

func waitsFor(x hardware.Point) string {
	if x.Bound == "compute" {
		return "arithmetic"
	}
	return x.Bound
}

// pointMark is the letter of a point in the picture: P for the prefill, a, b, c … for the decodes.
func pointMark(i int, x hardware.Point) string {
	if x.Phase == "prefill" {
		return "P"
	}
	return string(rune('a' + i%15))
}

// three prints three significant digits without an exponent.
func three(x float64) string {
	s := fmt.Sprintf("%.3g", x)
	if strings.Contains(s, "e") {
		return fmt.Sprintf("%.0f", x)
	}
	return s
}

// rooflineJSON writes the placement for scripts.
func rooflineJSON(w io.Writer, d hardware.Deployment, p hardware.Placement) error {
	type point struct {
		Phase      string  `json:"phase"`
		Batch      int     `json:"batch"`
		Tokens     int     `json:"tokens"`
		Context    int     `json:"context"`
		Intensity  float64 `json:"intensity_flop_per_byte"`
		Linear     float64 `json:"linear_intensity_flop_per_byte"`
		Attainable float64 `json:"attainable_tflops"`
		Predicted  float64 `json:"predicted_tflops"`
		TimeMS     float64 `json:"time_ms"`
		Bound      string  `json:"bound"`
	}
	points := []point{}
	for _, x := range p.Points {
		points = append(points, point{
			x.Phase, x.Batch, x.Tokens, x.Context, x.Intensity, x.Linear,
			x.Attainable / 1e12, x.Achieved / 1e12, x.Time.Seconds() * 1e3, x.Bound,
		})
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(struct {
		Model     string  `json:"model"`
		GPU       string  `json:"gpu"`
		Weights   string  `json:"weight_dtype"`
		TP        int     `json:"tensor_parallel_size"`
		Peak      float64 `json:"peak_tflops"`
		Bandwidth float64 `json:"bandwidth_tb_per_s"`
		Ridge     float64 `json:"ridge_flop_per_byte"`
		Points    []point `json:"points"`
	}{d.Model.Name, d.Device.Name, string(d.Weights), d.TP, p.Peak / 1e12, p.Bandwidth / 1e12, p.Ridge, slices.Clip(points)})
}

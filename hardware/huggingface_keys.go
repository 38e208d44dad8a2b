package hardware

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// config gives typed access to the keys of a config.json and collects what is wrong with them. A key that is null is
// as good as absent.
type config struct {
	name   string
	keys   map[string]json.RawMessage
	faults []error
}

func (c *config) fault(key, format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s: %s: %s", c.name, key, fmt.Sprintf(format, args...)))
}

// has reports whether a key is there with a value.
func (c *config) has(key string) bool {
	raw, ok := c.keys[key]
	return ok && string(raw) != "null"
}

// read decodes a key and reports whether it was there and fitting; a value of another kind is a fault.
func (c *config) read(key string, into any) bool {
	if !c.has(key) {
		return false
	}
	if err := json.Unmarshal(c.keys[key], into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			c.fault(key, "must be %s, got %s", kindName(kind.Type), kind.Value)
		} else {
			c.fault(key, "%v", err)
		}
		return false
	}
	return true
}

// kindName says in JSON's words what a key must be.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a number"
}

// required reads a whole number between 1 and most.
func (c *config) required(key string, most int) int { return c.number(key, 0, most) }

// number is the same with a default for when the key is absent; without one (0) the key must be there.
func (c *config) number(key string, byDefault, most int) int {
	if !c.has(key) && byDefault == 0 {
		c.fault(key, "missing; a whole number from 1 to %d is needed", most)
		return 0
	}
	return c.optional(key, byDefault, most)
}

// optional reads a whole number between 1 and most, or returns the default when the key is absent.
func (c *config) optional(key string, byDefault, most int) int {
	return c.between(key, byDefault, 1, most)
}

func (c *config) between(key string, byDefault, least, most int) int {
	var x float64
	if !c.read(key, &x) {
		return byDefault
	}
	if x != math.Trunc(x) || x < float64(least) || x > float64(most) {
		c.fault(key, "must be a whole number from %d to %d, got %g", least, most, x)
		return 0
	}
	return int(x)
}

func (c *config) flag(key string, byDefault bool) bool {
	c.read(key, &byDefault)
	return byDefault
}

// layersWith returns how many of the n layers satisfy want, layers being counted from 0.
func layersWith(n int, want func(layer int) bool) int {
	count := 0
	for i := range n {
		if want(i) {
			count++
		}
	}
	return count
}

// slidingByType counts the layers that layer_types calls sliding or chunked; known is false where there is no such
// list.
func (c *config) slidingByType(layers int) (count int, known bool) {
	var types []string
	if !c.read("layer_types", &types) {
		return 0, false
	}
	if len(types) != layers {
		c.fault("layer_types", "must name each of the %d layers, got %d", layers, len(types))
		return 0, true
	}
	return layersWith(layers, func(i int) bool {
		return types[i] == "sliding_attention" || types[i] == "chunked_attention"
	}), true
}

// dtype reads the format of the weights: that of the quantisation, else of the checkpoint, else BF16. Checkpoints in
// float32 are served in BF16, as vLLM does.
func (c *config) dtype() Dtype {
	if c.has("quantization_config") {
		return c.quantized()
	}
	var kind string
	if !c.read("dtype", &kind) {
		c.read("torch_dtype", &kind)
	}
	switch kind {
	case "", "auto", "bfloat16", "float32":
		return BF16
	case "float16":
		return FP16
	}
	c.fault("torch_dtype", "unknown dtype %q; known: bfloat16, float16, float32", kind)
	return ""
}

// quantization is what quantisers write into config.json.
type quantization struct {
	Method string `json:"quant_method"`
	Algo   string `json:"quant_algo"` // ModelOpt
	Bits   int    `json:"bits"`
	WBit   int    `json:"w_bit"`
	Format string `json:"format"` // compressed-tensors
	Groups map[string]struct {
		Weights *struct {
			Bits int    `json:"num_bits"`
			Type string `json:"type"`
		} `json:"weights"`
	} `json:"config_groups"`
}

func (c *config) quantized() Dtype {
	const key = "quantization_config"
	var q quantization
	if !c.read(key, &q) {
		return ""
	}
	bits := max(q.Bits, q.WBit)
	switch {
	case q.Method == "fp8", q.Method == "fbgemm_fp8":
		return FP8
	case q.Method == "mxfp4":
		return MXFP4
	case q.Method == "awq" && (bits == 0 || bits == 4):
		return AWQ
	case q.Method == "gptq" && (bits == 0 || bits == 4):
		return GPTQ
	case (q.Method == "gptq" || q.Method == "awq") && bits == 8:
		return INT8
	case q.Method == "modelopt", q.Method == "modelopt_fp4":
		if q.Algo == "NVFP4" || q.Method == "modelopt_fp4" {
			return NVFP4
		}
		return FP8
	case q.Method == "compressed-tensors":
		return c.compressed(q)
	case q.Method == "awq" || q.Method == "gptq":
		c.fault(key, "%s with %d bits has no price; known: 4 and 8", q.Method, bits)
		return ""
	}
	c.fault(key, "unknown quant_method %q; known: fp8, fbgemm_fp8, awq, gptq, mxfp4, modelopt, compressed-tensors", q.Method)
	return ""
}

// compressed reads the first group of a compressed-tensors checkpoint that quantises weights.
func (c *config) compressed(q quantization) Dtype {
	names := make([]string, 0, len(q.Groups))
	for name := range q.Groups { // order does not matter: sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w := q.Groups[name].Weights
		if w == nil {
			continue
		}
		switch {
		case w.Bits == 8 && w.Type == "float":
			return FP8
		case w.Bits == 8:
			return INT8
		case w.Bits == 4 && w.Type == "float" && q.Format == "mxfp4-pack-quantized":
			return MXFP4
		case w.Bits == 4 && w.Type == "float":
			return NVFP4
		case w.Bits == 4:
			return GPTQ
		}
		c.fault("quantization_config", "%s: weights of %d bits have no price; known: 4 and 8", name, w.Bits)
		return ""
	}
	switch q.Format {
	case "float-quantized":
		return FP8
	case "int-quantized":
		return INT8
	case "pack-quantized":
		return GPTQ
	case "nvfp4-pack-quantized":
		return NVFP4
	}
	c.fault("quantization_config", "compressed-tensors without config_groups: what are the weights?")
	return ""
}

package hardware

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// ParseConfig reads the shape of a model from its Hugging Face config.json, and the dtype that its weights are stored in.
// The name becomes the model's and stands in errors. Vision towers are left out: only the text model counts.
// All independent faults are reported at once, each with its key.
func ParseConfig(r io.Reader, name string) (Model, Dtype, error) {
	c, err := openConfig(r, name)
	if err != nil {
		return Model{}, "", err
	}
	f, err := familyOf(c)
	if err != nil {
		return Model{}, "", err
	}
	m := c.model(f)
	m.Dtype = c.dtype()
	if err := errors.Join(c.faults...); err != nil {
		return Model{}, "", err
	}
	return m, m.Dtype, nil
}

// openConfig reads the keys of a config.json. Multi-modal models nest their text model, whose keys then win.
func openConfig(r io.Reader, name string) (*config, error) {
	const longest = 16 << 20 // real ones have a few kilobytes
	text, err := io.ReadAll(io.LimitReader(r, longest+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > longest {
		return nil, fmt.Errorf("%s: longer than %d bytes: not a config.json", name, longest)
	}
	c := &config{name: name}
	if err := json.Unmarshal(text, &c.keys); err != nil {
		return nil, fmt.Errorf("%s: not a config.json: %w", name, err)
	}
	if c.keys == nil {
		return nil, fmt.Errorf("%s: not a config.json: null", name)
	}
	for _, nested := range []string{"text_config", "llm_config", "language_config"} {
		var inner map[string]json.RawMessage
		if c.read(nested, &inner) {
			maps.Copy(c.keys, inner)
		}
	}
	return c, nil
}

// familyOf finds the family by model_type, else by architectures.
func familyOf(c *config) (family, error) {
	var kind string
	var architectures []string
	c.read("model_type", &kind)
	c.read("architectures", &architectures)
	if err := errors.Join(c.faults...); err != nil {
		return family{}, err
	}
	var supported []string
	for _, f := range families {
		if slices.Contains(f.types, kind) || slices.ContainsFunc(architectures, func(a string) bool { return slices.Contains(f.architectures, a) }) {
			return f, nil
		}
		supported = append(supported, f.name)
	}
	offer := "supported families: " + strings.Join(supported, ", ")
	switch {
	case kind != "":
		return family{}, fmt.Errorf("%s: model_type: unknown architecture %q; %s", c.name, kind, offer)
	case len(architectures) > 0:
		return family{}, fmt.Errorf("%s: architectures: unknown architecture %q; %s", c.name, architectures[0], offer)
	}
	return family{}, fmt.Errorf("%s: model_type: missing; %s", c.name, offer)
}

// Upper limits of the numbers in a config, far above any real model: they keep every count within an int64.
const (
	mostLayers  = 1000
	mostExperts = 10_000
	mostHeads   = 1 << 13
	mostWidth   = 1 << 18
	mostTokens  = 1 << 27 // of a vocabulary, of positions
)

// model reads the shape. Where HeadDim, MaxPositions or Vocab are left out, the family's defaults hold.
func (c *config) model(f family) Model {
	m := Model{
		Name: c.name, ID: c.name, Source: "config.json",
		Layers:         c.required("num_hidden_layers", mostLayers),
		Hidden:         c.required("hidden_size", mostWidth),
		Heads:          c.required("num_attention_heads", mostHeads),
		Intermediate:   c.required("intermediate_size", mostWidth),
		Vocab:          c.number("vocab_size", f.vocab, mostTokens),
		MaxPositions:   c.number("max_position_embeddings", f.positions, mostTokens),
		TiedEmbeddings: c.flag("tie_word_embeddings", f.tied),
		Gated:          true,
		QKVBias:        f.qkvBias, QKNorm: f.qkNorm,
		NormsPerLayer: f.norms,
		MLPBias:       c.flag("mlp_bias", false),
	}
	if len(c.faults) > 0 {
		return m
	}
	m.KVHeads = c.optional("num_key_value_heads", m.Heads, mostHeads)
	if m.KVHeads > 0 && m.Heads%m.KVHeads != 0 {
		c.fault("num_key_value_heads", "must divide the %d attention heads, got %d", m.Heads, m.KVHeads)
	}
	if f.latent {
		m.MLA = c.latent()
		m.HeadDim = m.MLA.VDim
	} else {
		m.HeadDim = c.headDim(m, f.headDim)
	}
	if c.flag("attention_bias", false) && !f.latent {
		m.QKVBias, m.OutBias = true, true
	}
	if f.experts != nil {
		m.MoE = f.experts(c, m)
		if m.MoE.TopK > m.MoE.Experts {
			c.fault("num_experts_per_tok", "must not exceed the %d experts, got %d", m.MoE.Experts, m.MoE.TopK)
		}
	}
	m.Sinks = f.sinks
	if f.window != nil {
		m.Window, m.WindowLayers = f.window(c, m)
	}
	if m.Window >= m.MaxPositions || m.WindowLayers == 0 { // Phi-3 writes a window that never closes
		m.Window, m.WindowLayers = 0, 0
	}
	return m
}

// headDim reads the head size; unless it is given or the family has a default, the heads share the hidden size.
func (c *config) headDim(m Model, byFamily int) int {
	if byFamily == 0 && m.Hidden%m.Heads == 0 {
		byFamily = m.Hidden / m.Heads
	}
	return c.number("head_dim", byFamily, mostHeads)
}

// latent reads the ranks of multi-head latent attention; V2-Lite has no query compression.
func (c *config) latent() MLA {
	return MLA{
		QueryRank: c.optional("q_lora_rank", 0, mostWidth),
		KVRank:    c.required("kv_lora_rank", mostWidth),
		NopeDim:   c.required("qk_nope_head_dim", mostHeads),
		RopeDim:   c.required("qk_rope_head_dim", mostHeads),
		VDim:      c.required("v_head_dim", mostHeads),
	}
}

package hardware

import (
	"fmt"
	"slices"
	"strings"
)

// sameShape lists published models that have the shape of another one in the table.
var sameShape = []struct{ name, as string }{
	{"deepseek-r1", "deepseek-v3"},
	{"deepseek-v3.1", "deepseek-v3"},
	{"llama-3.3-70b", "llama-3.1-70b"},
}

// FindModel returns the model that a short name or a Hugging Face id stands for, and the weight dtype that its suffix
// names ("-FP8", "-AWQ", "-GPTQ-Int4", "-quantized.w8a8", …; "" when none does: the checkpoint's own, Model.Dtype). Case,
// separators, the organisation and suffixes that do not change the shape (-Instruct, -hf, -chat, -it, a date) do
// not matter, wherever they stand. The note says when another model of the same shape is taken. An unknown name is an
// *UnknownError.
func FindModel(name string) (Model, Dtype, string, error) {
	key, dtype := modelKey(name)
	all := Models()
	for _, m := range all {
		if slices.Contains(modelSpellings(m), key) {
			return m, dtype, "", nil
		}
	}
	for _, twin := range sameShape {
		if twinKey, _ := modelKey(twin.name); twinKey != key {
			continue
		}
		i := slices.IndexFunc(all, func(m Model) bool { return m.Name == twin.as })
		return all[i], dtype, fmt.Sprintf("%s has the shape of %s", twin.name, twin.as), nil
	}
	known := make([]candidate, 0, len(all))
	for _, m := range all {
		known = append(known, candidate{m.Name, modelSpellings(m)})
	}
	return Model{}, "", "", &UnknownError{Kind: "model", Name: name, Nearest: nearestNames(key, known)}
}

// modelSpellings lists the keys that lead to a model.
func modelSpellings(m Model) []string {
	short, _ := modelKey(m.Name)
	id, _ := modelKey(m.ID)
	return []string{short, id}
}

// modelKey reduces a name to what decides the shape, without separators, and takes the weight dtype out of it.
func modelKey(name string) (string, Dtype) {
	name = strings.TrimRight(name, "/ ")
	name = name[strings.LastIndexByte(name, '/')+1:]
	var (
		kept  []string
		dtype Dtype
	)
	all := words(name)
	for i, w := range all {
		t, narrow := dtypeWord(w)
		switch {
		case i == 0, i == 1 && all[0] == "meta":
			kept = append(kept, w) // the family
		case narrow && (dtype == "" || dtype == GPTQ && t == INT8): // GPTQ-Int8
			dtype = t
		case narrow, shapeless(w), i > 0 && isDtypeDetail(w, all[i-1]):
		default:
			kept = append(kept, w)
		}
	}
	if len(kept) > 1 && kept[0] == "meta" {
		kept = kept[1:]
	}
	return strings.Join(kept, ""), dtype
}

// dtypeWord reads one word of a model's name as a weight dtype.
func dtypeWord(word string) (Dtype, bool) {
	switch strings.TrimPrefix(word, "quantized.") {
	case "bf16", "bfloat16":
		return BF16, true
	case "fp16", "float16":
		return FP16, true
	case "fp8":
		return FP8, true
	case "int8", "w8a8", "w8a16":
		return INT8, true
	case "awq":
		return AWQ, true
	case "gptq", "int4", "w4a16":
		return GPTQ, true
	case "mxfp4":
		return MXFP4, true
	case "nvfp4", "fp4":
		return NVFP4, true
	}
	return "", false
}

// isDtypeDetail reports whether a word only refines the dtype before it: FP8-dynamic, FP8-block, FP8-KV, AWQ-marlin.
func isDtypeDetail(word, before string) bool {
	switch word {
	case "dynamic", "block", "kv", "marlin":
		_, ok := dtypeWord(before)
		return ok
	}
	return false
}

// shapeless reports whether a word of a model's name says nothing about its shape: how it was tuned, in what
// layout it is stored, when it was released (2507, 0528, 20240806).
func shapeless(word string) bool {
	switch word {
	case "instruct", "hf", "chat", "it", "base", "thinking":
		return true
	}
	if len(word) != 4 && len(word) != 6 && len(word) != 8 {
		return false
	}
	return strings.Trim(word, "0123456789") == ""
}

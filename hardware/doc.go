// Package hardware prices a step of an LLM serving engine: how long it takes on a given accelerator, where
// the time goes, how much memory is left for the KV cache and how much energy is spent.
//
// The model is a smoothed roofline per operator. Every constant is physical — a bandwidth, a rate, a
// latency, an overhead — and belongs to a GPU or to an engine version, never to a model or an experiment.
package hardware

// Package hardware prices a step of an LLM serving engine: how long it takes on a given accelerator, where
// the time goes, how much memory is left for the KV cache and how much energy is spent.
//
// The model is a smoothed roofline per operator. Every constant is physical — a bandwidth, a rate, a
// latency, an overhead — and belongs to a GPU or to an engine version, never to a model or an experiment.
//
// A [Step] is sums over the batch, so that its price does not grow with it. [Roofline] prices one engine's step; its method
// Together those of data-parallel ranks that share their experts; a [Drafter] adds what speculation costs, [PlanMemory] says
// what is left for KV.
package hardware

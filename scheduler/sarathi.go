package scheduler

import (
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// sarathi is stall-free batching (Agrawal et al., Taming Throughput-Latency Tradeoff in LLM Inference with
// Sarathi-Serve, OSDI 2024, algorithm 3). A step's size is chosen for the decodes: they all go first, and prompts get,
// in chunks, what they leave of the budget.
type sarathi struct {
	batcher
}

const (
	// ChunkSize is the default of Sarathi's token budget: the paper takes 512 where time per token is tight, 2048 where
	// it is not.
	ChunkSize = 512
	// tile is the rows that a matrix kernel works on at once. A step of 257 tokens took a third longer than one of 256
	// (Agrawal et al., 2023), so that budgets are whole tiles.
	tile = 128
)

// Tiled returns the budget of whole tiles that Sarathi makes of a chunk size: the largest not above it. Budgets of less
// than one tile are left alone.
func Tiled(chunk int) int {
	if chunk < tile {
		return chunk
	}
	return chunk / tile * tile
}

// Sarathi returns Sarathi-Serve's scheduler. Each step takes, in this order, all running decodes, the prompts that have
// begun, and new ones, as long as the step has fewer than `chunk` tokens. The order is one of classes. vLLM's V1 scheduler
// goes by admission, which mostly comes to the same; the difference that shows is the budget, there several times as
// large, and that here a prompt takes its memory whole when it begins, leaving the watermark. When decodes run out of
// memory the last admitted is preempted to the front of the line.
func Sarathi(l Limits, chunk int, c kvcache.Cache) Scheduler {
	l.MaxNumBatchedTokens, l.MaxNumScheduledTokens, l.LongPrefillTokenThreshold = Tiled(max(chunk, 1)), 0, 0
	s := &sarathi{batcher: newBatcher(l, c)}
	s.unbounded, s.grip = true, wholePrompt
	return s
}

// Plan serves the three classes.
func (s *sarathi) Plan(now sim.Time) *Plan {
	p := s.begin(now)
	s.decodeAll(p)
	s.serve(p, prompts)
	if len(p.Preempted) == 0 {
		s.admit(p, s)
	}
	return s.end(p)
}

// let admits the head of the line with its first chunk.
func (s *sarathi) let(p *Plan, q *Seq) bool {
	known := q.Known()
	hit := s.cache.Match(q.Tokens, int(known))
	spare := s.spare
	if s.running.n == 0 {
		spare = 0
	}
	return s.seat(p, q, hit, min(known-int32(hit.Tokens), s.budget), spare)
}

// Refuse reads only.
func (s *sarathi) Refuse(q *Seq) string {
	if r := s.tooLong(q); r != "" {
		return r
	}
	return s.tooBigInOnePiece(q.Prompt, 0)
}

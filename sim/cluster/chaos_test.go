package cluster

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim/workload"
)

// TestWhateverHappensNothingIsLost plays small random loads on small random clusters, with clients that give up, and checks
// every invariant: of the engines after each step; and when all is over, that every request has one outcome and nobody holds
// any memory.
func TestWhateverHappensNothingIsLost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		number := func(name string, from, to int) int { return rapid.IntRange(from, to).Draw(r, name) }
		maybe := func(name string) bool { return rapid.Bool().Draw(r, name) }
		span := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(r, name))
		}
		p := pair(Mode(number("mode", 0, 2)))
		p.transfer.Handover, p.transfer.Latency = span("handover", 50*time.Millisecond), span("latency", 5*time.Millisecond)
		p.transfer.Lease, p.transfer.Heartbeats = time.Millisecond+span("lease", 100*time.Millisecond), maybe("heartbeats")
		p.transfer.Sharing = Sharing(number("sharing", 0, 1))
		p.prefill, p.decode = number("prefill", 1, 3), number("decode", 1, 3)
		p.blocks = [2]int{number("blocks", 70, 400), number("blocks there", 70, 400)}
		p.bandwidth = float64(number("GB/s", 1, 50)) * 1e9
		p.async, p.caching, p.named = maybe("async"), maybe("caching"), maybe("named")
		p.transfer.Early = maybe("early")
		p.reserve, p.seats, p.budget = number("reserve", 0, 600), number("seats", 1, 20), number("budget", 20, 2000)
		p.priority, p.hop = maybe("by priority"), span("hop", 5*time.Millisecond)
		if maybe("rule") {
			p.rule = ByLength{MaxLocalPrefillLength: 500, MaxPrefillQueueSize: 2}
		}
		if maybe("lend") {
			p.hold = int64(number("above", 1, 3000))
		}
		g := build(r, p)
		at := time.Duration(0)
		for i := range number("requests", 1, 30) {
			at += span("gap", 20*time.Millisecond)
			q := workload.Request{Tokens: int32(number("prompt", 1, 1000)), Output: int32(number("output", 1, 60))}
			q.Priority = int32(number("priority", 0, 2))
			q.MaxTokens = q.Output + int32(number("more", 0, 40))
			if maybe("impatient") {
				q.Timeout = time.Millisecond + span("timeout", 200*time.Millisecond)
			}
			if q.Tokens > 64 && maybe("shared") {
				q.Prompt = kvcache.Prompt{{Label: uint64(1+i%2) << 32, Len: q.Tokens / 2}, {Label: kvcache.Private | uint64(2*i+1), Len: q.Tokens - q.Tokens/2}}
			}
			g.send(at, q)
		}
		g.run()
	})
}

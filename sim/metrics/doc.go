// Package metrics measures a run by watching its engines through their hooks, and says what it amounted to in a
// [Report]: latencies as `vllm bench serve` defines them, throughput, goodput, where the time went, and a verdict.
//
// A finished request leaves one small record, so latencies per request are exact. Gaps between tokens, of which there
// are hundreds times more, go to a histogram with the gap's number of tokens as its weight. Where time went is kept as
// running sums per engine, advanced once a step: what befell a request between two instants is the difference of two
// snapshots, and no request is touched in a step except those that compute a part of their prompt.
//
// One [Recorder] watches all engines of a run. Beside the whole the report tells apart the classes of requests, the clients,
// the replicas and, where two engines share a request, the parts of its way to the first token.
package metrics

// Package cluster is several engines behind a router.
//
// A [Cluster] is a workload.Server, as one engine is: clients do not know how many there are. Every request goes, whole,
// to one [Replica], which the [Router] picks at the instant of its arrival; from then on it is that engine's affair. All
// engines live on one kernel, so that the events of all of them are in one order.
//
// # Prefill and decode apart
//
// [Disaggregated] is a cluster of two pools, and may have two engines share a request: one computes the prompt, the other
// decodes, and the KV travels over a [Fabric]. The request is one life, at the engine that decodes; the other has a leg of it
// of which clients and their observers know nothing. How the two meet depends on the mode:
//
//	pull    prefill ─► hand-over ─► memory there ─► transfer ─► one position again ─► first token
//	push    memory there ─► prefill, transfer beside it ─► rest of the transfer ─► hand-over ─► first token
//
// KV stays where it was computed until it has been fetched. That is what holds up prefills when decoding engines are full.
//
// # What a router may know
//
// What a real one can: the request as its client sent it, never how long its answer will be; the requests and tokens it
// has under way at each replica, exactly; and what a server publishes of itself — its queue, the usage of its KV cache,
// which prefixes it holds. A router that works with old numbers takes its own snapshots.
//
// # Autoscaling
//
// With [Cluster.Scale] the number of replicas follows the load: see [Autoscale]. Routers see only those that take requests.
//
// # Ties
//
// A router that always took the first of equals would load the first replica more than the others whenever the load is
// low. So every search begins behind the replica that was picked last, and equals take turns.
package cluster

// Package cluster is several engines behind a router.
//
// A [Cluster] is a workload.Server, as one engine is: clients do not know how many there are. Every request goes, whole,
// to one [Replica], which the [Router] picks at the instant of its arrival; from then on it is that engine's affair. All
// engines live on one kernel, so that the events of all of them are in one order.
//
// # What a router may know
//
// What a real one can: the request as its client sent it, never how long its answer will be; the requests and tokens it
// has under way at each replica, exactly; and what a server publishes of itself — its queue, the usage of its KV cache,
// which prefixes it holds. A router that works with old numbers takes its own snapshots.
//
// # Ties
//
// A router that always took the first of equals would load the first replica more than the others whenever the load is
// low. So every search begins behind the replica that was picked last, and equals take turns.
package cluster

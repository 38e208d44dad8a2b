// Package workload makes what arrives: requests, arrival processes, length laws, shared prefixes, closed-loop clients
// and readers of public traces. Requests may belong to classes, clients and conversations of several turns. The package owns
// the [Request] and the [Server] that clients talk to.
//
// A [Spec] describes a workload completely; [New] checks it and returns a [Load] that can be played against a server
// on a [sim.Kernel]. Requests are made one at a time as virtual time passes, so memory follows the requests in flight
// and not the length of the run.
//
// # Open and closed
//
// An open workload sends when its arrival process or its [Trace] says so, whatever the server does. A closed one
// ([Closed]) has clients that wait for an answer before they think and send again. A limit on concurrency turns the
// one into something of the other, as in vllm bench serve: a request whose turn has come waits at the client until
// fewer than that many are under way, and its latency counts from the moment it is sent.
//
// # Streams
//
// Each purpose draws from its own random stream, by name: "arrivals", "prompt", "output", "prefix", "class". Changing
// one law leaves the draws of all others as they were.
package workload

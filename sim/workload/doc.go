// Package workload makes what arrives: requests, arrival processes, length laws, shared prefixes, closed-loop clients
// and readers of public traces. It owns the [Request] and the [Server] that clients talk to.
package workload

// Package cluster is several engines behind a router.
package cluster

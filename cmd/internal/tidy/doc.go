// Package tidy holds the house rules as tests: who may import whom, how long a file may be, what no package below cmd
// may do. It has no code of its own; run `go test ./cmd/internal/tidy` to ask whether the house is in order.
package tidy

// Package engine is one replica of a serving engine: the step loop, the life of a request, and hooks through which
// metrics and traces watch it.
package engine

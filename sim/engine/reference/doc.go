// Package reference is a serving engine written to be obviously right: no running sums, no compressed block lists, no
// event kernel, and time proportional to everything there is at every step. It gives the same answers as the fast
// engine, which random tests hold to it; who doubts a result can run this one instead.
//
// It has three parts, each a plain telling of what vLLM's V1 engine does: a paged pool with a prefix cache ([Pool]), a
// scheduler ([NewScheduler]), and the loop that plans a step, runs it and hands out its tokens ([Run]).
package reference

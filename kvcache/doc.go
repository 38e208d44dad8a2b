// Package kvcache is the paged KV memory of one engine: a pool of equal blocks, reference counts, an index of
// chained hashes that finds shared prefixes, and the order in which free blocks are overwritten.
//
// It follows the block pool of vLLM V1 (engine behaviour, main of August 2026): only full blocks are findable, at
// least one token of a prompt is always computed, blocks become findable when they are scheduled, the tail of a
// released sequence is overwritten first.
//
// Tokens never exist. A prompt is a list of labelled runs, and a block is hashed by the pieces of runs it covers, so
// that a prompt of a hundred thousand tokens costs a few multiplications. Blocks that follow each other are kept together
// as long as nobody can tell; and those that are private to one sequence are only counted, in use and afterwards.
//
// Layers that see only a window of keys have blocks of their own ([Slider]). Below a pool may lie the host's memory and
// something larger and slower, which keep copies of full blocks ([Over], [Tier]); a [Store] may be shared by several pools.
package kvcache

package workload

import "github.com/servesim/servesim/kvcache"

// A kind is a space of run labels. A label is index<<kindBits | kind, so labels of two kinds never collide, and small
// indices stay short when a label is written in hexadecimal. What only one request has is marked as private to it.
type kind uint64

const (
	uniquePrompt    kind = iota + 1 // the part of a prompt that no other request has; index: the request's ID
	answer                          // what the model generates; index: the request's ID
	groupPrefix                     // a prefix shared by a group; index: the group
	traceBlock                      // a prompt block that a trace names by its hash; index: that hash
	recurringPrompt                 // the own part of a prompt that comes round; index: the prompt
	turnPrompt                      // what a client says in a turn of a session; index: the session and what was said before
	turnAnswer                      // the answer to it; index: likewise
)

const (
	kindBits  = 3
	maxLabel  = 1<<(63-kindBits) - 1 // largest index of a label
	blockSize = 512                  // tokens in a block of a Mooncake trace
)

func (k kind) label(index uint64) uint64 {
	l := index<<kindBits | uint64(k)
	if k == uniquePrompt || k == answer {
		return l | kvcache.Private
	}
	return l
}

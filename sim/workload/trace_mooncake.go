package workload

import (
	"math"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// readMooncake reads the JSONL files of the Mooncake traces: timestamp (milliseconds), input_length, output_length, and
// hash_ids, one for each 512-token block of the prompt. Equal ids stand for equal prefixes up to there, so each becomes
// a run of its own label, and the last one may be shorter. From the first id on that occurs but once in the file, a
// prompt is its own: that is one run.
func readMooncake(in *lines, b *builder) error {
	b.trace.runs = make([]kvcache.Run, 0, in.size/idText)
	for {
		if err := readMooncakeRow(in, b); err != nil {
			return err
		}
		if !in.next() {
			joinOwn(b.trace)
			return nil
		}
	}
}

// joinOwn makes one private run of what no other prompt of the trace has.
func joinOwn(t *Trace) {
	repeated := repetitions(t.runs)
	kept := t.runs[:0] // never ahead of the runs that are still to be read
	for i := range t.rows {
		r := &t.rows[i]
		runs := t.runs[r.from : r.from+r.runs]
		from, own := len(kept), false
		for _, run := range runs {
			if own {
				kept[len(kept)-1].Len += run.Len
				continue
			}
			if own = !repeated(run.Label); own {
				run.Label |= kvcache.Private
			}
			kept = append(kept, run)
		}
		r.from, r.runs = int32(from), int32(len(kept)-from)
	}
	t.runs = kept
}

// repetitions returns a function that reports whether a label occurs more than once in the runs. The published traces number
// their blocks from 0 on: such ids are marked in a list, and only larger ones need a map.
func repetitions(runs []kvcache.Run) func(label uint64) bool {
	const once, more = 1, 2
	low, high := make([]uint8, len(runs)), map[uint64]uint8{}
	for _, run := range runs {
		if id := run.Label >> kindBits; id < uint64(len(low)) {
			low[id] = min(low[id]+once, more)
		} else {
			high[run.Label] = min(high[run.Label]+once, more)
		}
	}
	return func(label uint64) bool {
		if id := label >> kindBits; id < uint64(len(low)) {
			return low[id] == more
		}
		return high[label] == more
	}
}

func readMooncakeRow(in *lines, b *builder) error {
	var r row
	var ms []byte
	var seen [3]bool
	t := b.trace
	from := len(t.runs)
	o := object{rest: in.text}
	for o.next() {
		var err error
		switch string(o.key) {
		case "timestamp":
			ms, seen[0] = o.scalar(), true
		case "input_length":
			r.tokens, err = in.tokens("input_length", o.scalar())
			seen[1] = true
		case "output_length":
			r.output, err = in.tokens("output_length", o.scalar())
			seen[2] = true
		case "hash_ids":
			t.runs = t.runs[:from]
			err = readHashes(in, &o, t)
		default:
			o.skip()
		}
		if err != nil && !o.broken {
			return err
		}
	}
	if o.broken {
		return in.fail("", "not a JSON object: it is wrong or ends after %d of %d bytes: is the file truncated?", len(in.text)-len(o.rest), len(in.text))
	}
	for i, name := range [...]string{"timestamp", "input_length", "output_length"} {
		if !seen[i] {
			return in.fail(name, "is missing")
		}
	}
	ns, ok := decimal(ms, 6)
	if !ok || ns < 0 {
		return in.fail("timestamp", "%.40q is not a number of milliseconds", ms)
	}
	r.at = sim.Time(ns)
	if err := cutRuns(in, t, &r, from); err != nil {
		return err
	}
	b.add(in, r)
	return nil
}

// idText is about how many bytes of a file there are for each id, at least.
const idText = 8

// readHashes appends a run of a whole block for each hash.
func readHashes(in *lines, o *object, t *Trace) error {
	for o.element() {
		id, ok := o.digits()
		if !ok {
			text := o.scalar()
			if id, ok = whole(text); !ok || id < 0 || id > maxLabel {
				return in.fail("hash_ids", "%.40q is not a block's id, a whole number below 2^60", text)
			}
		}
		t.runs = append(t.runs, kvcache.Run{Label: traceBlock.label(uint64(id)), Len: blockSize})
	}
	return nil
}

// cutRuns makes the runs from `from` on the prompt of r. A prompt of which only the beginning has ids goes on with
// tokens of its own.
func cutRuns(in *lines, t *Trace, r *row, from int) error {
	n := len(t.runs) - from
	if n == 0 || r.tokens <= 0 {
		t.runs = t.runs[:from]
		return nil
	}
	spare := n*blockSize - int(r.tokens)
	switch {
	case spare >= blockSize:
		return in.fail("hash_ids", "%d ids for %d tokens: a block has %d tokens, so there should be %d",
			n, r.tokens, blockSize, (r.tokens+blockSize-1)/blockSize)
	case spare >= 0:
		t.runs[from+n-1].Len -= int32(spare)
	default:
		// Labels of own tokens count from the top here, away from those of requests without any ids.
		own := kvcache.Run{Label: uniquePrompt.label(maxLabel - uint64(from)), Len: int32(-spare)}
		t.runs = append(t.runs, own)
	}
	if len(t.runs) > math.MaxInt32 {
		return in.fail("hash_ids", "the trace has more than %d blocks: cut it into several", math.MaxInt32)
	}
	r.from, r.runs = int32(from), int32(len(t.runs)-from)
	return nil
}

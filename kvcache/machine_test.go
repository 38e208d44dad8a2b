package kvcache

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is the pool without any art: every token is spelled out, the free queue is one list as in vLLM.
type model struct {
	size    int
	content []string // by block; "": cannot be found
	since   []int    // when it was registered
	holders []int
	queue   []int // free blocks, the next to be handed out first
	tables  map[SeqID][]int
	texts   map[SeqID][]string // the content of every prefix of whole blocks
	clock   int
	evicted int64
}

func newModel(blocks, size int) *model {
	m := &model{size: size, tables: map[SeqID][]int{}, texts: map[SeqID][]string{}}
	m.content, m.since, m.holders = make([]string, blocks), make([]int, blocks), make([]int, blocks)
	for b := range blocks {
		m.queue = append(m.queue, b)
	}
	return m
}

// prefixes spells out the leading whole blocks of a prompt.
func (m *model) prefixes(p Prompt) (texts []string) {
	text, n := "", 0
	for _, r := range p {
		for j := range r.Len {
			text += fmt.Sprintf("%d.%d ", r.Label, j)
			if n++; n%m.size == 0 {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

func (m *model) match(p Prompt, tokens int) (hit []int, idle int) {
	for i, text := range m.prefixes(p) {
		if (i+1)*m.size >= tokens {
			break
		}
		found := -1
		for b, c := range m.content {
			if c == text && (found < 0 || m.since[b] < m.since[found]) {
				found = b
			}
		}
		if found < 0 {
			break
		}
		if m.holders[found] == 0 {
			idle++
		}
		hit = append(hit, found)
	}
	return hit, idle
}

func (m *model) adopt(id SeqID, p Prompt, hit []int) {
	for _, b := range hit {
		if m.holders[b]++; m.holders[b] == 1 {
			m.queue = slices.DeleteFunc(m.queue, func(q int) bool { return q == b })
		}
	}
	m.tables[id] = slices.Clone(hit)
	m.texts[id] = m.prefixes(p)
}

func (m *model) fill(id SeqID, tokens, known int) {
	for len(m.tables[id])*m.size < tokens {
		b := m.queue[0]
		m.queue = m.queue[1:]
		if m.content[b] != "" {
			m.content[b] = ""
			m.evicted++
		}
		m.holders[b] = 1
		m.tables[id] = append(m.tables[id], b)
	}
	m.know(id, min(tokens, known))
}

func (m *model) know(id SeqID, known int) {
	for i, b := range m.tables[id] {
		if (i+1)*m.size <= known && i < len(m.texts[id]) && m.content[b] == "" {
			m.clock++
			m.content[b], m.since[b] = m.texts[id][i], m.clock
		}
	}
}

func (m *model) release(id SeqID) {
	for _, b := range slices.Backward(m.tables[id]) {
		if m.holders[b]--; m.holders[b] > 0 {
			continue
		}
		if m.content[b] == "" {
			m.queue = slices.Insert(m.queue, 0, b)
		} else {
			m.queue = append(m.queue, b)
		}
	}
	delete(m.tables, id)
}

// A machine drives pool and model through random lives of sequences, some of whose runs are private. The model grows at
// once; the pool may take the blocks by number then, and give them to the sequence later.
type machine struct {
	size    int
	pool    *Pool
	model   *model
	prompts map[SeqID]Prompt // of the live sequences
	tokens  map[SeqID]int
	owed    map[SeqID][2]int // tokens and known tokens to be settled
	past    []Prompt         // of all sequences ever
}

func newMachine(t *rapid.T) *machine {
	size, blocks := rapid.IntRange(1, 5).Draw(t, "size"), rapid.IntRange(1, 40).Draw(t, "blocks")
	return &machine{
		size: size, pool: New(Config{Blocks: blocks, BlockSize: size, PrefixCaching: true}), model: newModel(blocks, size),
		prompts: map[SeqID]Prompt{}, tokens: map[SeqID]int{}, owed: map[SeqID][2]int{},
	}
}

// live draws one of the live sequences.
func (m *machine) live(t *rapid.T) SeqID {
	if len(m.tokens) == 0 {
		t.Skip("nobody lives")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.tokens))).Draw(t, "id")
}

// settled draws one of the live sequences, which has been given what it is owed.
func (m *machine) settled(t *rapid.T) SeqID {
	id := m.live(t)
	if o, ok := m.owed[id]; ok {
		m.pool.Settle(id, o[0], o[1])
		delete(m.owed, id)
	}
	return id
}

// prompt draws a prompt, new or come back, none of whose private labels is in use.
func (m *machine) prompt(t *rapid.T) (p Prompt) {
	if len(m.past) > 0 && rapid.Bool().Draw(t, "again") {
		p = rapid.SampledFrom(m.past).Draw(t, "prompt")
	} else {
		p = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Run {
			label := rapid.Uint64Range(0, 2).Draw(t, "label")
			if rapid.Bool().Draw(t, "private") {
				label |= Private
			}
			return Run{label, rapid.OneOf(rapid.Int32Range(0, 9), rapid.Int32Range(10, 40)).Draw(t, "length")}
		}), 1, 5).Draw(t, "prompt")
	}
	for _, other := range m.prompts { // order does not matter: any conflict ends the draw
		for _, r := range other {
			if r.Label&Private != 0 && slices.ContainsFunc(p, func(q Run) bool { return q.Label == r.Label }) {
				t.Skip("private to another")
			}
		}
	}
	if p.Tokens() == 0 {
		t.Skip("empty")
	}
	return p
}

func (m *machine) admit(t *rapid.T) {
	prompt := m.prompt(t)
	known := rapid.IntRange(1, prompt.Tokens()).Draw(t, "known")
	h := m.pool.Match(prompt, known)
	hit, idle := m.model.match(prompt, known)
	if h.Tokens != len(hit)*m.size || h.Idle != idle {
		t.Fatalf("hit %+v, model %d tokens, %d idle", h, len(hit)*m.size, idle)
	}
	if rapid.IntRange(0, 7).Draw(t, "ignore the hit") == 0 {
		h, hit = Hit{}, nil
	}
	n := rapid.IntRange(h.Tokens+1, known).Draw(t, "tokens")
	spare := rapid.IntRange(0, 3).Draw(t, "spare")
	id := SeqID(0)
	for m.tokens[id] > 0 {
		id++
	}
	fits := m.pool.Need(h, n)+spare <= len(m.model.queue)
	before := m.pool.Describe()
	if got := m.pool.Admit(id, prompt, h, Claim{n, known, spare}); got != fits {
		t.Fatalf("admitted %v, model %v", got, fits)
	}
	if fits {
		m.model.adopt(id, prompt, hit)
		m.model.fill(id, n, known)
		m.tokens[id], m.prompts[id] = n, prompt
		m.past = append(m.past, prompt)
	} else if after := m.pool.Describe(); after != before {
		t.Fatalf("a refused Admit changed the pool:\n%s\n%s", before, after)
	}
}

// growth draws how far a sequence grows, how much of that is known, and says whether there is room.
func (m *machine) growth(t *rapid.T, id SeqID) (n, known int, fits bool) {
	n = m.tokens[id] + rapid.IntRange(0, 6).Draw(t, "more")
	known = rapid.IntRange(m.tokens[id], n).Draw(t, "known")
	return n, known, (n+m.size-1)/m.size-len(m.model.tables[id]) <= len(m.model.queue)
}

func (m *machine) grow(t *rapid.T) {
	id := m.settled(t)
	n, known, fits := m.growth(t, id)
	before := m.pool.Describe()
	if got := m.pool.Grow(id, n, known); got != fits {
		t.Fatalf("grown %v, model %v", got, fits)
	}
	if fits {
		m.model.fill(id, n, known)
		m.tokens[id] = n
	} else if after := m.pool.Describe(); after != before {
		t.Fatalf("a refused Grow changed the pool:\n%s\n%s", before, after)
	}
}

func (m *machine) growSteadily(t *rapid.T) {
	id := m.live(t)
	if !m.pool.Plain(id) {
		t.Skip("not plain")
	}
	n, known, fits := m.growth(t, id)
	if got := m.pool.Take((n+m.size-1)/m.size - len(m.model.tables[id])); got != fits {
		t.Fatalf("taken %v, model %v", got, fits)
	}
	if fits {
		m.model.fill(id, n, known)
		m.tokens[id], m.owed[id] = n, [2]int{n, known}
	}
}

func (m *machine) know(t *rapid.T) {
	id := m.settled(t)
	known := rapid.IntRange(0, m.tokens[id]).Draw(t, "known")
	m.pool.Know(id, known)
	m.model.know(id, known)
}

func (m *machine) release(t *rapid.T) {
	id := m.settled(t)
	m.pool.Release(id)
	m.model.release(id)
	delete(m.tokens, id)
	delete(m.prompts, id)
}

func (m *machine) check(t *rapid.T) {
	if err := m.pool.Check(); err != nil {
		t.Fatalf("%v\n%s", err, m.pool.Describe())
	}
	cached := 0
	for _, b := range m.model.queue {
		if m.model.content[b] != "" {
			cached++
		}
	}
	want := Usage{Free: len(m.model.queue) - cached, Cached: cached, Held: len(m.model.holders) - len(m.model.queue), Total: len(m.model.holders)}
	if got := m.pool.Usage(); got != want {
		t.Fatalf("usage %+v, model %+v", got, want)
	}
	if got := m.pool.Counters().Evicted; got != m.model.evicted {
		t.Fatalf("%d blocks evicted, model %d", got, m.model.evicted)
	}
}

func TestPoolBehavesLikeItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"admit": m.admit, "grow": m.grow, "grow steadily": m.growSteadily, "know": m.know, "release": m.release, "": m.check,
		})
	})
}

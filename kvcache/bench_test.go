package kvcache

import "testing"

// BenchmarkGrow takes one block and registers it, in a pool where each new block overwrites an old one.
func BenchmarkGrow(b *testing.B) {
	p := New(Config{Blocks: 30_000, BlockSize: 16, PrefixCaching: true})
	label := uint64(0)
	id, tokens := SeqID(0), 1<<30
	b.ReportAllocs()
	for b.Loop() {
		if tokens >= 16_000 {
			p.Release(id)
			id, tokens = (id+1)%20, 16
			label++
			p.Release(id)
			p.Admit(id, Prompt{{label, 1 << 20}}, Hit{}, Claim{Tokens: 16, Known: 16})
		}
		tokens += 16
		p.Grow(id, tokens, tokens)
	}
}

// BenchmarkMatch looks up a prompt of 126,000 tokens: for the first time, wholly cached; and again, as the head of a
// blocked queue is.
func BenchmarkMatch(b *testing.B) {
	p := New(Config{Blocks: 30_000, BlockSize: 16, PrefixCaching: true})
	var long Prompt
	for i := range uint64(246) {
		long = append(long, Run{i + 1, 512})
	}
	p.Admit(0, long, Hit{}, Claim{Tokens: long.Tokens(), Known: long.Tokens()})
	p.Release(0)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			p.aim(nil)
			p.Match(long, long.Tokens())
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			p.Match(long, long.Tokens())
		}
	})
	b.Run("miss", func(b *testing.B) {
		fresh := Prompt{{1 << 40, 126_000}}
		for b.Loop() {
			fresh[0].Label++
			p.Match(fresh, 126_000)
		}
	})
}

// BenchmarkPrivate is the life of a request of 512 + 256 tokens that nobody shares, in a pool where each overwrites what
// an earlier one has left.
func BenchmarkPrivate(b *testing.B) {
	p := New(Config{Blocks: 10_000, BlockSize: 16, PrefixCaching: true})
	prompt := Prompt{{Private, 512}, {Private, 256}}
	id := SeqID(0)
	admit := func() {
		p.Release(id)
		prompt[0].Label++
		prompt[1].Label++
		h := p.Match(prompt, 512)
		p.Admit(id, prompt, h, Claim{Tokens: 512, Known: 512})
	}
	b.Run("settled at the end", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			id = (id + 1) % 100
			admit()
			p.Take(16)
			p.Settle(id, 768, 767)
		}
	})
	b.Run("growing block by block", func(b *testing.B) {
		for b.Loop() {
			id = (id + 1) % 100
			admit()
			for tokens := 528; tokens <= 768; tokens += 16 {
				p.Grow(id, tokens, tokens-1)
			}
		}
	})
}

// BenchmarkAdmitRelease is the life of a prompt of 16,000 tokens that others may share: one that nobody has seen, and one
// that is wholly cached. The time is that of a block.
func BenchmarkAdmitRelease(b *testing.B) {
	p := New(Config{Blocks: 500_000, BlockSize: 16, PrefixCaching: true})
	long := make(Prompt, 32)
	label := uint64(0)
	admit := func() {
		n := long.Tokens()
		h := p.Match(long, n)
		p.Admit(0, long, h, Claim{Tokens: n, Known: n})
		p.Release(0)
	}
	fresh := func() {
		for i := range long {
			label++
			long[i] = Run{label, 512}
		}
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			fresh()
			admit()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(long)*32), "ns/block")
	})
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			label = (label + 32*17) % (32 * 400) &^ 31
			fresh()
			admit()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(long)*32), "ns/block")
	})
}

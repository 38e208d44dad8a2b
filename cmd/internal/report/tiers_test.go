package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/servesim/servesim/sim/metrics"
)

func TestThePageTellsWhatEveryTierWasWorth(t *testing.T) {
	r := fixed()
	page := func() string {
		var b bytes.Buffer
		if err := Page(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if text := page(); strings.Contains(text, "host KV") || strings.Contains(text, "far KV") {
		t.Errorf("there is no tier, and the page says:\n%s", text)
	}
	host := metrics.KVOffload{QueriedTokens: 200_000, HitTokens: 50_000, LoadedBytes: 3 << 30, StoredBytes: 5 << 30}
	r.Engine.KVOffload = &host
	if text := page(); !strings.Contains(text, "host KV     25% of 200,000 tokens that the cache lacked found there; 3.00 GiB loaded, 5.00 GiB stored\n") || strings.Contains(text, "far KV") {
		t.Errorf("the host's memory on the page:\n%s", text)
	}
	host.FarHitTokens, host.FarLoadedBytes, host.FarStoredBytes = 10_000, 1<<30, 2<<30
	if text := page(); !strings.Contains(text, "far KV      20% of these tokens only in the tier below; 1.00 GiB loaded from it, 2.00 GiB stored\n") {
		t.Errorf("the tier below on the page:\n%s", text)
	}
}

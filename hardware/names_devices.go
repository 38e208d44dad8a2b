package hardware

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// FindDevice returns the device that a name stands for. Case, underscores, spaces, the vendor and the memory's kind do not
// matter; a memory size ("-80GB") only picks between variants. A name that leaves the variant open ("H100") means
// the first of them in the table, the common one, and the note says so. An unknown name is an *UnknownError.
func FindDevice(name string) (Device, string, error) {
	key, memory := deviceKey(name)
	var fitting []Device
	for _, d := range Devices() {
		if strings.EqualFold(d.Name, strings.TrimSpace(name)) {
			return d, "", nil
		}
		if slices.Contains(deviceSpellings(d.Name), key) && sizeFits(d, memory) {
			fitting = append(fitting, d)
		}
	}
	switch len(fitting) {
	case 0:
		return Device{}, "", unknownDevice(name, key)
	case 1:
		return fitting[0], "", nil
	}
	others := make([]string, 0, len(fitting)-1)
	for _, d := range fitting[1:] {
		others = append(others, d.Name)
	}
	note := fmt.Sprintf("%s is taken as %s, the common variant; others: %s", name, fitting[0].Name, strings.Join(others, ", "))
	return fitting[0], note, nil
}

// deviceKey reduces a name to what identifies the card, without separators, and a memory size in GB (0: none given).
func deviceKey(name string) (key string, memory float64) {
	var kept []string
	for _, w := range words(name) {
		if gb, ok := gigabytes(w); ok {
			memory = gb
			continue
		}
		switch w {
		case "nvidia", "amd", "intel", "geforce", "tesla", "instinct", "hpu", "oam", "gpu", "graphics",
			"blackwell", "generation", "edition", "hbm2", "hbm2e", "hbm3", "hbm3e", "gddr6", "gddr6x", "gddr7":
			continue
		}
		kept = append(kept, plainSXM(w))
	}
	return strings.Join(kept, ""), memory
}

// gigabytes reads "80g", "80gb" or "80gib".
func gigabytes(word string) (float64, bool) {
	for _, unit := range []string{"gib", "gb", "g"} {
		if digits, ok := strings.CutSuffix(word, unit); ok {
			n, err := strconv.ParseUint(digits, 10, 16)
			return float64(n), err == nil
		}
	}
	return 0, false
}

// plainSXM drops the socket's generation: SXM2, SXM4 and SXM5 are all SXM.
func plainSXM(word string) string {
	if rest, ok := strings.CutPrefix(word, "sxm"); ok && len(rest) == 1 && rest[0] >= '0' && rest[0] <= '9' {
		return "sxm"
	}
	return word
}

// deviceSpellings lists the keys that lead to a device: its name, less the memory, cut after any word once the model number
// is in it ("rtxpro6000" for rtx-pro-6000-server), with and without a leading "rtx".
func deviceSpellings(name string) []string {
	var keys []string
	var key strings.Builder
	for _, w := range words(name) {
		if _, ok := gigabytes(w); ok {
			continue
		}
		key.WriteString(plainSXM(w))
		if strings.ContainsAny(key.String(), "0123456789") {
			keys = append(keys, key.String())
			if short, ok := strings.CutPrefix(key.String(), "rtx"); ok {
				keys = append(keys, short)
			}
		}
	}
	return keys
}

// sizeFits reports whether a device is sold with about the given GB of memory; drivers report up to 8 % less than that.
func sizeFits(d Device, gb float64) bool {
	return gb == 0 || math.Abs(float64(d.Memory)/(1<<30)/gb-1) < 0.08
}

func unknownDevice(name, key string) error {
	known := make([]candidate, 0, len(datasheets))
	for _, d := range datasheets {
		known = append(known, candidate{d.Name, append(deviceSpellings(d.Name), words(d.Name)[0])})
	}
	return &UnknownError{Kind: "GPU", Name: name, Nearest: nearestNames(key, known)}
}

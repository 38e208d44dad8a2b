package hardware

// Kernel generations that KernelsOf knows.
const (
	Newest    = "default" // kernels of 2025 and later: vLLM 0.14 to 0.24, FlashAttention 2 and 3, FlashInfer
	Vidur2024 = "vidur"   // kernels of early 2024, as the profiles of Vidur (Agrawal et al., MLSys 2024) hold them
)

// fit is one row of fitted kernels. What a row leaves at zero, complete fills by rule.
type fit struct {
	device, generation, status string
	kernels                    Kernels
}

// fits holds the kernel parameters per card. They were fitted on operator benchmarks that aiconfigurator (NVIDIA), Vidur (Microsoft)
// and InferSim (Alibaba) publish, with the data sheet's peaks as reference; a fraction only has a
// meaning together with its peak. Errors are cross-validated.
var fits = []fit{
	{
		device: "h100-sxm", generation: Newest, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.795, Memory: 0.857, T0: 3.7 * us, P: 3.2},
			GEMMFP8:      Ramp{Compute: 0.69, Memory: 0.88, T0: 5 * us, P: 1.8},
			MoE:          Ramp{Compute: 0.53, Memory: 0.886, T0: 28 * us, P: 2.25},
			DecodeMemory: 0.896, DecodeMemoryFP8: 0.8, DecodeT0: 9.7 * us, DecodeTau: 1.87 * us,
			PrefillCompute: 0.75, PrefillT0: 10.8 * us, PrefillL0: 886, PrefillHead64: 0.72,
			ElementMemory: 0.6, ElementT0: 1.5 * us,
			OneShotAlpha: 4.5 * us, OneShotFraction: 0.594, TwoShotAlpha: 8.8 * us, TwoShotFraction: 0.708,
			IdleWatts: 120, JoulesPerFLOP: 0.62 * pico, JoulesPerByte: 78 * pico,
			Errors: KernelErrors{GEMM: 0.048, GEMMFP8: 0.084, Decode: 0.032, Prefill: 0.052},
			Source: "aiconfigurator, vLLM 0.19; FP8 GEMM as served, with quantisation fused into its neighbours; energy of the H200",
		},
	},
	{
		device: "h200-sxm", generation: Newest, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.79, Memory: 0.852, T0: 4.4 * us, P: 3.2},
			GEMMFP8:      Ramp{Compute: 0.69, Memory: 0.88, T0: 5 * us, P: 1.8},
			MoE:          Ramp{Compute: 0.58, Memory: 0.897, T0: 30 * us, P: 2.1},
			DecodeMemory: 0.892, DecodeMemoryFP8: 0.63, DecodeT0: 8.7 * us, DecodeTau: 2.24 * us,
			PrefillCompute: 0.7, PrefillT0: 9.9 * us, PrefillL0: 772, PrefillHead64: 0.73,
			ElementMemory: 0.6, ElementT0: 1.5 * us,
			OneShotAlpha: 4.5 * us, OneShotFraction: 0.59, TwoShotAlpha: 8.2 * us, TwoShotFraction: 0.718,
			IdleWatts: 120, JoulesPerFLOP: 0.62 * pico, JoulesPerByte: 78 * pico,
			Errors: KernelErrors{GEMM: 0.065, GEMMFP8: 0.109, Decode: 0.033, Prefill: 0.066},
			Source: "aiconfigurator, vLLM 0.19 to 0.24; FP8 GEMM as served, with quantisation fused into its neighbours",
		},
	},
	{
		device: "a100-sxm-80g", generation: Newest, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.85, Memory: 0.755, T0: 5.9 * us, P: 1.65},
			MoE:          Ramp{Compute: 0.4, Memory: 0.93, T0: 46 * us, P: 1},
			DecodeMemory: 0.725, DecodeT0: 17.9 * us, DecodeTau: 1.26 * us,
			PrefillCompute: 0.577, PrefillT0: 11.3 * us, PrefillL0: 573, PrefillHead64: 0.9,
			ElementMemory: 0.5, ElementT0: 2 * us,
			OneShotAlpha: 5.2 * us, OneShotFraction: 0.566, TwoShotAlpha: 8.5 * us, TwoShotFraction: 0.607,
			TwoShotPerGPU: 0.84 * us,
			IdleWatts:     70, JoulesPerFLOP: 0.75 * pico, JoulesPerByte: 95 * pico,
			Errors: KernelErrors{GEMM: 0.065, Decode: 0.081, Prefill: 0.111},
			Source: "aiconfigurator, vLLM 0.14; energy assumed",
		},
	},
	{
		device: "a100-sxm-80g", generation: Vidur2024, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.743, Memory: 0.825, T0: 5.4 * us, P: 1.41},
			DecodeMemory: 0.778, DecodeT0: 15.6 * us, DecodeTau: 0.14 * us,
			PrefillCompute: 0.419, PrefillT0: 4.8 * us, PrefillL0: 2187, PrefillHead64: 0.9,
			ElementMemory: 0.45, ElementT0: 2.2 * us,
			Errors: KernelErrors{GEMM: 0.048, Decode: 0.086, Prefill: 0.101},
			Source: "Vidur FP16 profiles of early 2024",
		},
	},
	{
		device: "h100-sxm", generation: Vidur2024, status: Measured,
		kernels: Kernels{
			GEMM:          Ramp{Compute: 0.744, Memory: 0.943, T0: 5.7 * us, P: 1.44},
			PrefillHead64: 0.9,
			ElementMemory: 0.52, ElementT0: 2 * us,
			Errors: KernelErrors{GEMM: 0.07},
			Source: "Vidur FP16 profiles of early 2024",
		},
	},
	{
		device: "a40", generation: Newest, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.777, Memory: 0.793, T0: 3.7 * us, P: 1.66},
			MoE:          Ramp{Compute: 0.37, Memory: 0.8, T0: 30 * us, P: 1.5},
			DecodeMemory: 0.78, DecodeT0: 12 * us, DecodeTau: 1 * us,
			PrefillCompute: 0.5, PrefillT0: 8 * us, PrefillL0: 350, PrefillHead64: 0.9,
			ElementMemory: 0.75, ElementT0: 1.5 * us,
			OneShotAlpha: 8 * us, OneShotFraction: 0.5, TwoShotAlpha: 15 * us, TwoShotFraction: 0.5,
			IdleWatts: 30, JoulesPerFLOP: 0.9 * pico, JoulesPerByte: 110 * pico,
			Errors: KernelErrors{GEMM: 0.052},
			Source: "Vidur FP16 profiles for GEMM and element-wise kernels; attention, MoE, all-reduce and energy assumed between L40S and A100",
		},
	},
	{
		device: "l40s", generation: Newest, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.66, Memory: 0.763, T0: 0.5 * us, P: 2.4},
			GEMMFP8:      Ramp{Compute: 0.55, Memory: 0.7, T0: 2 * us, P: 1.9},
			MoE:          Ramp{Compute: 0.37, Memory: 0.85, T0: 10 * us, P: 1.2},
			DecodeMemory: 0.81, DecodeMemoryFP8: 0.8, DecodeT0: 10.7 * us, DecodeTau: 0.5 * us,
			PrefillCompute: 0.51, PrefillT0: 7.3 * us, PrefillL0: 365, PrefillHead64: 0.93,
			ElementMemory: 0.75, ElementT0: 1.5 * us,
			OneShotAlpha: 5 * us, OneShotFraction: 0.6, TwoShotAlpha: 5 * us, TwoShotFraction: 0.6,
			Ring: []RingPoint{
				{GPUs: 2, Alpha: 5.2 * us, Bandwidth: 19.2 * giga},
				{GPUs: 4, Alpha: 13.3 * us, Bandwidth: 3.7 * giga},
				{GPUs: 8, Alpha: 25 * us, Bandwidth: 2.0 * giga},
			},
			IdleWatts: 35, JoulesPerFLOP: 0.5 * pico, JoulesPerByte: 110 * pico,
			Errors: KernelErrors{GEMM: 0.07, GEMMFP8: 0.066, Decode: 0.07, Prefill: 0.098},
			Source: "aiconfigurator, vLLM 0.14 and 0.24; all-reduce of one host without peer access",
		},
	},
	{
		device: "b200-sxm", generation: Newest, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.715, Memory: 0.808, T0: 4.1 * us, P: 2.6},
			GEMMFP8:      Ramp{Compute: 0.69, Memory: 0.77, T0: 8 * us, P: 1.8},
			MoE:          Ramp{Compute: 0.454, Memory: 0.8, T0: 39 * us, P: 1.5},
			DecodeMemory: 0.896, DecodeMemoryFP8: 0.91, DecodeT0: 6.9 * us, DecodeTau: 0.2 * us,
			PrefillCompute: 0.61, PrefillT0: 10 * us, PrefillL0: 844, PrefillHead64: 0.9,
			ElementMemory: 0.6, ElementT0: 1.5 * us,
			OneShotAlpha: 7 * us, OneShotFraction: 0.19, TwoShotAlpha: 18.3 * us, TwoShotFraction: 0.64,
			IdleWatts: 290, JoulesPerFLOP: 0.45 * pico, JoulesPerByte: 59 * pico,
			Errors: KernelErrors{GEMM: 0.054, GEMMFP8: 0.044, Decode: 0.024, Prefill: 0.138},
			Source: "aiconfigurator, vLLM 0.19 and 0.24; FP8 GEMM of TensorRT-LLM",
		},
	},
	{
		device: "gb200", generation: Newest, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.733, Memory: 0.816, T0: 3.8 * us, P: 2.25},
			GEMMFP8:      Ramp{Compute: 0.67, Memory: 0.82, T0: 8 * us, P: 1.8},
			MoE:          Ramp{Compute: 0.45, Memory: 0.8, T0: 39 * us, P: 1.5},
			DecodeMemory: 0.9, DecodeMemoryFP8: 0.91, DecodeT0: 6.9 * us, DecodeTau: 0.2 * us,
			PrefillCompute: 0.58, PrefillT0: 10 * us, PrefillL0: 844, PrefillHead64: 0.9,
			ElementMemory: 0.6, ElementT0: 1.5 * us,
			OneShotAlpha: 7 * us, OneShotFraction: 0.2, TwoShotAlpha: 18 * us, TwoShotFraction: 0.65,
			IdleWatts: 270, JoulesPerFLOP: 0.5 * pico, JoulesPerByte: 55 * pico,
			Errors: KernelErrors{GEMM: 0.069, GEMMFP8: 0.04},
			Source: "aiconfigurator for GEMM; attention and MoE of the B200",
		},
	},
	{
		device: "rtx-pro-6000-server", generation: Newest, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.9, Memory: 0.937, T0: 5.3 * us, P: 1.33},
			GEMMFP8:      Ramp{Compute: 0.92, Memory: 0.94, T0: 5.3 * us, P: 1.65},
			MoE:          Ramp{Compute: 0.45, Memory: 0.88, T0: 25 * us, P: 1.5},
			DecodeMemory: 0.92, DecodeMemoryFP8: 0.9, DecodeT0: 12 * us,
			PrefillCompute: 0.62, PrefillT0: 6.9 * us, PrefillL0: 427, PrefillHead64: 0.9,
			ElementMemory: 0.8, ElementT0: 1.5 * us,
			OneShotAlpha: 10 * us, OneShotFraction: 0.3, TwoShotAlpha: 20 * us, TwoShotFraction: 0.4,
			IdleWatts: 60, JoulesPerFLOP: 0.55 * pico, JoulesPerByte: 80 * pico,
			Errors: KernelErrors{GEMM: 0.083, GEMMFP8: 0.036, Decode: 0.048, Prefill: 0.074},
			Source: "aiconfigurator, vLLM 0.19 and 0.24, relative to 1.597 TB/s; all-reduce and energy assumed",
		},
	},
	{
		device: "h20-sxm", generation: Newest, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.9, Memory: 0.8, T0: 4.4 * us, P: 4},
			GEMMFP8:      Ramp{Compute: 0.9, Memory: 0.8, T0: 4.4 * us, P: 4},
			MoE:          Ramp{Compute: 0.8, Memory: 0.85, T0: 28 * us, P: 2.2},
			DecodeMemory: 0.72, DecodeMemoryFP8: 0.49, DecodeT0: 10 * us, DecodeTau: 1.5 * us,
			PrefillCompute: 0.95, PrefillT0: 12 * us, PrefillL0: 850, PrefillHead64: 0.9,
			ElementMemory: 0.6, ElementT0: 1.5 * us,
			OneShotAlpha: 4.5 * us, OneShotFraction: 0.59, TwoShotAlpha: 8.8 * us, TwoShotFraction: 0.71,
			IdleWatts: 90, JoulesPerFLOP: 0.6 * pico, JoulesPerByte: 80 * pico,
			Errors: KernelErrors{GEMMFP8: 0.041},
			Source: "InferSim (DeepGEMM, FlashAttention-3, FlashInfer) for FP8 GEMM and attention; BF16 GEMM assumed equal to FP8, the rest of the H100",
		},
	},
	{
		device: "h800-sxm", generation: Newest, status: Measured,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.795, Memory: 0.857, T0: 3.7 * us, P: 3.2},
			GEMMFP8:      Ramp{Compute: 0.72, Memory: 0.89, T0: 6 * us, P: 2.5},
			MoE:          Ramp{Compute: 0.53, Memory: 0.886, T0: 28 * us, P: 2.25},
			DecodeMemory: 0.906, DecodeMemoryFP8: 0.8, DecodeT0: 10 * us, DecodeTau: 1.9 * us,
			PrefillCompute: 0.75, PrefillT0: 11 * us, PrefillL0: 886, PrefillHead64: 0.72,
			ElementMemory: 0.6, ElementT0: 1.5 * us,
			OneShotAlpha: 4.5 * us, OneShotFraction: 0.59, TwoShotAlpha: 8.8 * us, TwoShotFraction: 0.71,
			IdleWatts: 120, JoulesPerFLOP: 0.62 * pico, JoulesPerByte: 78 * pico,
			Errors: KernelErrors{GEMMFP8: 0.068},
			Source: "InferSim for FP8 GEMM and attention; the rest of the H100",
		},
	},
	{
		device: "h100-pcie", generation: Newest, status: Assumed,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.65, Memory: 0.85, T0: 3.7 * us, P: 3},
			GEMMFP8:      Ramp{Compute: 0.58, Memory: 0.86, T0: 5 * us, P: 1.8},
			MoE:          Ramp{Compute: 0.45, Memory: 0.88, T0: 28 * us, P: 2.2},
			DecodeMemory: 0.89, DecodeMemoryFP8: 0.8, DecodeT0: 9.7 * us, DecodeTau: 1.9 * us,
			PrefillCompute: 0.62, PrefillT0: 11 * us, PrefillL0: 850, PrefillHead64: 0.75,
			ElementMemory: 0.6, ElementT0: 1.5 * us,
			OneShotAlpha: 8 * us, OneShotFraction: 0.5, TwoShotAlpha: 15 * us, TwoShotFraction: 0.6,
			IdleWatts: 60, JoulesPerFLOP: 0.6 * pico, JoulesPerByte: 78 * pico,
			Source: "H100 SXM, compute derated for 350 W",
		},
	},
	{
		device: "h100-nvl", generation: Newest, status: Assumed,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.68, Memory: 0.85, T0: 3.7 * us, P: 3},
			GEMMFP8:      Ramp{Compute: 0.6, Memory: 0.86, T0: 5 * us, P: 1.8},
			MoE:          Ramp{Compute: 0.47, Memory: 0.88, T0: 28 * us, P: 2.2},
			DecodeMemory: 0.89, DecodeMemoryFP8: 0.75, DecodeT0: 9.7 * us, DecodeTau: 1.9 * us,
			PrefillCompute: 0.65, PrefillT0: 11 * us, PrefillL0: 850, PrefillHead64: 0.75,
			ElementMemory: 0.6, ElementT0: 1.5 * us,
			OneShotAlpha: 6 * us, OneShotFraction: 0.5, TwoShotAlpha: 12 * us, TwoShotFraction: 0.6,
			IdleWatts: 70, JoulesPerFLOP: 0.6 * pico, JoulesPerByte: 78 * pico,
			Source: "H100 SXM, compute derated for 400 W",
		},
	},
	{
		device: "l4", generation: Newest, status: Assumed,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.5, Memory: 0.76, T0: 2 * us, P: 2.4},
			GEMMFP8:      Ramp{Compute: 0.45, Memory: 0.7, T0: 3 * us, P: 1.9},
			MoE:          Ramp{Compute: 0.33, Memory: 0.82, T0: 15 * us, P: 1.3},
			DecodeMemory: 0.8, DecodeMemoryFP8: 0.8, DecodeT0: 11 * us, DecodeTau: 0.6 * us,
			PrefillCompute: 0.42, PrefillT0: 8 * us, PrefillL0: 365, PrefillHead64: 0.93,
			ElementMemory: 0.75, ElementT0: 1.5 * us,
			OneShotAlpha: 10 * us, OneShotFraction: 0.3, TwoShotAlpha: 20 * us, TwoShotFraction: 0.3,
			IdleWatts: 16, JoulesPerFLOP: 0.45 * pico, JoulesPerByte: 110 * pico,
			Source: "L40S, compute derated for 72 W",
		},
	},
	{
		device: "a10g", generation: Newest, status: Assumed,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.8, Memory: 0.78, T0: 4 * us, P: 1.7},
			MoE:          Ramp{Compute: 0.45, Memory: 0.8, T0: 30 * us, P: 1.3},
			DecodeMemory: 0.78, DecodeT0: 13 * us, DecodeTau: 1 * us,
			PrefillCompute: 0.6, PrefillT0: 9 * us, PrefillL0: 400, PrefillHead64: 0.9,
			ElementMemory: 0.75, ElementT0: 1.5 * us,
			OneShotAlpha: 10 * us, OneShotFraction: 0.3, TwoShotAlpha: 20 * us, TwoShotFraction: 0.3,
			IdleWatts: 25, JoulesPerFLOP: 1.2 * pico, JoulesPerByte: 110 * pico,
			Source: "A40; its nominal rate is low, so more of it is reached",
		},
	},
	{
		device: "a10", generation: Newest, status: Assumed,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.6, Memory: 0.78, T0: 4 * us, P: 1.7},
			MoE:          Ramp{Compute: 0.36, Memory: 0.8, T0: 30 * us, P: 1.3},
			DecodeMemory: 0.78, DecodeT0: 13 * us, DecodeTau: 1 * us,
			PrefillCompute: 0.42, PrefillT0: 9 * us, PrefillL0: 400, PrefillHead64: 0.9,
			ElementMemory: 0.75, ElementT0: 1.5 * us,
			OneShotAlpha: 10 * us, OneShotFraction: 0.3, TwoShotAlpha: 20 * us, TwoShotFraction: 0.3,
			IdleWatts: 20, JoulesPerFLOP: 0.9 * pico, JoulesPerByte: 110 * pico,
			Source: "A40, compute derated for 150 W",
		},
	},
	{
		device: "rtx-4090", generation: Newest, status: Assumed,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.9, Memory: 0.88, T0: 3 * us, P: 2},
			GEMMFP8:      Ramp{Compute: 0.8, Memory: 0.85, T0: 4 * us, P: 2},
			MoE:          Ramp{Compute: 0.5, Memory: 0.88, T0: 15 * us, P: 1.5},
			DecodeMemory: 0.88, DecodeMemoryFP8: 0.85, DecodeT0: 11 * us, DecodeTau: 0.5 * us,
			PrefillCompute: 0.75, PrefillT0: 8 * us, PrefillL0: 365, PrefillHead64: 0.9,
			ElementMemory: 0.8, ElementT0: 1.5 * us,
			OneShotAlpha: 15 * us, OneShotFraction: 0.3, TwoShotAlpha: 30 * us, TwoShotFraction: 0.3,
			IdleWatts: 20, JoulesPerFLOP: 0.9 * pico, JoulesPerByte: 90 * pico,
			Source: "L40S; its nominal rate (FP32 accumulation) is low, so more of it is reached",
		},
	},
	{
		device: "mi300x", generation: Newest, status: Assumed,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.5, Memory: 0.75, T0: 8 * us, P: 2},
			GEMMFP8:      Ramp{Compute: 0.42, Memory: 0.72, T0: 10 * us, P: 2},
			MoE:          Ramp{Compute: 0.35, Memory: 0.7, T0: 60 * us, P: 1.5},
			DecodeMemory: 0.72, DecodeMemoryFP8: 0.6, DecodeT0: 20 * us, DecodeTau: 2 * us,
			PrefillCompute: 0.4, PrefillT0: 20 * us, PrefillL0: 900, PrefillHead64: 0.9,
			ElementMemory: 0.55, ElementT0: 3 * us,
			OneShotAlpha: 12 * us, OneShotFraction: 0.35, TwoShotAlpha: 25 * us, TwoShotFraction: 0.55,
			IdleWatts: 140, JoulesPerFLOP: 0.75 * pico, JoulesPerByte: 85 * pico,
			Source: "public reports of 600 to 700 TFLOPS BF16 and 4.0 to 4.3 TB/s",
		},
	},
	{
		device: "b300-sxm", generation: Newest, status: Assumed,
		kernels: Kernels{
			GEMM:         Ramp{Compute: 0.715, Memory: 0.808, T0: 4.1 * us, P: 2.6},
			GEMMFP8:      Ramp{Compute: 0.69, Memory: 0.77, T0: 8 * us, P: 1.8},
			MoE:          Ramp{Compute: 0.454, Memory: 0.8, T0: 39 * us, P: 1.5},
			DecodeMemory: 0.896, DecodeMemoryFP8: 0.91, DecodeT0: 6.9 * us, DecodeTau: 0.2 * us,
			PrefillCompute: 0.65, PrefillT0: 10 * us, PrefillL0: 844, PrefillHead64: 0.9,
			ElementMemory: 0.6, ElementT0: 1.5 * us,
			OneShotAlpha: 7 * us, OneShotFraction: 0.19, TwoShotAlpha: 18 * us, TwoShotFraction: 0.64,
			IdleWatts: 300, JoulesPerFLOP: 0.45 * pico, JoulesPerByte: 59 * pico,
			Source: "B200",
		},
	},
}

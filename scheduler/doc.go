// Package scheduler decides who runs next. A [Scheduler] returns a [Plan]; the engine executes it and reports back
// with Done. Nothing here knows how long an answer will turn out to be, nor, but for orders that are given a cost model, how
// long a step takes.
//
// # One mechanism
//
// What all policies share is written once, in the batcher: who runs and who waits, what a step has spent (batcher.go),
// plans that are used again (folder.go), tokens as blocks (blocks.go),
// how sequences grow, are admitted and lose their memory (memory.go, swap.go), who comes first (order.go), what is set
// aside for those who run (reserve.go), decodes before prompts (classes.go), prompts in one piece (whole.go), drafts
// (speculate.go), and decoding without naming anybody (cohort.go, phases.go, coast.go). A policy is a file of its own that puts these together:
//
//	name        paper or engine                                       file                   a step
//	static      FasterTransformer 2019, Triton's dynamic batcher      static.go, collect.go  a batch from its prompts to its longest answer
//	orca        Orca (Yu et al., OSDI 2022)                           orca.go                everybody, whole prompts beside decodes
//	continuous  vLLM V0 (Kwon et al., SOSP 2023; release 0.9.2)       continuous.go          whole prompts, or else decodes
//	sarathi     Sarathi-Serve (Agrawal et al., OSDI 2024)             sarathi.go             decodes, and chunks in what they leave of it
//	chunked     vLLM V1 (release 0.27)                                chunked.go, load.go    one budget, handed out in order of admission
//	sglang      SGLang (Zheng et al., NeurIPS 2024; release 0.5)      sglang.go, retract.go, lpm.go  prompts in chunks, or else decodes
//	trtllm      TensorRT-LLM (its documentation and source)           trtllm.go              decodes, and prompts beside them
//
// They differ in few things, and each can be told apart by a small example (see the tests, and the step logs of cmd/servesim):
//
//	            prompts      beside decodes  kept for answers   taken at admission  out of memory
//	static      padded       never           max_tokens         all of it           cannot be
//	orca        whole        yes             max_tokens         all of it           cannot be
//	continuous  whole        never           nothing            the prompt          the last goes to the front, or to the host
//	sarathi     chunks       yes             nothing            the prompt          the last goes to the front
//	chunked     chunks       yes             nothing            the first chunk     the last goes to the front
//	sglang      chunks       if asked        a share of it      the first chunk     who has generated least goes to the end
//	trtllm      either       yes             max_tokens         the prompt          cannot be
//	  max-utilization        yes             nothing            the prompt          the last goes to the front
//
// Reservation is one axis, counted against max_tokens and never against the length of an answer, which nobody here knows:
// none admits most and preempts, full never preempts and leaves memory idle, SGLang's share lies between.
//
// # Who goes first
//
// Under each of them the waiting line is kept by an [Order], which also says who loses its memory first:
//
//	order     paper                                                    file               takes seats  plans name everybody
//	fcfs      (first come, first served)                               order.go           no           no
//	priority  vLLM                                                     order.go           no           no
//	lcfs      Harchol-Balter 2013                                      lcfs.go            no           no
//	sjf       Fu et al., NeurIPS 2024                                  sjf.go             no           no
//	srpt      Schrage 1968; TRAIL (Shahout et al., ICLR 2025)          srpt.go            yes          yes
//	mlfq      FastServe (Wu et al., 2023)                              mlfq.go            yes          yes
//	fair      VTC (Sheng et al., OSDI 2024)                            fair.go, fair_line.go  no       yes
//	edf       Liu and Layland 1973                                     edf.go             no           no
//	slo       Mok 1983; Niyama (Goel et al., 2025)                     slo.go, paced.go   no           only to size chunks
//
// Those that take seats (oust.go) do so only from sequences that have got a token since they were last admitted, and only
// where nothing is promised to them: not under orca, static, and trtllm without max-utilization. An order from outside needs
// a comparison, and is a value of [Limits]: see the example of [Order].
//
// # Several schedulers, one engine
//
// [Lockstep] makes one scheduler of the data-parallel ranks of a mixture of experts: each has a policy and a pool of its own,
// and a plan is those of all of them (lockstep.go; balance.go says which rank a request joins). A [Holder] can keep the KV of
// a prompt for another engine that decodes it, and chunked can wait for KV that another has computed (remote.go).
//
// # Another policy
//
// A built-in one is a file here and a line of [Policies]; which of the settings act under it is said in scenarios. From
// outside any value that implements [Scheduler] can be given to an engine: see the example of package engine, and that of
// Options in package scenarios for one that wraps a built-in policy.
//
// # What is left out
//
// chunked, sglang and trtllm may plan a step before the outputs of the one before are known, as their engines do
// (asynchronous scheduling; SGLang and TensorRT-LLM call it overlap). The others are run synchronously, as theirs were. Orca's and
// static batching's memory is one contiguous piece for each sequence: nobody can share it, and the holes that such an
// allocator leaves between pieces are not modelled. Loads from host memory belong to chunked, swapping to continuous.
package scheduler

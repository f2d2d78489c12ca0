/* SPDX-License-Identifier: MIT */
/* What a ticker tells, as a trace that holds nothing else: processes, threads, call paths, ticks, and the memory of processes beside
 * them. Times of the ticker are those of CLOCK_MONOTONIC; the trace's begin at start_ns.
 * Call order: new → (ticker calls) → sample, end_slice … → finish. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "tick/ticker.h"
#include "trace/model.h"

struct cpu_trace;
struct trace_writer;

/* It lives as long as the recorder. The writer is borrowed. args: of the process `target`, whose command is known before it runs. */
int cpu_trace_new(struct trace_writer *w, uint64_t start_ns, pid_t target, const char *const *args,
                  uint32_t n_args, struct cpu_trace **ret);

void cpu_trace_calls(struct cpu_trace *c, struct ticker_calls *ret);

/* How the target ended, as wait says; < 0: nobody knows. Its end is written when both this and its end were told. */
void cpu_trace_target_ended(struct cpu_trace *c, int wait_status, uint64_t max_rss_bytes);
void cpu_trace_sample(struct cpu_trace *c, uint64_t now_ns); /* memory of the processes that live */
void cpu_trace_end_slice(struct cpu_trace *c, uint64_t now_ns);
void cpu_trace_note(struct cpu_trace *c, uint64_t now_ns, const char *text);
void cpu_trace_finish(struct cpu_trace *c, uint64_t now_ns);

uint32_t cpu_trace_n_living(const struct cpu_trace *c);
/* CPU time of all by the kernel's own count, up to when each was last asked. */
uint64_t cpu_trace_known_ns(const struct cpu_trace *c);
uint64_t cpu_trace_n_threads(const struct cpu_trace *c); /* that there were */
uint32_t cpu_trace_n_processes(const struct cpu_trace *c);

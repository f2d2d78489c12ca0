/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_WALK_PROBE_H
#define SILT_UNWIND_WALK_PROBE_H

/* For stress programs in C++ and Rust: at each probe the remembered walk of the calling thread is
 * compared with a plain walk, and now and then with libgcc's. The first difference is described and
 * ends the process with status 1. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void walk_probe_init(uint64_t n_stacks); /* how many probes walk_probe_left counts down */
void walk_probe_thread_begin(void);      /* before a thread's first probe */
void walk_probe_thread_end(void);        /* after its last */
void walk_probe(void);                   /* stands where an allocator's hook stands */
int64_t walk_probe_left(void);           /* may fall below 0 */
int walk_probe_is_inside(void);          /* for signal handlers: a probe was interrupted */
void walk_probe_print_all(void);         /* the counts */

/* From now on this thread's stacks are not compared with libgcc's: it believes CFI that is wrong
 * where an arbitrary instruction was interrupted. */
void walk_probe_set_libgcc(int is_oracle);

#ifdef __cplusplus
}
#endif

#endif

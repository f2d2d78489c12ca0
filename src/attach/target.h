/* SPDX-License-Identifier: MIT */
/* The process that is attached to, seen from outside: its mappings, its memory, what its files export. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "patch/maps.h"

struct target {
        pid_t pid;
        int mem_fd; /* /proc/PID/mem; owned */
        struct maps maps;
        char exe[4096]; /* its program's path, as it says */
        char name[64];  /* what the kernel calls it */
};

int target_open(struct target *t, pid_t pid, struct err *reterr);
void target_close(struct target *t);

/* Its mappings are read again. */
int target_refresh(struct target *t, struct err *reterr);

/* True when all of it was there. */
bool target_read(const struct target *t, uint64_t addr, void *ret, size_t n_bytes);
size_t target_read_most(const struct target *t, uint64_t addr, void *ret,
                        size_t n_bytes); /* up to what is not there; how much */
bool target_write(const struct target *t, uint64_t addr, const void *bytes, size_t n_bytes);

/* NULL: nothing is mapped there. */
const struct mapping *target_mapping(const struct target *t, uint64_t addr);

/* The first mapping of a file whose name begins like this; NULL: there is none. */
const struct mapping *target_file(const struct target *t, const char *name);

uint64_t target_libc(const struct target *t); /* where the C library begins; 0: it is not there */

/* Where the C library has what its malloc knows: all it can write. */
bool target_libc_data(const struct target *t, uint64_t *ret_begin, uint64_t *ret_end);

/* The variables of the object mapped from `begin` on: its last writable segment, zeros and all. */
bool target_variables(const struct target *t, uint64_t begin, uint64_t *ret_begin,
                      uint64_t *ret_end);

/* Address of a function that the object mapped from `begin` on exports, and its length; 0: it does not. */
uint64_t target_symbol(const struct target *t, uint64_t begin, const char *name,
                       uint64_t *ret_n_bytes);

/* The first place of these bytes in code of a mapping with this name; 0: none. */
uint64_t target_find_code(const struct target *t, const char *name, const uint8_t *bytes,
                          size_t n_bytes);

/* Memory that belongs to nobody: the rest of a page behind a library's variables; 0: none of this size. */
uint64_t target_find_slack(const struct target *t, size_t n_bytes);

bool target_is_zero(const struct target *t, uint64_t addr, size_t n_bytes); /* of a page at most */

/* Its threads. */
typedef VEC(pid_t) tids;
int target_threads(const struct target *t, tids *ret);

struct thread_look {
        char state;          /* the letter of stat; 'X': it is gone */
        uint64_t n_switches; /* voluntary ones: how often it has gone to sleep */
        uint64_t pending, blocked,
                caught; /* signals: pending for it or for all; that it does not take now; with a handler */
};
bool target_look(const struct target *t, pid_t tid, struct thread_look *ret);

/* How long a thread has waited for a processor, ready to run; 0 where the kernel does not count. */
uint64_t target_queued_ns(const struct target *t, pid_t tid);

struct machine_syscall;
/* What it waits in; where it waits for a page instead, sp and pc alone; neither where it runs. */
void target_syscall(const struct target *t, pid_t tid, struct machine_syscall *ret);

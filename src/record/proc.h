/* SPDX-License-Identifier: MIT */
/* What /proc tells about a process. Every function fails softly: a process may be gone at any moment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"

struct proc_memory {
        uint64_t anon_bytes, file_bytes, shmem_bytes; /* resident */
        uint64_t peak_bytes;                          /* the highest sum of them in this image */
        uint64_t minor_faults, major_faults, cpu_ns;
};

/* The arguments, copied into arena; *ret_n = 0 when they cannot be read. */
const char *const *proc_args(struct arena *arena, pid_t pid, uint32_t *ret_n);
/* What a process has written over its arguments, which were these when it began: in one line, cut where it is long. False:
 * they are as they were, or cannot be read. */
enum { PROC_MAX_TITLE_BYTES = 512 };
bool proc_title(pid_t pid, const char *const *args, uint32_t n_args,
                char ret_title[PROC_MAX_TITLE_BYTES]);
const char *proc_exe(struct arena *arena, pid_t pid); /* "" when unknown */
double proc_started_s(pid_t pid);                     /* since boot; -1 when unknown */
pid_t proc_parent(pid_t pid);                         /* 0 when unknown */
char proc_state(pid_t pid);      /* the letter of /proc/PID/stat; 'X' when it is gone */
uint64_t proc_cpu_ns(pid_t pid); /* to the nanosecond, unlike the files; 0 unknown */
bool proc_is_running(pid_t pid); /* there, and no zombie */
bool proc_is_stopped(pid_t pid); /* by a signal, not by a debugger */

/* Pid namespaces. A process in one of its own calls itself and its threads by other numbers than ours. */
bool proc_has_other_numbers(pid_t pid);
pid_t proc_find_inside(pid_t inside_pid,
                       double since_s); /* our number; 0 when there is none, or more than one */
bool proc_thread_is_alive_inside(pid_t pid, pid_t inside_tid);

/* How it ended, as wait would say, while its parent has not asked. False when it was asked already, exited with 0, or may
 * not be looked at, which are all the same here. */
bool proc_end_status(pid_t pid, int *ret_wait_status);

/* Whether its pages are in memory, a word each: -errno when it may not be looked at. Nothing of another program than exe: it
 * may have become one a moment ago. */
int proc_open_pagemap(pid_t pid, const char *exe);

bool proc_comm(pid_t pid, pid_t tid, char ret_name[17]);
bool proc_is_called(pid_t pid, const char *name); /* what the kernel called it when it was run */
bool proc_is_kernel(pid_t pid);                   /* a thread of the kernel, no program */
bool proc_thread_is_alive(pid_t pid, pid_t tid);
bool proc_memory(pid_t pid, struct proc_memory *ret);
uint64_t proc_peak_bytes(pid_t pid); /* highest resident size of its present image; 0 unknown */

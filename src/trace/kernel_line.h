/* SPDX-License-Identifier: MIT */
/* What the kernel said when it killed a process for want of memory. Each line is a note, "kernel: LINE", so that a reader that does not know them
 * still shows them. The process's name inside is its own choice: a line is read from where that cannot reach. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_NOTE "kernel: "

enum { KERNEL_PATH_BYTES = 512 };

enum kernel_line_kind {
        KERNEL_KILLED, /* "Memory cgroup out of memory: Killed process 12 (name) total-vm:…" */
        KERNEL_REASON, /* "oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/a,task_memcg=/a/b,task=name,pid=12,uid=0": it comes first */
};

struct kernel_line {
        enum kernel_line_kind kind;
        uint32_t pid;
        bool is_group;                      /* a cgroup was full, not the machine */
        char full_group[KERNEL_PATH_BYTES]; /* KERNEL_REASON: which; "" unknown */
};

/* False: it tells of no kill. */
bool kernel_line_parse(const char *line, struct kernel_line *ret);
/* The line that a note holds; NULL: it is another note. */
const char *kernel_line_of_note(const char *note);

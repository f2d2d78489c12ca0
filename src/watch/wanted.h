/* SPDX-License-Identifier: MIT */
/* Which processes are to be recorded: rules such as "name=reth*" and "user=alice", all of which must hold (docs/watch.md). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum { WANTED_MAX_RULES = 16, WANTED_COMMAND_BYTES = 4096, WANTED_GROUPS_BYTES = 4096 };

enum wanted_field { WANTED_NAME, WANTED_COMMAND, WANTED_USER, WANTED_CGROUP };

struct wanted_rule {
        enum wanted_field field;
        const char *pattern; /* the caller's */
        uid_t uid;           /* of WANTED_USER */
};

struct wanted {
        struct wanted_rule rules[WANTED_MAX_RULES];
        size_t n;
};

/* What rules look at. Texts are the process's own: anything may be in them. */
struct wanted_facts {
        char name[17];  /* as the kernel has it: 15 bytes at most */
        char file[256]; /* the last part of its executable's path */
        char command
                [WANTED_COMMAND_BYTES]; /* its arguments, blanks between them; cut where it is long */
        char groups[WANTED_GROUPS_BYTES]; /* /proc/PID/cgroup */
        uid_t uid;
};

/* "name=PATTERN", "cmd=PATTERN", "user=NAME|NUMBER", "cgroup=PATTERN". text must stay. */
int wanted_add(struct wanted *w, const char *text, struct err *reterr);

/* Fills what the rules look at. False: the process is gone, or has no program, as threads of the kernel. */
bool wanted_read(const struct wanted *w, pid_t pid, struct wanted_facts *ret);
bool wanted_match(const struct wanted *w, const struct wanted_facts *f);

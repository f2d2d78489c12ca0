/* SPDX-License-Identifier: MIT */
/* Where the lab finds control groups: the machine's, or a tree of plain files that stands for one in tests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { PLACE_PATH_CAP = 768 };

struct place {
        const char *cgroup_root;   /* "/sys/fs/cgroup" */
        const char *proc_cgroup;   /* "/proc/self/cgroup" */
        const char *systemd_alive; /* there while systemd runs: "/run/systemd/system" */
        bool is_emulated;          /* plain files: one that is written is created */
};

/* The machine's, or what SILT_CGROUP_ROOT names. */
void place_init(struct place *p);

/* The folder of silt's own group: controller "memory" or "cpu" of version 1, NULL of version 2. -ENOENT: there is none. */
int place_own_group(const struct place *p, const char *controller, char *ret_dir, size_t cap);

/* Files of a group. A number may be "max", which is UINT64_MAX. */
int place_write(const struct place *p, const char *dir, const char *file, const char *text);
int place_write_number(const struct place *p, const char *dir, const char *file, uint64_t n);
int place_read_number(const char *dir, const char *file, uint64_t *ret);
/* The number behind a word at the begin of a line, such as "oom_kill 3". */
int place_read_key(const char *dir, const char *file, const char *key, uint64_t *ret);
/* Whether a file of words separated by blanks has this one. */
bool place_has_word(const char *dir, const char *file, const char *word);

int place_make_dir(const struct place *p, const char *dir);
/* 0, also if it is not there; -EBUSY: somebody is in it. */
int place_remove_dir(const struct place *p, const char *dir);

/* SPDX-License-Identifier: MIT */
/* The memory of a copy of a process, and what children of the process do not get: memory that it keeps from them (MADV_DONTFORK) or that they find empty
 * (MADV_WIPEONFORK) is read from the process itself, which runs meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "patch/maps.h"
#include "reach/memory_scan.h"
#include "reach/process_roots.h"

struct process_image_source {
        pid_t copy;
        int mem_fd;                /* of the copy; the caller's */
        pid_t living;              /* whose copy it is; 0: there is no other memory */
        const struct maps *before; /* of it, before the copy was made; NULL: nobody knows */
};

struct process_image {
        struct maps maps; /* all that can be read here, by address */
        int mem_fd, pagemap_fd;
        int living_mem_fd, living_pagemap_fd; /* -1: nothing is read there */
        VEC(struct reach_range) apart;        /* what is read there, by address */
};

int process_image_open(struct process_image *i, const struct process_image_source *s,
                       struct err *reterr);
void process_image_close(struct process_image *i);

/* Whether some of it is read from the process itself, other than these ranges (by nobody in particular). */
bool process_image_needs_living(const struct process_image *i, const struct reach_range *but,
                                size_t n_but);

struct reach_memory process_image_memory(struct process_image *i);

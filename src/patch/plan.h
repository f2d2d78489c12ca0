/* SPDX-License-Identifier: MIT */
/* All entry patches for one process: which of its files have allocators, what of them can be patched, where the room is. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "patch/given.h"
#include "patch/known_files.h"
#include "wire/hello.h"

struct patch_plan_request {
        pid_t pid;
        const char *exe;          /* the program; NULL: as /proc says */
        const char *runtime_path; /* libsilt.so, which is left alone */
        uint32_t machine;         /* ELF e_machine */
        const struct wire_hello *hello;
        bool hooks_entries; /* false: only the loader's allocator is named */
        struct known_files *memory;
        const struct given *given; /* functions that the user named; NULL: none */
};

struct patch_plan_allocator {
        char name[80];    /* "jemalloc", "mimalloc" */
        char module[512]; /* file it is in */
        uint32_t number;  /* of patch/known_files.h; 0: none */
        uint32_t n_hooked, n_refused;
        char why[160]; /* the first reason to refuse; "" none */
};

struct patch_plan {
        int fd; /* sealed memory file as wire/patch_plan.h has it; -1: nothing to patch. Owned */
        uint64_t n_bytes;
        VEC(struct patch_plan_allocator) allocators;
        char unreadable
                [512]; /* a file that damage, or its size, kept from being looked at; "" none */
        bool is_late;  /* it was not damage: the time ran out */
        bool is_nameless; /* the program has no symbols: only functions that it exports can be found, */
        bool has_exported;      /* and it exports a malloc or the like */
        uint32_t loader_number; /* of the allocator that the loader gives everybody; 0: unknown */
};

/* True for files whose functions a preloaded runtime already stands before, or must not touch. */
bool plan_leaves_alone(const char *path);

/* 0, also when there is nothing to patch. -errno: the process could not be looked at. */
int patch_plan_make(const struct patch_plan_request *request, struct patch_plan *ret,
                    struct err *reterr);
void patch_plan_done(struct patch_plan *p);

/* SPDX-License-Identifier: MIT */
/* Names of the kernel's functions, from /proc/kallsyms: of this machine, since it was started. Inside symbol/ only. */
#pragma once

#include "base/macros.h"
#include "symbol/module.h"

struct kernel_names;

/* 0, -ESTALE: the machine was started again since, or is another; -EACCES: the kernel hides its addresses. */
int kernel_names_open(const struct trace_module *m, struct kernel_names **ret,
                      struct symbol_origin *ret_origin);
/* The same from a file of that form. -EACCES: all its addresses are 0. */
int kernel_names_read(int fd, struct kernel_names **ret);
struct kernel_names *kernel_names_free(struct kernel_names *k); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct kernel_names, kernel_names_free)

/* The function at an address; NULL: none. */
const char *kernel_names_find(const struct kernel_names *k, uint64_t address);

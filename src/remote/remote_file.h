/* SPDX-License-Identifier: MIT */
/* An ELF file with code: its unwind tables, and as much of its code as was asked for, laid out as a loader would. Copies, not
 * mappings: a file that is cut while it is read is then a short read and not a signal. Inside remote/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "unwind/cfi.h"
#include "unwind/row.h"

struct remote_file;

/* NULL: no ELF file of this machine with code. fd is taken in any case. */
struct remote_file *remote_file_new(int fd);
/* The bytes of such a file, copied. */
struct remote_file *remote_file_new_from(const void *bytes, size_t n_bytes);
struct remote_file *remote_file_free(struct remote_file *f); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct remote_file, remote_file_free)

uint32_t remote_file_build_id(const struct remote_file *f,
                              uint8_t ret[32]);               /* its length, 0: none */
uint64_t remote_file_size_bytes(const struct remote_file *f); /* extent of its segments */

/* Of code that is mapped at begin from an offset of the file on: address - address in the file. False: no code lies there. */
bool remote_file_bias(const struct remote_file *f, uint64_t begin, uint64_t file_offset,
                      uint64_t *ret_bias);

/* By an address in the file (row.h: the key), remembered. is_exact: it was interrupted there. */
row_t remote_file_row(struct remote_file *f, uint64_t key, bool is_exact);

/* Does a call end right before this address in the file? */
bool remote_file_is_after_call(struct remote_file *f, uint64_t addr);
/* Where the function begins that the key is in, by the tables; 0: they do not have it. */
uint64_t remote_file_function(struct remote_file *f, uint64_t key);
/* How far below its frame pointer a function has sp behind its first instructions; 0: they do not tell. */
uint64_t remote_file_room(struct remote_file *f, uint64_t function);
/* Where the call goes that ends right before this address, or where the word is that has it; 0: there is none, or only registers know. */
uint64_t remote_file_called(struct remote_file *f, uint64_t addr, bool *ret_is_word);
bool remote_file_is_lazy_call(struct remote_file *f, uint64_t addr); /* remote_code.h */
bool remote_file_is_in_vfork(struct remote_file *f, uint64_t addr);  /* the same */

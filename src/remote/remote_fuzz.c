/* SPDX-License-Identifier: MIT */
/* Any bytes as a file with code, and as a stack of calls in it: nothing is read outside, walks end, and rows are such as steps
 * can use. The process is one that does not exist, or for code made at run time this one.
 *
 * seeds: src/remote/remote_seeds
 * covers: src/remote/remote_file.c src/remote/remote_tables.c src/remote/remote_code.c
 * covers: src/remote/remote_walk.c src/remote/remote_space.c */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "remote/remote_code.h"
#include "remote/remote_file.h"
#include "remote/remote_walk.h"
#include "remote/testing/remote_elf.h"
#include "remote/testing/remote_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { FRAMES_MAX = 2 * REMOTE_OUTER_KEPT + 4, NO_PROCESS = INT_MAX, MADE_BYTES = 64 };

static void ask_file(const uint8_t *bytes, size_t n_bytes, uint64_t off) {
        struct remote_file *f = remote_file_new_from(bytes, n_bytes);
        uint8_t build_id[32];
        uint64_t bias = 0;
        bool is_word;

        if (!f)
                return;
        remote_file_bias(f, REMOTE_FUZZ_CODE, 0, &bias);
        for (uint64_t i = 0; i < 8; i++) {
                uint64_t at = REMOTE_FUZZ_CODE - bias + off + i;
                row_t row = remote_file_row(f, at, i % 2);

                if (!(row & ROW_VALID) || remote_file_row(f, at, i % 2) != row)
                        abort();
                remote_file_is_after_call(f, at);
                remote_file_called(f, at, &is_word);
                remote_file_room(f, at);
                remote_file_room(f, remote_file_function(f, at));
        }
        if (remote_file_build_id(f, build_id) > sizeof(build_id) || remote_file_size_bytes(f) == 0)
                abort();
        remote_file_free(f);
}

static void walk(struct remote_space *s, const struct remote_fuzz_head *head, const uint8_t *stack,
                 uint64_t pc) {
        struct remote_regs regs = {.pc = pc,
                                   .sp = REMOTE_FUZZ_SP,
                                   .fp = REMOTE_FUZZ_SP + head->fp_off,
                                   .lr = REMOTE_FUZZ_CODE + REMOTE_ELF_CODE_OFF + head->more};
        struct remote_stack copy = {stack, (size_t)head->n_words * 8};
        uint64_t pcs[FRAMES_MAX], offset;
        enum remote_end end;
        size_t n = remote_walk(s, &regs, &copy, pcs, FRAMES_MAX, &end);

        if (n == 0 || n > FRAMES_MAX || end > REMOTE_LOST)
                abort();
        for (size_t i = 0; i < n; i++)
                remote_space_locate(s, pcs[i], &offset);
}

static uint8_t made_code[MADE_BYTES];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct remote_fuzz_head head;
        struct remote_space *s, *child, *made;
        const uint8_t *elf;
        uint8_t *stack;
        char path[64];
        int fd;

        if (n < sizeof(head))
                return 0;
        memcpy(&head, data, sizeof(head));
        n -= sizeof(head);
        if (n / 8 < head.n_words)
                return 0;
        /* to size, for the address sanitizer */
        stack = malloc((size_t)head.n_words * 8 + 1);
        memcpy(stack, data + sizeof(head), (size_t)head.n_words * 8);
        elf = data + sizeof(head) + (size_t)head.n_words * 8;
        n -= (size_t)head.n_words * 8;
        ask_file(elf, n, REMOTE_ELF_CODE_OFF + head.pc_off);

        memcpy(made_code, elf, MIN(n, sizeof(made_code)));
        if (n > REMOTE_ELF_CODE_OFF + sizeof(made_code))
                memcpy(made_code, elf + REMOTE_ELF_CODE_OFF, sizeof(made_code));

        fd = memfd_create("fuzz", MFD_CLOEXEC);
        if (fd < 0 || fs_write_all(fd, elf, n) < 0)
                abort();
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        s = remote_space_new(NO_PROCESS);
        remote_space_map(s, REMOTE_FUZZ_CODE, REMOTE_FUZZ_CODE + (1 << 20), 0, path);
        walk(s, &head, stack, REMOTE_FUZZ_CODE + REMOTE_ELF_CODE_OFF + head.pc_off);
        child = remote_space_fork(s, NO_PROCESS);
        remote_space_map(s, REMOTE_FUZZ_CODE + head.more,
                         REMOTE_FUZZ_CODE + head.more + head.fp_off + 1, 0, "//anon");
        remote_space_map(s, 0, UINT64_MAX, 0, "");
        walk(child, &head, stack, REMOTE_FUZZ_CODE + REMOTE_ELF_CODE_OFF + head.pc_off);
        made = remote_space_fork(child, getpid());
        walk(made, &head, stack,
             (uint64_t)made_code + head.pc_off % (MADE_BYTES / 2) + REMOTE_CODE_BEFORE);
        remote_space_free(made);
        remote_space_free(s);
        remote_space_free(child);
        close(fd);
        free(stack);
        return 0;
}

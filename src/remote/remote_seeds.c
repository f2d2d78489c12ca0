/* SPDX-License-Identifier: MIT */
/* remote_seeds DIRECTORY: a file with each kind of tables, and a stack of calls in it, in the form that remote_fuzz.c reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "remote/testing/remote_elf.h"
#include "remote/testing/remote_fuzz.h"

enum { WORDS_MAX = 320, CODE = REMOTE_ELF_CODE_OFF };

/* Each kind of stack: what its words are. */
enum stack { STACK_RECORDS, STACK_SHALLOW_FRAMES, STACK_SIGNAL, N_STACKS };

static uint64_t word_of(enum stack stack, unsigned i) {
        switch (stack) {
        case STACK_SHALLOW_FRAMES: return REMOTE_FUZZ_CODE + CODE + 2; /* one word each */
        case STACK_SIGNAL: /* the trampoline, then registers */
                return i % 24 == 0 ? REMOTE_FUZZ_CODE + CODE + REMOTE_FUZZ_SIGRETURN
                       : i % 24 == 16 || i % 24 == 11 ? REMOTE_FUZZ_SP + (i + 24 - i % 24) * 8
                                                      : REMOTE_FUZZ_CODE + CODE + 16;
        default: /* frame pointers, and returns to either function */
                return i % 4 == 0 ? REMOTE_FUZZ_SP + (i + 4) * 8
                                  : REMOTE_FUZZ_CODE + CODE + 16 + i % 3 * 64;
        }
}

static void make_seed(const char *directory, unsigned number, enum remote_elf_tables tables,
                      const uint8_t *code, uint16_t pc_off, enum stack stack) {
        static uint8_t elf[REMOTE_ELF_MAX_BYTES];
        unsigned n_words = stack == STACK_SHALLOW_FRAMES ? WORDS_MAX : 64;
        struct remote_fuzz_head head = {.pc_off = pc_off,
                                        .fp_off = 64,
                                        .n_words = (uint16_t)n_words};
        uint64_t words[WORDS_MAX] = {0};
        bytes_buf out = {0};
        size_t n = remote_elf_make(elf, tables, code);
        char path[4096];
        FILE *f;

        for (unsigned i = 0; i < n_words - 16; i++)
                words[i] = word_of(stack, i);
        buf_bytes(&out, &head, sizeof(head));
        buf_bytes(&out, words, n_words * sizeof(words[0]));
        buf_bytes(&out, elf, n);
        snprintf(path, sizeof(path), "%s/%u", directory, number);
        f = fopen(path, "w");
        if (!f || fwrite(out.items, 1, out.n, f) != out.n || fclose(f) != 0)
                exit(1);
        vec_free(&out);
}

int main(int argc, char **argv) {
        static const uint8_t x86_64[] = {0xe8, 0,    0,    0,    0,    0x90, 0x55, 0x48, 0x89,
                                         0xe5, 0xe8, 0,    0,    0,    0,    0x90, 0xe8, 0,
                                         0,    0,    0,    0x5d, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc,
                                         0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xf3, 0x0f, 0x1e, 0xfa,
                                         0xff, 0x25, 0,    0,    0,    0,    0x68, 0,    0,
                                         0,    0,    0xe9, 0,    0,    0,    0};
        /* mov $15, %rax; syscall */
        static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
        static const uint32_t aarch64[] = {0x94000000, 0xa9be7bfd, 0x910003fd,
                                           0x94000000, 0xd503201f, 0xa8c27bfd,
                                           0xd65f03c0, 0xd2801168, 0xd4000001};
        uint8_t code[256] = {0};
        unsigned n = 0;

        if (argc != 2)
                return 2;
        for (unsigned t = 0; t < REMOTE_ELF_N_TABLES; t++) {
                for (unsigned stack = 0; stack < N_STACKS; stack++) {
                        make_seed(argv[1], n++, t, code, 2, stack);
                        make_seed(argv[1], n++, t, code, 16, stack);
                        make_seed(argv[1], n++, t, code, REMOTE_ELF_SECOND_OFF + 8, stack);
                }
                for (unsigned at = 0; at + 64 <= sizeof(code); at += 64) {
                        if (ARCH_IS_X86_64)
                                memcpy(code + at, x86_64, sizeof(x86_64));
                        else
                                memcpy(code + at, aarch64, sizeof(aarch64));
                }
                if (ARCH_IS_X86_64)
                        memcpy(code + REMOTE_FUZZ_SIGRETURN, sigreturn, sizeof(sigreturn));
                for (uint16_t pc = 0; pc < 96; pc += 3)
                        make_seed(argv[1], n++, t, code, pc, pc % N_STACKS);
        }
        return 0;
}

/* SPDX-License-Identifier: MIT */
/* A program that allows itself only the system calls malloc needs, and is killed at any other one.
 *
 * Before the filter: malloc(5), kept, because glibc's first malloc asks the kernel for random
 * bytes. After the filter: 150,000 times malloc(60) and free (temporary), 100 blocks of 200 KiB
 * freed in order (mapped ones; the last is temporary), a chain of realloc to 1 MiB in steps of 64
 * KiB (16 allocations, 15 reallocations, 16 temporary with the final free).
 *   allocations 1 + 150,000 + 100 + 16   frees 150,116   reallocations 15
 *   bytes 5 + 9,000,000 + 100 * 204,800 + 65,536 * 136 = 38,392,901   temporary 150,017
 *   peak 5 + 100 * 204,800 = 20,480,005 in 101   end 5 in 1 */
#include "truth.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(name)                                                                                \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void allow_only_mallocs_calls(void) {
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                ALLOW(brk),
                ALLOW(mmap),
                ALLOW(munmap),
                ALLOW(mremap),
                ALLOW(madvise),
                ALLOW(mprotect),
                ALLOW(futex),
                ALLOW(write),
                ALLOW(exit_group),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };
        struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

        MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(void) {
        static void *block[100];
        char *p = NULL;

        MUST(malloc(5));
        allow_only_mallocs_calls();
        for (int i = 0; i < 150000; i++)
                free(malloc(60));
        for (int i = 0; i < 100; i++)
                MUST(block[i] = malloc(200 << 10));
        for (int i = 0; i < 100; i++)
                free(block[i]);
        for (int i = 1; i <= 16; i++)
                MUST(p = realloc(p, (size_t)i << 16));
        free(p);
        _exit(0);
}

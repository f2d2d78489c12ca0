/* SPDX-License-Identifier: MIT */
/* Runs a program for which a system call does not exist: `forbid NAME ERRNO PROG ARGS…`. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
        const char *name;
        long number;
} calls[] = {
        {"memfd_create", SYS_memfd_create},
        {"pidfd_open", SYS_pidfd_open},
        {"madvise", SYS_madvise},
        {"fallocate", SYS_fallocate},
        {"membarrier", SYS_membarrier},
        {"getrandom", SYS_getrandom},
        {"connect", SYS_connect},
        {"socket", SYS_socket},
        {"futex", SYS_futex},
};

int main(int argc, char **argv) {
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

        if (argc < 4)
                return 99;
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
                if (strcmp(calls[i].name, argv[1]) == 0)
                        filter[1].k = (unsigned)calls[i].number;
        filter[2].k |= (unsigned)atoi(argv[2]);
        if (!filter[1].k || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
                return 98;
        execvp(argv[3], argv + 3);
        return 97;
}

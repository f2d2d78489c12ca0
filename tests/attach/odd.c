/* SPDX-License-Identifier: MIT */
/* odd HOW [PID]: a process that silt does not enter: "ready PID" when it is one, then it waits for SIGTERM, and checks what it has: "ok", or "bad WHAT".
 *   plain, thread (says the number of a second thread), sealed (seccomp), tracer (traces PID), zombie (says the number of a child that has ended) */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void ready(long pid) {
        printf("ready %ld\n", pid);
        fflush(stdout);
}

static void *thread(void *arg) {
        (void)arg;
        ready(syscall(SYS_gettid));
        pause();
        return NULL;
}

static void seal(void) {
        struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        struct sock_fprog program = {1, allow};

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
                _exit(1);
}

static volatile sig_atomic_t is_over;

static void on_term(int sig) {
        (void)sig;
        is_over = 1;
}

/* One handler runs, nothing else wakes it; blocks, errno and the mask of signals are what they were. */
static int wait_and_check(void) {
        unsigned char *block = malloc(1000);
        sigset_t mask;

        memset(block, 0x5a, 1000);
        errno = 0;
        while (!is_over)
                if (pause() != -1 || errno != EINTR || !is_over)
                        return puts("bad pause"), 1;
        for (int i = 0; i < 1000; i++)
                if (block[i] != 0x5a)
                        return puts("bad block"), 1;
        free(block);
        sigprocmask(SIG_BLOCK, NULL, &mask);
        for (int i = 1; i < 64; i++)
                if (sigismember(&mask, i) == 1)
                        return puts("bad mask"), 1;
        return puts("ok"), 0;
}

int main(int argc, char **argv) {
        const char *how = argc > 1 ? argv[1] : "plain";
        pid_t child;
        pthread_t t;

        sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_term}, NULL);
        if (!strcmp(how, "thread")) {
                pthread_create(&t, NULL, thread, NULL);
        } else if (!strcmp(how, "zombie")) {
                child = fork();
                if (child == 0)
                        _exit(0);
                siginfo_t info;
                waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
                ready(child);
        } else {
                if (!strcmp(how, "sealed"))
                        seal();
                if (!strcmp(how, "tracer") && ptrace(PTRACE_SEIZE, atoi(argv[2]), NULL, NULL) < 0)
                        _exit(1);
                ready(getpid());
        }
        return wait_and_check();
}

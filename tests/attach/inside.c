/* SPDX-License-Identifier: MIT */
/* inside: steps through malloc, one instruction at a time, by the processor's trap flag. Its handler waits at the second instruction, where the
 * bytes of an entry lie that would be patched: "ready PID", "go" lets it return; then "count N" allocates. x86_64 alone: one instruction of
 * aarch64 has no inside. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__
enum { TRAP_FLAG = 0x100 };

static uintptr_t entry;
static volatile int was_inside;

static void read_line(char *line, size_t n_bytes) {
        size_t n = 0;

        while (n + 1 < n_bytes && read(0, line + n, 1) == 1 && line[n] != '\n')
                n++;
        line[n] = '\0';
}

static void say_done(void) { /* dprintf may allocate */
        if (write(1, "done\n", 5) != 5)
                _exit(1);
}

static void on_step(int sig, siginfo_t *info, void *context) {
        ucontext_t *c = context;
        char line[32];

        (void)sig, (void)info;
        if ((uintptr_t)c->uc_mcontext.gregs[REG_RIP] - entry - 1 >= 4)
                return;
        was_inside = 1;
        c->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        dprintf(1, "ready %d\n", (int)getpid());
        read_line(line, sizeof(line));
}

static void set_trap_flag(int is_set) {
        uintptr_t flags;

        __asm__ volatile("pushfq; popq %0" : "=r"(flags));
        flags = is_set ? flags | TRAP_FLAG : flags & ~(uintptr_t)TRAP_FLAG;
        __asm__ volatile("pushq %0; popfq" : : "r"(flags) : "cc", "memory");
}

static void *wait(void *arg) { /* silt comes in by this one */
        for (;;)
                pause();
        return arg;
}

int main(void) {
        pthread_t thread;
        struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
        void *(*volatile allocate)(size_t) = malloc;
        char line[32];

        entry = (uintptr_t)dlsym(RTLD_DEFAULT, "malloc");
        pthread_create(&thread, NULL, wait, NULL);
        sigaction(SIGTRAP, &action, NULL);
        set_trap_flag(1);
        void *block = allocate(24);
        set_trap_flag(0);
        if (!was_inside || !block) /* its first instruction is long enough: another C library */
                return 1;
        say_done();
        for (;;) {
                read_line(line, sizeof(line));
                if (strncmp(line, "count ", 6) != 0)
                        break;
                for (int i = atoi(line + 6); i > 0; i--) {
                        void *volatile one = malloc(100);

                        (void)one;
                }
                say_done();
        }
        free(block);
        return 0;
}
#else
int main(void) {
        dprintf(1, "whole\n");
        return 0;
}
#endif

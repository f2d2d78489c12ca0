/* SPDX-License-Identifier: MIT */
/* Makes a function at run time that calls malloc, and writes /tmp/perf-PID.map about it.
 *
 *   jitter MAP      MAP: own, none, noise (much around the right line), fork (a child with another
 *                   name for the same code), late (writes after the calls, before the end),
 *                   strange (gives the file to another user)
 *
 * Prints its pid. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void *(*made_fn)(void *(*allocate)(size_t n), size_t n);

#if defined(__aarch64__)
static const uint32_t code[] = {
        0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
        0x910003fd, /* mov x29, sp */
        0xaa0003e2, /* mov x2, x0 */
        0xaa0103e0, /* mov x0, x1 */
        0xd63f0040, /* blr x2 */
        0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
        0xd65f03c0, /* ret */
};
#elif defined(__x86_64__)
static const uint8_t code[] = {
        0x55,             /* push %rbp */
        0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
        0x48, 0x89, 0xf8, /* mov %rdi, %rax */
        0x48, 0x89, 0xf7, /* mov %rsi, %rdi */
        0xff, 0xd0,       /* call *%rax */
        0x5d,             /* pop %rbp */
        0xc3,             /* ret */
};
#endif

static void write_map(const void *made, const char *name, int is_noisy) {
        char path[64];
        FILE *f;

        snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
        f = fopen(path, "w");
        if (!f)
                exit(3);
        if (is_noisy) {
                fprintf(f, "no map\n\n%lx\n%lx zz what\n-1 10 minus\n", (long)made, (long)made);
                fprintf(f, "%lx 1000 older code\nffffffffffffffff ffffffffffffffff wraps\n",
                        (long)made);
                for (int i = 0; i < 200000; i++)
                        fputc('x', f);
                fputc('\n', f);
        }
        fprintf(f, "%lx %lx %s\n", (long)made, (long)sizeof(code), name);
        if (is_noisy)
                fprintf(f, "%lx 1000 cut off", (long)made);
        fclose(f);
}

int main(int argc, char **argv) {
        const char *how = argc > 1 ? argv[1] : "own";
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        made_fn made;

        if (page == MAP_FAILED)
                return 2;
        memcpy(page, code, sizeof(code));
        if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0)
                return 2;
        __builtin___clear_cache(page, (char *)page + sizeof(code));
        memcpy(&made, &page, sizeof(made));
        if (!strcmp(how, "strange")) {
                char path[64];

                write_map(page, "Made:at_run_time file.js:7", 0);
                snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
                if (chown(path, 12345, 12345) != 0)
                        return 4;
        }
        if (!strcmp(how, "own") || !strcmp(how, "fork") || !strcmp(how, "noise"))
                write_map(page, "Made:at_run_time file.js:7", !strcmp(how, "noise"));
        if (!strcmp(how, "fork") && fork() == 0) {
                write_map(page, "Made:by_the_child", 0);
                free(made(malloc, 54321));
                printf("%d\n", (int)getpid());
                return 0;
        }
        free(made(malloc, 12345));
        if (!strcmp(how, "late"))
                write_map(page, "Made:at_run_time file.js:7", 0);
        while (wait(NULL) > 0)
                ;
        printf("%d\n", (int)getpid());
        return 0;
}

/* SPDX-License-Identifier: MIT */
/* Makes a function at run time that calls malloc, and writes /tmp/perf-PID.map about it.
 *
 *   jitter MAP      MAP: own, none, noise (much around the right line), fork (a child with another
 *                   name for the same code), late (writes after the calls, before the end),
 *                   strange (gives the file to another user)
 *   jitter chain N  N functions that call each other, each with a name of its own
 *   jitter wild N   the same without frame pointers
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

/* A function that calls the next, with what it was given. The address comes behind the code. */
struct link {
        uint8_t code[24];
        uint64_t next;
};

#if defined(__aarch64__)
static const uint32_t framed[] = {0xa9bf7bfd, 0x910003fd, /* stp x29, x30, …; mov x29, sp */
                                  0x58000090, 0xd63f0200, /* ldr x16, next; blr x16 */
                                  0xa8c17bfd, 0xd65f03c0};
static const uint32_t frameless[] = {0xf81f0ffe, 0xd503201f, 0x58000090,
                                     0xd63f0200, 0xf84107fe, 0xd65f03c0};
#elif defined(__x86_64__)
static const uint8_t framed[] = {0x55, 0x48, 0x89, 0xe5,       /* push; mov */
                                 0xff, 0x15, 0x0e, 0,    0, 0, /* call *next */
                                 0x5d, 0xc3};
static const uint8_t frameless[] = {0x48, 0x83, 0xec, 0x08,         /* sub $8, %rsp */
                                    0xff, 0x15, 0x0e, 0,    0,   0, /* call *next */
                                    0x48, 0x83, 0xc4, 0x08, 0xc3};
#endif

/* n links, the last of which calls malloc. */
static int chain(int n, int is_framed) {
        size_t n_bytes = (size_t)n * sizeof(struct link);
        struct link *links =
                mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        void *(*first)(size_t n);
        char path[64];
        FILE *f;

        snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
        f = fopen(path, "w");
        if (links == MAP_FAILED || !f)
                return 2;
        for (int i = 0; i < n; i++) {
                memcpy(links[i].code, is_framed ? (const void *)framed : (const void *)frameless,
                       is_framed ? sizeof(framed) : sizeof(frameless));
                links[i].next = i + 1 < n ? (uint64_t)&links[i + 1] : (uint64_t)malloc;
                fprintf(f, "%lx %lx Made:link_%d\n", (long)&links[i], (long)sizeof(links[i]), i);
        }
        fclose(f);
        if (mprotect(links, n_bytes, PROT_READ | PROT_EXEC) != 0)
                return 2;
        __builtin___clear_cache((char *)links, (char *)links + n_bytes);
        memcpy(&first, &links, sizeof(first));
        for (int i = 0; i < 3; i++)
                free(first(12345));
        printf("%d\n", (int)getpid());
        return 0;
}

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

        if (argc > 2)
                return chain(atoi(argv[2]), !strcmp(how, "chain"));
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

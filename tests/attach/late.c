/* SPDX-License-Identifier: MIT */
/* late THREADS LIBRARY…: opens libraries with an allocator inside (late_library.c) while threads run that check what they have.
 * Lines on its input: "open I", "use I N" (an open one: N blocks in each thread and in the first), "close I"; "spin" opens, uses and
 * closes them all the time, until "still", which leaves them as they are; "count 0 N": as "use", all that are open, by another function; "confine": from
 * now on many system calls are deadly; "end". Prints "done" after each; "bad WHAT" and ends when something
 * is not as it was. */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_LIBRARIES = 8, MAX_THREADS = 16, N_HELD = 32, BLOCK_BYTES = 90, SPIN_BLOCKS = 4 };

typedef void *take_fn(unsigned i);
typedef void give_fn(void *p, unsigned i);

static struct library {
        const char *path;
        void *handle;
        take_fn *take, *take_counted;
        give_fn *give;
} libraries[MAX_LIBRARIES];

static struct {
        const struct library *library;
        take_fn *take;
        unsigned n;
} job;
static atomic_uint job_no, n_done;
static atomic_bool is_over, is_spinning;
static int n_threads, n_libraries;

static void bad(const char *what) {
        dprintf(1, "bad %s\n", what);
        _exit(1);
}

static void check(const unsigned char *p, size_t n, unsigned char with) {
        for (size_t i = 0; i < n; i++)
                if (p[i] != with)
                        bad("block");
}

static void use(const struct library *l, take_fn *take, unsigned n, unsigned seed) {
        unsigned char *held[N_HELD] = {0};

        for (unsigned i = 0; i < n + N_HELD; i++) {
                unsigned char **at = &held[i % N_HELD];

                if (*at) {
                        check(*at, BLOCK_BYTES, (unsigned char)(seed + i % N_HELD));
                        l->give(*at, i);
                        *at = NULL;
                }
                if (i >= n)
                        continue;
                *at = take(i + seed);
                if (!*at)
                        bad("memory");
                memset(*at, (int)(seed + i % N_HELD), BLOCK_BYTES);
        }
}

static uint64_t sums(void) {
        uint64_t a = 1, b = 2, c = 3, d = 4;

        for (unsigned i = 0; i < 200; i++)
                a += b * 3 + i, b ^= c << 1, c += d * 5, d ^= a >> 3;
        return a ^ b ^ c ^ d;
}

static void use_malloc(unsigned seed) {
        size_t n = 40 + seed;
        unsigned char *block = malloc(n);

        if (!block)
                bad("memory");
        memset(block, (int)seed, n);
        check(block, n, (unsigned char)seed);
        free(block);
}

/* One never waits. */
static void *work(void *arg) {
        unsigned seed = (unsigned)(uintptr_t)arg * 7, seen = 0;
        uint64_t wanted = sums();

        for (unsigned round = 0; !atomic_load(&is_over); round++) {
                unsigned no = atomic_load(&job_no);

                if (no != seen) {
                        use(job.library, job.take, job.n, seed);
                        seen = no;
                        atomic_fetch_add(&n_done, 1);
                }
                if (sums() != wanted)
                        bad("sum");
                /* few blocks: a recorder that waits for a processor need not be waited for */
                if (round % (seed == 7 ? 100000 : 500) == 0)
                        use_malloc(seed);
                if (seed != 7)
                        usleep(100);
        }
        return NULL;
}

static void use_everywhere(const struct library *l, take_fn *take, unsigned n) {
        job.library = l;
        job.take = take;
        job.n = n;
        atomic_store(&n_done, 0);
        atomic_fetch_add(&job_no, 1);
        use(l, take, n, 1);
        while (atomic_load(&n_done) < (unsigned)n_threads)
                usleep(100);
}

static void open_library(struct library *l) {
        l->handle = dlopen(l->path, RTLD_NOW | RTLD_LOCAL);
        l->take = l->handle ? (take_fn *)dlsym(l->handle, "late_take") : NULL;
        l->take_counted = l->handle ? (take_fn *)dlsym(l->handle, "late_take_counted") : NULL;
        l->give = l->handle ? (give_fn *)dlsym(l->handle, "late_give") : NULL;
        if (!l->take || !l->take_counted || !l->give)
                bad("library");
}

static void close_library(struct library *l) {
        if (l->handle && dlclose(l->handle) != 0)
                bad("close");
        l->handle = NULL;
}

static void *spin(void *unused) {
        (void)unused;
        for (unsigned i = 0; atomic_load(&is_spinning); i++) {
                struct library *l = &libraries[(i * 2654435761u >> 16) % (unsigned)n_libraries];

                if (l->handle)
                        close_library(l);
                else
                        open_library(l);
                for (int k = 0; k < n_libraries; k++)
                        if (libraries[k].handle)
                                use_everywhere(&libraries[k], libraries[k].take, SPIN_BLOCKS);
                usleep(200);
        }
        return NULL;
}

static void count(unsigned n) {
        for (int i = 0; i < n_libraries; i++)
                if (libraries[i].handle)
                        use_everywhere(&libraries[i], libraries[i].take_counted, n);
}

/* What a program that opens libraries and allocates does not call itself. */
static void confine(void) {
#define DEADLY(nr)                                                                                 \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                DEADLY(SYS_socket),
                DEADLY(SYS_connect),
                DEADLY(SYS_setsockopt),
                DEADLY(SYS_sendmsg),
                DEADLY(SYS_recvmsg),
                DEADLY(SYS_prctl),
                DEADLY(SYS_tgkill),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0)
                bad("filter");
}

static void set_spinning(bool is) {
        static pthread_t thread;

        atomic_store(&is_spinning, is);
        if (is)
                pthread_create(&thread, NULL, spin, NULL);
        else
                pthread_join(thread, NULL);
}

static bool obey(const char *line) {
        unsigned i = 0, n = 0;
        char what[16] = "";

        if (sscanf(line, "%15s %u %u", what, &i, &n) < 1 || i >= (unsigned)n_libraries)
                bad("line");
        if (!strcmp(what, "open"))
                open_library(&libraries[i]);
        else if (!strcmp(what, "use"))
                use_everywhere(&libraries[i], libraries[i].take, n);
        else if (!strcmp(what, "close"))
                close_library(&libraries[i]);
        else if (!strcmp(what, "confine"))
                confine();
        else if (!strcmp(what, "count"))
                count(n);
        else if (!strcmp(what, "spin") || !strcmp(what, "still"))
                set_spinning(what[1] == 'p');
        return strcmp(what, "end") != 0;
}

int main(int argc, char **argv) {
        pthread_t threads[MAX_THREADS];
        char line[64];

        n_threads = argc > 1 ? atoi(argv[1]) : 0;
        n_libraries = argc - 2;
        if (n_threads > MAX_THREADS || n_libraries < 1 || n_libraries > MAX_LIBRARIES)
                return 2;
        for (int i = 0; i < n_libraries; i++)
                libraries[i].path = argv[i + 2];
        for (int i = 0; i < n_threads; i++)
                pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1));
        dprintf(1, "ready %d\n", (int)getpid());
        while (fgets(line, sizeof(line), stdin) && obey(line))
                dprintf(1, "done\n");
        atomic_store(&is_over, true);
        for (int i = 0; i < n_threads; i++)
                pthread_join(threads[i], NULL);
        dprintf(1, "ok\n");
        return 0;
}

/* SPDX-License-Identifier: MIT */
/* The counting rules of the contract, written down a second time as plainly as possible: a
 * preloaded library with one lock, one table and no stacks. It knows nothing of silt and shares no
 * code with it. The expectations of tests/programs are checked against it (`tests/run.py --oracle
 * preload`), and truth_real.py sets it beside valgrind, heaptrack and silt.
 *
 * Counters stand in a shared file mapping per process image, $SILT_ORACLE_DIR/PID.IMAGE, so that
 * they survive any end. Slow by intent. Does not work in IFUNC resolvers of libraries (it is not
 * relocated yet) nor count threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counters {
        uint64_t pid, parent, image;
        uint64_t allocations, frees, reallocations, failed_allocations, unknown_frees,
                implicit_frees;
        uint64_t bytes_allocated, temporary_allocations;
        uint64_t peak_live_bytes, peak_live_blocks, live_bytes, live_blocks;
};

struct entry {
        void *block; /* NULL: never used */
        bool live;
        size_t size;
        void *owner; /* the allocating thread's `last` */
        uint64_t generation;
};
#define N_ENTRIES ((size_t)1 << 23)
#define TLS __attribute__((tls_model("initial-exec"))) static __thread

static struct entry *table;
static struct counters *counters;
static uint64_t *alive; /* one page that fork wipes: zero in a new process */
static uint64_t generation;
static uint64_t live_bytes, live_blocks; /* in private memory: what a forked child inherits */
static atomic_flag lock = ATOMIC_FLAG_INIT;
TLS void *last;

/* Inside operator new: what malloc gave there is the same block, or one of the library's own (an
 * exception). */
TLS int depth;
TLS struct {
        void *block;
        size_t size;
} pending[8];
TLS int n_pending;

static struct {
        void *(*malloc)(size_t), *(*calloc)(size_t, size_t), *(*realloc)(void *, size_t),
                *(*memalign)(size_t, size_t);
        void *(*aligned_alloc)(size_t, size_t), *(*valloc)(size_t), *(*pvalloc)(size_t);
        void *(*reallocarray)(void *, size_t, size_t);
        int (*posix_memalign)(void **, size_t, size_t);
        void (*free)(void *);
} real;

static _Alignas(16) char early[65536];
static size_t early_used;
static int finding; /* dlsym itself may allocate */

static void *early_alloc(size_t size) {
        void *block = early + early_used;
        early_used += (size + 15) & ~(size_t)15;
        return early_used <= sizeof(early) ? block : NULL;
}

static bool is_early(void *block) {
        return (char *)block >= early && (char *)block < early + sizeof(early);
}

static void find_real(void) {
        if (real.free)
                return;
        finding = 1;
        real.malloc = dlsym(RTLD_NEXT, "malloc");
        real.calloc = dlsym(RTLD_NEXT, "calloc");
        real.realloc = dlsym(RTLD_NEXT, "realloc");
        real.memalign = dlsym(RTLD_NEXT, "memalign");
        real.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
        real.valloc = dlsym(RTLD_NEXT, "valloc");
        real.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
        real.reallocarray = dlsym(RTLD_NEXT, "reallocarray");
        real.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
        real.free = dlsym(RTLD_NEXT, "free");
        finding = 0;
}

static void *map(size_t bytes) {
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
                _exit(124);
        return p;
}

static void append_number(char *path, uint64_t n) {
        char digits[24];
        size_t n_digits = 0, at = strlen(path);
        do
                digits[n_digits++] = (char)('0' + n % 10);
        while (n /= 10);
        while (n_digits)
                path[at++] = digits[--n_digits];
        path[at] = 0;
}

/* Not getenv: before libc's constructors it finds nothing. */
static const char *find_dir(void) {
        static char text[65536];
        static const char *found; /* a child that gave up its rights may not read it again */
        size_t n = 0;
        ssize_t got;

        if (found)
                return found;
        int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
                n += (size_t)got;
        close(fd);
        for (char *at = text; at < text + n; at += strlen(at) + 1)
                if (strncmp(at, "SILT_ORACLE_DIR=", 16) == 0)
                        return found = at + 16;
        return "/tmp";
}

/* A file of its own for this image; a forked child keeps the live blocks it inherited, and nothing
 * else. */
static void open_counters(void) {
        const char *dir = find_dir();
        int fd = -1;
        uint64_t image = 0;

        while (fd < 0 && ++image < 64) {
                char path[512] = "";
                strncpy(path, dir, 400);
                strcat(path, "/");
                append_number(path, (uint64_t)getpid());
                strcat(path, ".");
                append_number(path, image);
                fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        }
        if (fd < 0 || ftruncate(fd, sizeof(*counters)) < 0)
                _exit(124);
        counters = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (counters == MAP_FAILED)
                _exit(124);
        counters->pid = (uint64_t)getpid();
        counters->parent = (uint64_t)getppid();
        counters->image = image;
        counters->live_bytes = counters->peak_live_bytes = live_bytes;
        counters->live_blocks = counters->peak_live_blocks = live_blocks;
}

static void enter(sigset_t *ret_old) {
        sigset_t all;

        memset(&all, 0xff, sizeof(all));
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, ret_old, 8);
        if (alive && !*alive)
                atomic_flag_clear(&lock); /* forked without handlers: whoever held it is not here */
        while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
                syscall(SYS_sched_yield);
        if (!table) {
                table = map(N_ENTRIES * sizeof(*table));
                alive = map(4096);
                madvise(alive, 4096, MADV_WIPEONFORK);
        }
        if (!*alive) {
                generation++;
                *alive = 1;
                open_counters();
        }
}

static void leave(const sigset_t *old) {
        atomic_flag_clear_explicit(&lock, memory_order_release);
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, 8);
}

static struct entry *find(void *block) {
        for (size_t i = ((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> 41;; i++) {
                struct entry *e = &table[i % N_ENTRIES];
                if (e->block == block || !e->block)
                        return e;
        }
}

static void add_live(uint64_t bytes, int blocks) {
        counters->live_bytes = live_bytes += bytes;
        counters->live_blocks = live_blocks += (uint64_t)blocks;
}

static void note_allocation(void *block, size_t size) {
        struct entry *e = find(block);

        if (e->live) { /* its release was never seen */
                counters->implicit_frees++;
                add_live(-e->size, -1);
        }
        *e = (struct entry){block, true, size, &last, generation};
        last = block;
        counters->allocations++;
        counters->bytes_allocated += size;
        add_live(size, 1);
        if (counters->live_bytes > counters->peak_live_bytes) {
                counters->peak_live_bytes = counters->live_bytes;
                counters->peak_live_blocks = counters->live_blocks;
        }
}

/* Takes the block out of the live ones, uncounted: a realloc may still fail. */
static bool take_out(void *block, struct entry *ret_taken) {
        struct entry *e = find(block);

        if (!e->live)
                return false;
        *ret_taken = *e;
        e->live = false;
        add_live(-e->size, -1);
        return true;
}

static bool is_temporary(const struct entry *taken) {
        return last == taken->block && taken->owner == &last && taken->generation == generation;
}

static void count_release(bool known, bool temporary) {
        if (known)
                counters->frees++;
        else
                counters->unknown_frees++;
        if (temporary)
                counters->temporary_allocations++;
}

static void log_allocation(void *block, size_t size) {
        sigset_t old;
        int saved = errno;

        if (depth) {
                if (block && n_pending < 8) {
                        pending[n_pending].block = block;
                        pending[n_pending++].size = size;
                }
                return;
        }
        enter(&old);
        if (block)
                note_allocation(block, size);
        else
                counters->failed_allocations++;
        leave(&old);
        errno = saved;
}

static void log_release(void *block) {
        struct entry taken;
        sigset_t old;
        int saved = errno;

        for (int i = 0; depth && i < n_pending; i++)
                if (pending[i].block == block) {
                        pending[i] = pending[--n_pending];
                        return;
                }
        enter(&old);
        bool known = take_out(block, &taken);
        count_release(known, known && is_temporary(&taken));
        leave(&old);
        errno = saved;
}

void *malloc(size_t size) {
        if (finding)
                return early_alloc(size);
        find_real();
        void *block = real.malloc(size);
        log_allocation(block, size);
        return block;
}

void *calloc(size_t n, size_t size) {
        if (finding)
                return early_alloc(n * size);
        find_real();
        void *block = real.calloc(n, size);
        log_allocation(block, n * size);
        return block;
}

void free(void *block) {
        if (!block || is_early(block))
                return;
        find_real();
        log_release(block);
        real.free(block);
}

static void *any_realloc(void *block, size_t size, bool overflow) {
        struct entry taken;
        sigset_t old;

        if (!block && !overflow)
                return malloc(size);
        find_real();
        enter(&old);
        bool known = take_out(block, &taken), temporary = known && is_temporary(&taken);
        leave(&old);

        void *moved = overflow ? NULL : real.realloc(block, size);
        if (overflow)
                errno = ENOMEM;
        int saved = errno;

        enter(&old);
        if (moved || (size == 0 && !overflow)) {
                count_release(known, temporary);
                if (moved)
                        note_allocation(moved, size);
                if (moved && known)
                        counters->reallocations++;
        } else {
                counters->failed_allocations++;
                if (known) {
                        *find(block) = taken;
                        add_live(taken.size, 1);
                }
        }
        leave(&old);
        errno = saved;
        return moved;
}

void *realloc(void *block, size_t size) {
        return any_realloc(block, size, false);
}

void *reallocarray(void *block, size_t n, size_t size) {
        size_t bytes;
        return any_realloc(block, n * size, __builtin_mul_overflow(n, size, &bytes));
}

#define LOGGED(call, size)                                                                         \
        find_real();                                                                               \
        void *block = call;                                                                        \
        log_allocation(block, size);                                                               \
        return block

void *memalign(size_t alignment, size_t size) {
        LOGGED(real.memalign(alignment, size), size);
}

void *aligned_alloc(size_t alignment, size_t size) {
        LOGGED(real.aligned_alloc(alignment, size), size);
}

void *valloc(size_t size) {
        LOGGED(real.valloc(size), size);
}

void *pvalloc(size_t size) {
        LOGGED(real.pvalloc(size), size);
}

int posix_memalign(void **ret, size_t alignment, size_t size) {
        find_real();
        void *block = NULL;
        int r = real.posix_memalign(&block, alignment, size);
        log_allocation(r == 0 ? block : NULL, size);
        if (r == 0)
                *ret = block;
        return r;
}

/* C++: the outermost call counts, with its own size. An exception that passes is a failure, and
 * what the library allocated to throw it is a block like any other. */
struct new_call {
        void *block;
        size_t size;
};

static void end_new(struct new_call *call) {
        if (--depth)
                return;
        for (int i = 0; i < n_pending; i++)
                if (pending[i].block != call->block)
                        log_allocation(pending[i].block, pending[i].size);
        n_pending = 0;
        log_allocation(call->block, call->size);
}

#define NEW(name, params, args, size)                                                              \
        void *name params {                                                                        \
                static void *(*next)params;                                                        \
                if (!next)                                                                         \
                        next = (void *(*)params)dlsym(RTLD_NEXT, #name);                           \
                __attribute__((cleanup(end_new))) struct new_call call = {NULL, size};             \
                depth++;                                                                           \
                call.block = next args;                                                            \
                return call.block;                                                                 \
        }
#define DELETE(name, params)                                                                       \
        void name params {                                                                         \
                free(block);                                                                       \
        }

NEW(_Znwm, (size_t size), (size), size)
NEW(_Znam, (size_t size), (size), size)
NEW(_ZnwmRKSt9nothrow_t, (size_t size, void *tag), (size, tag), size)
NEW(_ZnamRKSt9nothrow_t, (size_t size, void *tag), (size, tag), size)
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align), size)
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align), size)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, void *tag), (size, align, tag),
    size)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, void *tag), (size, align, tag),
    size)
DELETE(_ZdlPv, (void *block))
DELETE(_ZdaPv, (void *block))
DELETE(_ZdlPvm, (void *block, size_t size))
DELETE(_ZdaPvm, (void *block, size_t size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *block, void *tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *block, void *tag))
DELETE(_ZdlPvSt11align_val_t, (void *block, size_t align))
DELETE(_ZdaPvSt11align_val_t, (void *block, size_t align))
DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t align))
DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t align))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, void *tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, void *tag))

static sigset_t at_fork;

static void before_fork(void) {
        enter(&at_fork);
}

static void after_fork(void) {
        leave(&at_fork);
}

__attribute__((constructor)) static void begin(void) {
        sigset_t old;

        pthread_atfork(before_fork, after_fork, after_fork);
        enter(&old);
        leave(&old);
}

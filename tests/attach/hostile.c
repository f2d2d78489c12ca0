/* SPDX-License-Identifier: MIT */
/* hostile HOW [N]: a process whose memory is hard to copy or to read. It holds a list of 100 blocks of 1000 bytes in `list`, one of 3000 bytes that only memory
 * of the kind HOW points to, and has lost one of 5000. "ready PID" when it is so, and on lines before what there is to know; it waits for SIGTERM, and
 * checks that all is as it was: "ok", or "bad WHAT". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
        N_NODES = 100,
        NODE_BYTES = 1000,
        SPECIAL_BYTES = 3000,
        LOST_BYTES = 5000,
        PAGE = 4096,
        HUGE = 2 << 20
};

struct node {
        struct node *next;
        char text[NODE_BYTES - sizeof(struct node *)];
};
struct node *list;

/* Mixed with a key: no pointer. */
static const uintptr_t key = (uintptr_t)0x5a5a5a5a5a5a5a5a;
static uintptr_t hidden_special, hidden_slot;
static volatile sig_atomic_t is_over;

static void refuse(const char *what) {
        printf("cannot %s\n", what);
        exit(0);
}

static char *map(size_t n, int flags, int fd) {
        char *at = mmap(NULL, n, PROT_READ | PROT_WRITE, flags, fd, 0);

        return at == MAP_FAILED ? NULL : at;
}

static char *map_own(size_t n) {
        return map(n, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* ---- kinds of memory: each says where the pointer goes ------------------------------------------------ */

static char *guarded(void) {
        char *at = map_own(3 * PAGE);

        mprotect(at, PAGE, PROT_NONE);
        mprotect(at + 2 * PAGE, PAGE, PROT_NONE);
        return at + PAGE;
}

static char *of_zero(int flags) {
        int fd = open("/dev/zero", O_RDWR);

        return map(PAGE, flags, fd);
}

static char *huge(void) {
        return map(HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
}

static char *large_pages(void) {
        char *at = map_own(16 * HUGE);

        madvise(at, 16 * HUGE, MADV_HUGEPAGE);
        for (size_t i = 0; i < 16 * HUGE; i += PAGE)
                at[i] = 0;
        return at + 8 * HUGE;
}

/* Every second page missing for ever: nobody answers. */
static char *watched(uint64_t features) {
        int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
        struct uffdio_api api = {.api = UFFD_API, .features = features};
        char *at = map_own(64 * PAGE);
        struct uffdio_register area = {.range = {(uintptr_t)at, 64 * PAGE},
                                       .mode = UFFDIO_REGISTER_MODE_MISSING};

        for (unsigned i = 0; i < 64; i += 2)
                at[i * PAGE] = 0;
        return fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &area) == 0
                       ? at
                       : NULL;
}

/* Memory of the kernel's, which is no root, beside a plain page. */
static char *of_kernel(void) {
        struct perf_event_attr what = {.type = PERF_TYPE_SOFTWARE,
                                       .size = sizeof(what),
                                       .config = PERF_COUNT_SW_DUMMY};
        int fd = (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, 0),
            ring = open("/dev/mem", O_RDWR);

        printf("has_ring %d\n", fd >= 0 && map(9 * PAGE, MAP_SHARED, fd) != NULL);
        printf("has_mem %d\n", ring >= 0 && map(PAGE, MAP_SHARED, ring) != NULL);
        return map_own(PAGE);
}

/* The file ends before the mapping does: reading there is a bus error. */
static char *behind_end(void) {
        int fd = memfd_create("short", 0);

        if (ftruncate(fd, PAGE) < 0)
                return NULL;
        return map(16 * PAGE, MAP_SHARED, fd);
}

/* One page each: neighbours differ, so that they stay apart. */
static char *mappings(unsigned n) {
        char *at = mmap(NULL, (size_t)n * PAGE, PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        unsigned i;

        for (i = 0; i < n; i += 2)
                if (mprotect(at + (size_t)i * PAGE, PAGE, PROT_READ | PROT_WRITE) < 0)
                        refuse("map so often");
                else
                        at[(size_t)i * PAGE] = 1;
        return at + (size_t)((n / 2) & ~1u) * PAGE;
}

/* Room for much more than there is; two pages of it are in use. */
static char *reserved(void) {
        size_t n = (size_t)8 << 40;
        char *at = map(n, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

        if (at)
                at[PAGE] = 1;
        return at ? at + n - PAGE : NULL;
}

/* ---- a pointer that moves: it is always in one of two places, far apart --------------------------------- */

static void *volatile *ends[2];

/* Long enough that others see each state. */
static void stay(void) {
        for (volatile int i = 0; i < 200; i++) {}
}

static void *move(void *unused) {
        (void)unused;
        while (!is_over)
                for (int from = 0; from < 2; from++) {
                        *ends[!from] = *ends[from];
                        *ends[from] = NULL;
                        stay();
                }
        return NULL;
}

static char *moving(void) {
        char *at = map_own(64u << 20);

        memset(at, 0, 64u << 20);
        ends[0] = (void *volatile *)(at + 64);
        ends[1] = (void *volatile *)(at + (64u << 20) - 64);
        printf("first %ju\nsecond %ju\n", (uintmax_t)(uintptr_t)ends[0],
               (uintmax_t)(uintptr_t)ends[1]);
        return at + 64;
}

/* ---- the process ---------------------------------------------------------------------------------------- */

static void seal(void) {
        struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        struct sock_fprog program = {1, allow};

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
                refuse("seal");
}

static void be_poor(void) {
        const struct rlimit one = {1, 1};

        setrlimit(RLIMIT_NPROC, &one);
        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
                refuse("become another user");
}

static char *slot_of(const char *how, unsigned n) {
        char *at = map_own(PAGE);

        if (!strcmp(how, "guard"))
                return guarded();
        if (!strcmp(how, "zero"))
                return of_zero(MAP_PRIVATE);
        if (!strcmp(how, "zero-shared"))
                return of_zero(MAP_SHARED);
        if (!strcmp(how, "huge"))
                return huge();
        if (!strcmp(how, "large-pages"))
                return large_pages();
        if (!strcmp(how, "watched"))
                return watched(0);
        if (!strcmp(how, "watched-forks"))
                return watched(UFFD_FEATURE_EVENT_FORK);
        if (!strcmp(how, "kernel"))
                return of_kernel();
        if (!strcmp(how, "behind-end"))
                return behind_end();
        if (!strcmp(how, "mappings"))
                return mappings(n);
        if (!strcmp(how, "reserved"))
                return reserved();
        if (!strcmp(how, "moving"))
                return moving();
        return at;
}

static void close_slot(const char *how, char *slot) {
        const struct rlimit none = {0, 0};

        if (!strcmp(how, "none"))
                mprotect(slot, PAGE, PROT_NONE);
        if (!strcmp(how, "read-only"))
                mprotect(slot, PAGE, PROT_READ);
        if (!strcmp(how, "not-copied") && madvise(slot, PAGE, MADV_DONTFORK) < 0)
                refuse("keep memory from children");
        if (!strcmp(how, "wiped") && madvise(slot, PAGE, MADV_WIPEONFORK) < 0)
                refuse("wipe memory for children");
        if (!strcmp(how, "no-space"))
                setrlimit(RLIMIT_AS, &none);
        if (!strcmp(how, "no-files"))
                setrlimit(RLIMIT_NOFILE, &none);
        if (!strcmp(how, "no-processes"))
                be_poor();
        if (!strcmp(how, "sealed"))
                seal();
}

__attribute__((noinline)) static void make_list(void) {
        for (unsigned i = 0; i < N_NODES; i++) {
                struct node *n = malloc(NODE_BYTES);

                memset(n->text, 0x5a, sizeof(n->text));
                n->next = list;
                list = n;
        }
}

__attribute__((noinline)) static void lose(void) {
        char *lost = malloc(LOST_BYTES);

        memset(lost, 0, LOST_BYTES);
        __asm__ volatile("" ::"r"(lost) : "memory");
}

__attribute__((noinline)) static void make_special(char *slot) {
        void *special = malloc(SPECIAL_BYTES);

        memset(special, 0x5a, SPECIAL_BYTES);
        memcpy(slot, &special, sizeof(special));
        hidden_special = (uintptr_t)special ^ key;
        hidden_slot = (uintptr_t)slot ^ key;
}

__attribute__((noinline)) static void forget_stack(void) {
        char bytes[16384];

        memset(bytes, 0, sizeof(bytes));
        __asm__ volatile("" ::"r"(bytes) : "memory");
}

static int check(const char *kind) {
        const unsigned char *special = (const unsigned char *)(hidden_special ^ key);
        uintptr_t now = 0;
        unsigned n = 0;

        for (const struct node *i = list; i; i = i->next, n++)
                for (size_t k = 0; k < sizeof(i->text); k++)
                        if (i->text[k] != 0x5a)
                                return puts("bad list"), 1;
        for (size_t k = 0; k < SPECIAL_BYTES; k++)
                if (special[k] != 0x5a)
                        return puts("bad special"), 1;
        mprotect((void *)((hidden_slot ^ key) & ~(uintptr_t)(PAGE - 1)), PAGE,
                 PROT_READ | PROT_WRITE);
        if (strcmp(kind, "moving"))
                memcpy(&now, (void *)(hidden_slot ^ key), sizeof(now));
        else
                now = hidden_special ^ key;
        return n == N_NODES && now == (hidden_special ^ key) ? (puts("ok"), 0)
                                                             : (puts("bad slot"), 1);
}

static void on_term(int sig) {
        (void)sig;
        is_over = 1;
}

static const char *how = "plain";

static int wait_and_check(void) {
        while (!is_over)
                if (pause() != -1 || errno != EINTR || !is_over)
                        return puts("bad pause"), 1;
        return check(how);
}

static void *go_on(void *unused) {
        (void)unused;
        exit(wait_and_check());
}

int main(int argc, char **argv) {
        char *slot;
        pthread_t thread;

        how = argc > 1 ? argv[1] : how;
        sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_term}, NULL);
        slot = slot_of(how, argc > 2 ? (unsigned)atoi(argv[2]) : 0);
        if (!slot)
                refuse(how);
        make_list();
        make_special(slot);
        lose();
        close_slot(how, slot);
        slot = NULL;
        forget_stack();
        if (!strcmp(how, "moving"))
                pthread_create(&thread, NULL, move, NULL);
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        if (strcmp(how, "without-main") == 0 && pthread_create(&thread, NULL, go_on, NULL) == 0)
                pthread_exit(NULL);
        return wait_and_check();
}

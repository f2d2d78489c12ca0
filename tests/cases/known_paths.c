/* SPDX-License-Identifier: MIT */
/* known_paths DIR [NAME=VALUE]...: threads, forks and signal handlers that allocate on very many call paths, and know of each of
 * them what became of its blocks. Each process writes that into DIR/PID at its end, a line for each call path:
 *
 *   CODE DEPTH FORM ORIGIN  ASKED ALLOCATIONS BYTES  RELEASING FREES TEMPORARY REALLOCATIONS INHERITED
 *
 * CODE's digits, the lowest first, say which of ten functions calls which: CODE 21, DEPTH 2 is f1 → f2 → malloc. FORM is how it
 * asked, all from the same instruction; ORIGIN what called the first function: 0 a step, 1 to 7 a recursion, 14 a thread's
 * end, 15 a handler. A path's size follows from all of these, so that no two paths taken for each other add up. ASKED is
 * more than ALLOCATIONS, and RELEASING more than FREES, only where a handler jumped out of the allocator.
 *
 * Nothing here allocates unseen but the C library for its threads, and nothing of that is on such a path. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x))                                                                          \
                        _exit(98);                                                                 \
        } while (0)

enum {
        N_ENTRIES = 1 << 17,
        N_DUE = 8192, /* more than the longest life */
        N_CELLS = 8,
        MAX_THREADS = 32,
        MAX_CHILDREN = 64,
        ORIGIN_END = 14,
        ORIGIN_HANDLER = 15,
};
enum form {
        FORM_MALLOC,
        FORM_CALLOC,
        FORM_ALIGNED,
        FORM_MEMALIGN,
        FORM_NEW,
        FORM_NEW_ARRAY,
        N_FORMS
};

/* ---- what is known -------------------------------------------------------------------------------- */

struct entry {
        _Atomic uint64_t key; /* 0: nobody's */
        _Atomic uint64_t n_asked, n_allocs, n_bytes, n_releasing, n_frees, n_temporary, n_reallocs,
                n_inherited;
};
static struct entry entries[N_ENTRIES];

struct block {
        struct entry *entry;
        struct block *next;
        uint64_t seq;
        size_t size;
};

static _Atomic uint64_t n_seqs = 1;
static __thread uint64_t last_seq; /* of the thread's latest allocation; 0: none */

static struct {
        uint64_t seed, steps, paths, threads, generations, forks, timer_us, jumps, deep, mail,
                reallocs, n_handled_least;
        const char *dir;
} option = {.steps = 10000, .paths = 1000, .threads = 1, .generations = 1};

static uint64_t mix(uint64_t x) {
        x ^= x >> 31;
        x *= 0x9e3779b97f4a7c15u;
        return x ^ x >> 29;
}

static uint64_t draw(uint64_t *state, uint64_t below) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        return (*state >> 33) % below;
}

static struct entry *entry_of(uint64_t key) {
        for (uint64_t i = mix(mix(key));; i++) {
                struct entry *e = &entries[i % N_ENTRIES];
                uint64_t was = 0;

                if (atomic_load(&e->key) == key ||
                    atomic_compare_exchange_strong(&e->key, &was, key) || was == key)
                        return e;
        }
}

static size_t size_of(uint64_t key) {
        return sizeof(struct block) + 8 + mix(key + 77) % 800;
}

/* ---- call paths ----------------------------------------------------------------------------------- */

void *_Znwm(size_t size);
void *_Znam(size_t size);
void _ZdlPvm(void *block, size_t size);

typedef void *ask_fn(uintptr_t first, uintptr_t second);
struct ask {
        ask_fn *call;
        uintptr_t first, second;
};

typedef void *hop(uint64_t code, uint64_t depth, const struct ask *ask);
static hop f0, f1, f2, f3, f4, f5, f6, f7, f8, f9;
static hop *const hops[] = {f0, f1, f2, f3, f4, f5, f6, f7, f8, f9};

#define HOP(name)                                                                                  \
        static __attribute__((noinline)) void *name(uint64_t code, uint64_t depth,                 \
                                                    const struct ask *ask) {                       \
                void *p = depth == 1 ? ask->call(ask->first, ask->second)                          \
                                     : hops[code / 10 % 10](code / 10, depth - 1, ask);            \
                __asm__ volatile("" : "+r"(p)); /* no tail call */                                 \
                return p;                                                                          \
        }
HOP(f0)
HOP(f1)
HOP(f2)
HOP(f3)
HOP(f4)
HOP(f5)
HOP(f6)
HOP(f7)
HOP(f8)
HOP(f9)

static const unsigned recursions[8] = {0, 1, 5, 40, 250, 480, 800, 2500};

static __attribute__((noinline)) void *deeper(unsigned levels, uint64_t code, uint64_t depth,
                                              const struct ask *ask) {
        void *p = levels == 1 ? hops[code % 10](code, depth, ask)
                              : deeper(levels - 1, code, depth, ask);
        __asm__ volatile("" : "+r"(p));
        return p;
}

static void *ask_on_path(uint64_t code, uint64_t depth, unsigned origin, const struct ask *ask) {
        if (origin > 0 && origin < 8)
                return deeper(recursions[origin], code, depth, ask);
        return hops[code % 10](code, depth, ask);
}

static pthread_rwlock_t world =
        PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP; /* a fork has it alone */

static struct block *take(uint64_t code, uint64_t depth, unsigned form, unsigned origin,
                          struct block *old) {
        static void *const forms[N_FORMS] = {(void *)malloc,        (void *)calloc,
                                             (void *)aligned_alloc, (void *)memalign,
                                             (void *)_Znwm,         (void *)_Znam};
        uint64_t key = code << 20 | depth << 12 | (uint64_t)form << 8 | origin << 4 | 1;
        size_t size = size_of(key);
        struct ask ask = {(ask_fn *)forms[form], size, 1};
        struct block *b;

        if (form == FORM_ALIGNED || form == FORM_MEMALIGN)
                ask.first = 32, ask.second = size;
        if (old)
                ask = (struct ask){(ask_fn *)(void *)realloc, (uintptr_t)old, size};
        if (option.forks)
                pthread_rwlock_rdlock(&world);
        struct entry *e = entry_of(key);
        struct entry *from = old ? old->entry : NULL;
        bool is_temporary = old && old->seq == last_seq;

        atomic_fetch_add(&e->n_asked, 1);
        b = ask_on_path(code, depth, origin, &ask);
        MUST(b);
        atomic_fetch_add(&e->n_allocs, 1);
        atomic_fetch_add(&e->n_bytes, size);
        if (old) {
                atomic_fetch_add(&e->n_reallocs, 1);
                atomic_fetch_add(&from->n_releasing, 1);
                atomic_fetch_add(&from->n_frees, 1);
                atomic_fetch_add(&from->n_temporary, is_temporary);
        }
        *b = (struct block){e, NULL, atomic_fetch_add(&n_seqs, 1), size};
        last_seq = b->seq;
        if (option.forks)
                pthread_rwlock_unlock(&world);
        return b;
}

static void drop(struct block *b) {
        struct entry *e = b->entry;
        bool is_temporary = b->seq == last_seq;
        unsigned form = atomic_load(&e->key) >> 8 & 15;

        if (option.forks)
                pthread_rwlock_rdlock(&world);
        atomic_fetch_add(&e->n_releasing, 1);
        if ((form == FORM_NEW || form == FORM_NEW_ARRAY) && b->seq % 2)
                _ZdlPvm(b, b->size);
        else
                free(b);
        atomic_fetch_add(&e->n_frees, 1);
        atomic_fetch_add(&e->n_temporary, is_temporary);
        if (option.forks)
                pthread_rwlock_unlock(&world);
}

/* A path by its number. One in two differs from others in nothing but its outermost function; some are short. */
static struct block *take_nth(uint64_t n, unsigned form, unsigned origin, struct block *old) {
        static const uint64_t power[] = {1,      10,      100,      1000,      10000,
                                         100000, 1000000, 10000000, 100000000, 1000000000};
        uint64_t x = n % 2 ? mix(n / 20) / 16 % 100000000 * 10 + n / 2 % 10 : mix(n) / 16;
        uint64_t depth = n % 16 == 0 ? 1 + n / 16 % 4 : 5 + n / 64 % 5;

        return take(x % power[depth], depth, form, origin, old);
}

/* ---- a thread's work ------------------------------------------------------------------------------ */

struct worker {
        uint64_t no, rng, n_takes, n_released;
        struct block *due[N_DUE]; /* by how many allocations it will have made */
        unsigned n_left;          /* steps of a child */
        bool is_used;
};
static struct worker workers[MAX_THREADS + 1];
static _Atomic(struct block *) cells[N_CELLS];
static _Atomic(struct block *) orphans; /* of threads that ended; taken whole */
static pid_t children[MAX_CHILDREN];
static unsigned n_children, generation;
static pthread_key_t at_end;

static void push_orphan(struct block *b) {
        b->next = atomic_load(&orphans);
        while (!atomic_compare_exchange_weak(&orphans, &b->next, b))
                ;
}

static void keep_for(struct worker *w, struct block *b) {
        static const uint16_t lives[] = {1,   1,   2,   3,   8,    64,   254,  255, 256,
                                         257, 258, 511, 512, 1023, 1024, 1025, 5000};
        uint64_t at = w->n_takes + lives[draw(&w->rng, sizeof(lives) / sizeof(*lives))];

        b->next = w->due[at % N_DUE];
        w->due[at % N_DUE] = b;
}

static unsigned draw_form(struct worker *w) {
        return (unsigned)draw(&w->rng, N_FORMS);
}

static uint64_t draw_path(struct worker *w) {
        uint64_t n = w->n_takes;

        /* all in turn, and some often */
        return n % 2 ? n / 2 % option.paths
                     : draw(&w->rng, 1 + option.paths / (1 + draw(&w->rng, 200)));
}

static void release_due(struct worker *w) {
        for (; w->n_released < w->n_takes; w->n_released++) {
                struct block **list = &w->due[w->n_released % N_DUE], *b;

                while ((b = *list)) {
                        *list = b->next;
                        if (option.reallocs && draw(&w->rng, 8) == 0) {
                                b = take_nth(draw_path(w), FORM_MALLOC, 0, b);
                                w->n_takes++;
                                keep_for(w, b);
                        } else {
                                drop(b);
                        }
                }
        }
}

static __attribute__((noinline)) void step(struct worker *w) {
        unsigned origin = option.deep && draw(&w->rng, 24) == 0 ? (unsigned)draw(&w->rng, 8) : 0;
        struct block *b;

        release_due(w);
        b = take_nth(draw_path(w), draw_form(w), origin, NULL);
        w->n_takes++;
        if (draw(&w->rng, 100) < option.mail)
                b = atomic_exchange(&cells[draw(&w->rng, N_CELLS)], b);
        if (!b || draw(&w->rng, 400) == 0)
                return; /* for ever */
        if (draw(&w->rng, 3) == 0)
                drop(b);
        else
                keep_for(w, b);
}

/* ---- processes ------------------------------------------------------------------------------------ */

static char *put_number(char *to, uint64_t value) {
        char digits[24];
        int n = 0;

        do {
                digits[n++] = (char)('0' + value % 10);
                value /= 10;
        } while (value);
        while (n)
                *to++ = digits[--n];
        *to++ = ' ';
        return to;
}

/* Under another name first: a file that is there is whole. */
static void tell(void) {
        static char text[1 << 16], path[4096], whole_path[4096];
        size_t n = strlen(option.dir);
        char *at = text;
        int fd;

        memcpy(path, option.dir, n);
        path[n] = '/';
        *(put_number(path + n + 1, (uint64_t)getpid()) - 1) = '\0';
        strcpy(whole_path, path);
        strcat(path, ".part");
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        MUST(fd >= 0);
        for (struct entry *e = entries; e < entries + N_ENTRIES; e++) {
                uint64_t key = atomic_load(&e->key);

                if (!key)
                        continue;
                at = put_number(put_number(at, key >> 20), key >> 12 & 255);
                at = put_number(put_number(at, key >> 8 & 15), key >> 4 & 15);
                at = put_number(put_number(at, e->n_asked), e->n_allocs);
                at = put_number(put_number(at, e->n_bytes), e->n_releasing);
                at = put_number(put_number(at, e->n_frees), e->n_temporary);
                at = put_number(put_number(at, e->n_reallocs), e->n_inherited);
                at[-1] = '\n';
                if (at > text + sizeof(text) - 400 || e == entries + N_ENTRIES - 1) {
                        MUST(write(fd, text, (size_t)(at - text)) == at - text);
                        at = text;
                }
        }
        MUST(write(fd, text, (size_t)(at - text)) == at - text && close(fd) == 0 &&
             rename(path, whole_path) == 0);
}

static void become_child(struct worker *w) {
        pthread_rwlock_t fresh = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

        memcpy(&world, &fresh, sizeof(fresh));
        for (struct entry *e = entries; e < entries + N_ENTRIES; e++)
                if (atomic_load(&e->key)) {
                        e->n_inherited = e->n_inherited + e->n_allocs - e->n_frees;
                        e->n_asked = e->n_allocs = e->n_bytes = e->n_releasing = e->n_frees =
                                e->n_temporary = e->n_reallocs = 0;
                }
        last_seq = 0;
        generation++;
        n_children = 0;
        w->rng += 99;
}

/* A child goes on with the thread's blocks as the parent does: most are released in both. */
static void fork_here(struct worker *w) {
        static const char *const nothing[] = {"known_paths", NULL};
        pid_t pid;

        if (draw(&w->rng, 4) == 0) {
                pid = vfork();
                if (pid == 0) {
                        execv("/proc/self/exe", (char *const *)(uintptr_t)nothing);
                        _exit(97);
                }
                MUST(pid > 0 && waitpid(pid, NULL, 0) == pid);
                return;
        }
        pthread_rwlock_wrlock(&world);
        if (n_children == MAX_CHILDREN) {
                pthread_rwlock_unlock(&world);
                return;
        }
        pid = fork();
        MUST(pid >= 0);
        if (pid > 0) {
                children[n_children++] = pid;
                pthread_rwlock_unlock(&world);
                return;
        }
        become_child(w);
        for (unsigned i = 0; i < 800; i++) {
                step(w);
                if (generation < 3 && draw(&w->rng, 500) == 0)
                        fork_here(w);
        }
        for (unsigned i = 0; i < n_children; i++)
                MUST(waitpid(children[i], NULL, 0) == children[i]);
        tell();
        _exit(0);
}

/* ---- threads -------------------------------------------------------------------------------------- */

/* A thread's last words: it releases some, leaves the others to whoever wants them, and allocates a little still. */
static void on_thread_end(void *of) {
        struct worker *w = of;

        for (unsigned i = 0; i < N_DUE; i++)
                while (w->due[i]) {
                        struct block *b = w->due[i];

                        w->due[i] = b->next;
                        if (draw(&w->rng, 3) == 0)
                                drop(b);
                        else
                                push_orphan(b);
                }
        for (unsigned i = 0; i < 3; i++) {
                struct block *b = take_nth(draw_path(w), FORM_MALLOC, ORIGIN_END, NULL);

                if (i)
                        drop(b);
        }
}

static void work(struct worker *w) {
        struct block *b = atomic_exchange(&orphans, NULL), *next;

        for (; b; b = next) {
                next = b->next;
                drop(b);
        }
        for (uint64_t i = 0; i < option.steps; i++) {
                step(w);
                if (option.forks && draw(&w->rng, 1 + option.steps / option.forks) == 0)
                        fork_here(w);
        }
}

static void *run_worker(void *of) {
        MUST(pthread_setspecific(at_end, of) == 0);
        work(of);
        return NULL;
}

static void run_threads(void) {
        pthread_t threads[MAX_THREADS];

        MUST(pthread_key_create(&at_end, on_thread_end) == 0);
        for (uint64_t g = 0; g < option.generations; g++) {
                for (uint64_t i = 0; i < option.threads; i++) {
                        workers[i].n_takes = workers[i].n_released = 0;
                        workers[i].rng = mix(option.seed * 1000 + g * 100 + i);
                        MUST(pthread_create(&threads[i], NULL, run_worker, &workers[i]) == 0);
                }
                for (uint64_t i = 0; i < option.threads; i++)
                        MUST(pthread_join(threads[i], NULL) == 0);
        }
}

/* ---- signals -------------------------------------------------------------------------------------- */

static volatile unsigned long n_handled, n_jumped;
static uint64_t handler_rng = 5;
static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

/* Allocates, takes what the interrupted code left in a cell, perhaps a moment ago, and leaves it another. */
static __attribute__((noinline)) void on_timer(int sig) {
        struct block *b;

        (void)sig;
        n_handled++;
        b = take_nth(draw(&handler_rng, option.paths), FORM_MALLOC, ORIGIN_HANDLER, NULL);
        b = atomic_exchange(&cells[draw(&handler_rng, N_CELLS)], b);
        if (b)
                drop(b);
        b = atomic_exchange(&cells[draw(&handler_rng, N_CELLS)], NULL);
        if (b)
                drop(b);
        if (may_jump && draw(&handler_rng, option.jumps) == 0) {
                n_jumped++;
                siglongjmp(back, 1);
        }
}

static void run_with_timer(struct worker *w) {
        struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
        struct itimerval every = {{0, (suseconds_t)option.timer_us},
                                  {0, (suseconds_t)option.timer_us}};
        struct itimerval never = {{0, 0}, {0, 0}};

        MUST(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
        for (volatile uint64_t i = 0; i < option.steps || n_handled < option.n_handled_least;) {
                if (option.jumps)
                        sigsetjmp(back, 1);
                may_jump = option.jumps != 0;
                i++;
                if (i > 50 * option.steps)
                        pause();
                step(w);
                may_jump = 0;
        }
        MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
        /* whatever was interrupted and how: from here on all is as ever */
        action.sa_handler = SIG_IGN;
        MUST(sigaction(SIGALRM, &action, NULL) == 0);
        for (uint64_t i = 0; i < option.steps / 4; i++)
                step(w);
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static void set_option(const char *text) {
        static const struct {
                const char *name;
                uint64_t *value;
        } known[] = {{"seed", &option.seed},
                     {"steps", &option.steps},
                     {"paths", &option.paths},
                     {"threads", &option.threads},
                     {"generations", &option.generations},
                     {"forks", &option.forks},
                     {"timer", &option.timer_us},
                     {"jumps", &option.jumps},
                     {"deep", &option.deep},
                     {"mail", &option.mail},
                     {"reallocs", &option.reallocs},
                     {"handled", &option.n_handled_least}};
        const char *equals = strchr(text, '=');

        MUST(equals);
        for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
                if (strlen(known[i].name) == (size_t)(equals - text) &&
                    !strncmp(known[i].name, text, (size_t)(equals - text))) {
                        *known[i].value = strtoull(equals + 1, NULL, 10);
                        return;
                }
        _exit(96);
}

int main(int argc, char **argv) {
        struct worker *own = &workers[MAX_THREADS];

        if (argc < 2)
                return 0;
        option.dir = argv[1];
        for (int i = 2; i < argc; i++)
                set_option(argv[i]);
        MUST(option.threads <= MAX_THREADS && option.paths > 0);
        own->rng = mix(option.seed * 1000 + 999);
        if (option.timer_us)
                run_with_timer(own);
        else if (option.threads == 1 && option.generations == 1)
                work(own);
        else
                run_threads();
        for (unsigned i = 0; i < n_children; i++)
                MUST(waitpid(children[i], NULL, 0) == children[i]);
        tell();
        return 0;
}

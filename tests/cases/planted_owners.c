// SPDX-License-Identifier: MIT
/* What somebody keeps, at a place that the first argument names: each time N entries of KEPT_BYTES, and nothing else that is large. Says "ready", and
 * ends when its input does. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 3000, KEPT_BYTES = 400, QUEUE = 256 };

/* As an asynchronous runtime has it: a set's entries and its tasks point to each other, an entry to the set. */
struct set;
struct entry;
struct task {
        struct entry *waker;
        struct task *next, *previous; /* the runtime's own list */
        struct runtime *runtime;
        char *kept;
};
struct entry {
        struct entry *next, *previous;
        struct set *set;
        struct task *task;
};
struct set {
        struct entry *first, *last;
};
struct runtime {
        struct task *tasks;        /* all of them */
        struct task *queue[QUEUE]; /* those that were taken out are still there */
};
struct node {
        struct node *next;
        char *kept;
};

static struct node *volatile static_list;
static struct node **volatile static_registry; /* a table in the heap */
static struct node *volatile one_of_two, *volatile other_of_two;
static struct service {
        struct node *list;
        char name[56];
} *volatile static_service;
static __thread struct node *volatile thread_list;
static __thread struct runtime *volatile thread_runtime;
static pthread_barrier_t begun;

static __attribute__((noinline)) char *make_kept(void) {
        return memset(malloc(KEPT_BYTES), 1, KEPT_BYTES);
}

static __attribute__((noinline)) struct node *make_list(void) {
        struct node *list = NULL;

        for (int i = 0; i < N; i++) {
                struct node *n = malloc(sizeof(*n));

                *n = (struct node){list, make_kept()};
                list = n;
        }
        return list;
}

static __attribute__((noinline)) struct set *spawn_all(struct runtime *r) {
        struct set *set = calloc(1, sizeof(*set));

        for (int i = 0; i < N; i++) {
                struct entry *e = malloc(sizeof(*e));
                struct task *t = malloc(sizeof(*t));

                *t = (struct task){e, r->tasks, NULL, r, make_kept()};
                *e = (struct entry){set->first, NULL, set, t};
                if (r->tasks)
                        r->tasks->previous = t;
                if (set->first)
                        set->first->previous = e;
                else
                        set->last = e;
                r->tasks = t;
                set->first = e;
                r->queue[i % QUEUE] = t;
        }
        return set;
}

static __attribute__((noinline)) void say_ready_and_wait(void) {
        char c;

        puts("ready");
        fflush(stdout);
        while (read(0, &c, 1) > 0)
                ;
}

static __attribute__((noinline)) void work_on_list(void) {
        struct node *volatile mine = make_list();

        pthread_barrier_wait(&begun);
        for (;;)
                pause();
        (void)mine;
}

static void *work(void *arg) {
        if (arg == &begun)
                work_on_list();
        else if (arg)
                thread_runtime = arg;
        else
                thread_list = make_list();
        pthread_barrier_wait(&begun);
        for (;;)
                pause();
        return NULL;
}

static void begin_worker(void *arg) {
        pthread_t worker;

        pthread_barrier_init(&begun, NULL, 2);
        pthread_create(&worker, NULL, work, arg);
        pthread_setname_np(worker, "worker");
        pthread_barrier_wait(&begun);
}

static __attribute__((noinline)) void serve_list(void) {
        struct node *volatile mine = make_list();

        say_ready_and_wait();
        (void)mine;
}

static __attribute__((noinline)) void serve_set(void) {
        struct runtime *r = calloc(1, sizeof(*r));
        struct set *volatile mine = spawn_all(r);

        begin_worker(r);
        r = NULL;
        say_ready_and_wait();
        (void)mine;
}

/* What a function leaves on the stack when it has returned would point to the blocks, too. */
static __attribute__((noinline)) void wipe_stack(void) {
        volatile char below[65536];

        for (size_t i = 0; i < sizeof(below); i++)
                below[i] = 0;
}

/* Memory right behind the zeroed variables of a library: the kernel makes one mapping of both. */
static void *map_behind_variables(void) {
        FILE *maps = fopen("/proc/self/maps", "r");
        char line[512], file[512] = "";
        unsigned long begin, end, file_end = 0;
        void *got = MAP_FAILED;

        while (got == MAP_FAILED && fgets(line, sizeof(line), maps)) {
                char path[512] = "";

                if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %511s", &begin, &end, path) < 2)
                        continue;
                if (!path[0] && begin == file_end && strstr(file, ".so"))
                        got = mmap((void *)end, 65536, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
                strcpy(file, path);
                file_end = end;
        }
        fclose(maps);
        if (got == MAP_FAILED)
                exit(9);
        return got;
}

int main(int n_args, char **args) {
        const char *where = args[n_args - 1];

        if (strcmp(where, "variable") == 0) {
                static_list = make_list();
        } else if (strcmp(where, "registry") == 0) {
                static_registry = calloc(N, sizeof(static_registry[0]));
                for (int i = 0; i < N; i++) {
                        static_registry[i] = malloc(sizeof(struct node));
                        *static_registry[i] = (struct node){NULL, make_kept()};
                }
        } else if (strcmp(where, "two") == 0) {
                one_of_two = other_of_two = make_list();
        } else if (strcmp(where, "service") == 0) {
                static_service = calloc(1, sizeof(*static_service));
                static_service->list = make_list();
        } else if (strcmp(where, "worker") == 0) {
                begin_worker(&begun);
        } else if (strcmp(where, "thread-local") == 0) {
                begin_worker(NULL);
        } else if (strcmp(where, "mapping") == 0) {
                struct node **pool = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                pool[7] = make_list();
        } else if (strcmp(where, "behind") == 0) {
                struct node **pool = map_behind_variables();

                pool[7] = make_list();
        } else if (strcmp(where, "frame") == 0) {
                serve_list();
        } else if (strcmp(where, "set") == 0) {
                serve_set();
        }
        wipe_stack();
        say_ready_and_wait();
        return 0;
}

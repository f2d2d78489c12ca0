/* SPDX-License-Identifier: MIT */
/* Blocks released by another thread than the one that allocated them.
 *
 *   pipeline, pool, reaper, ring    most are
 *   own, seldom, few, returned   most are not, or there are few */
#include "shape.h"

enum { QUEUE = 64 };

struct queue {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        void *items[QUEUE];
        long n_put, n_taken;
        int is_over;
};

static struct queue to_worker = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                 .changed = PTHREAD_COND_INITIALIZER};
static struct queue to_owner = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                .changed = PTHREAD_COND_INITIALIZER};
static long size, per_step, depth, seldom_in;
static unsigned long n_elsewhere, n_blocks, elsewhere_bytes;

static void put(struct queue *q, void *item) {
        pthread_mutex_lock(&q->lock);
        while (q->n_put - q->n_taken == QUEUE)
                pthread_cond_wait(&q->changed, &q->lock);
        q->items[q->n_put++ % QUEUE] = item;
        pthread_cond_broadcast(&q->changed);
        pthread_mutex_unlock(&q->lock);
}

/* NULL: nothing will come any more; or nothing is there, for those who do not wait. */
static void *take(struct queue *q, int waits) {
        void *item = NULL;

        pthread_mutex_lock(&q->lock);
        while (waits && q->n_put == q->n_taken && !q->is_over)
                pthread_cond_wait(&q->changed, &q->lock);
        if (q->n_put > q->n_taken) {
                item = q->items[q->n_taken++ % QUEUE];
                pthread_cond_broadcast(&q->changed);
        }
        pthread_mutex_unlock(&q->lock);
        return item;
}

static void finish(struct queue *q) {
        pthread_mutex_lock(&q->lock);
        q->is_over = 1;
        pthread_cond_broadcast(&q->changed);
        pthread_mutex_unlock(&q->lock);
}

static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;

NAMED static void *make_message(uint64_t *state, int is_elsewhere) {
        size_t bytes = (size_t)size / 2 + chance_next(state) % (unsigned long)size;
        void *message = malloc(bytes);

        MUST(message);
        pthread_mutex_lock(&count_lock);
        n_blocks++;
        n_elsewhere += is_elsewhere != 0;
        elsewhere_bytes += is_elsewhere ? bytes : 0;
        pthread_mutex_unlock(&count_lock);
        return message;
}

static void *release_all(void *arg) {
        void *message;

        while ((message = take((struct queue *)arg, 1)))
                free(message);
        return NULL;
}

/* The owner makes them, workers release them. */
static void send_messages(long i) {
        (void)i;
        for (long k = 0; k < per_step; k++)
                put(&to_worker, make_message(&shape_state, 1));
}

/* One in a few hundred is given away. */
static void send_seldom(long i) {
        (void)i;
        for (long k = 0; k < per_step; k++) {
                int is_given = chance((unsigned long)seldom_in) == 0;
                void *message = make_message(&shape_state, is_given);

                if (is_given)
                        put(&to_worker, message);
                else
                        free(message);
        }
}

static void send_few(long i) {
        if (i % seldom_in == 0)
                put(&to_worker, make_message(&shape_state, 1));
}

static void *send_back(void *arg) {
        void *message;

        while ((message = take((struct queue *)arg, 1)))
                put(&to_owner, message);
        return NULL;
}

/* Workers use them and give them back; the owner releases what it made. */
static void send_and_release(long i) {
        void *message;

        (void)i;
        for (long k = 0; k < per_step; k++) {
                put(&to_worker, make_message(&shape_state, 0));
                while ((message = take(&to_owner, 0)))
                        free(message);
        }
}

static void *own_work(void *arg) {
        uint64_t state = (uint64_t)(uintptr_t)arg;
        void *recent[8] = {0};

        for (long i = 0; i < shape_n_steps; i++) {
                pace(i);
                for (long k = 0; k < per_step; k++) {
                        free(recent[k % 8]);
                        recent[k % 8] = make_message(&state, 0);
                }
        }
        for (int k = 0; k < 8; k++)
                free(recent[k]);
        return NULL;
}

/* Several producers, one thread that releases. */
static void *produce(void *arg) {
        uint64_t state = (uint64_t)(uintptr_t)arg;

        for (long i = 0; i < shape_n_steps; i++) {
                pace(i);
                for (long k = 0; k < per_step; k++)
                        put(&to_worker, make_message(&state, 1));
        }
        return NULL;
}

/* Each thread releases what the thread before it left. */
static void *left_by_other[256];

static void *inherit(void *arg) {
        long round = (long)(uintptr_t)arg;
        uint64_t state = (uint64_t)round + 77;

        for (int k = 0; k < 256; k++) {
                free(left_by_other[k]);
                left_by_other[k] = make_message(&state, 1);
        }
        return NULL;
}

static void start(pthread_t *threads, long n, void *(*work)(void *), void *arg) {
        for (long i = 0; i < n; i++)
                MUST(pthread_create(&threads[i], NULL, work,
                                    arg ? arg : (void *)(uintptr_t)(chance(1u << 30) + 1)) == 0);
}

static void join(pthread_t *threads, long n) {
        for (long i = 0; i < n; i++)
                pthread_join(threads[i], NULL);
}

static void work(step_fn step) {
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                relay(depth, step, i);
        }
}

static void with_workers(step_fn step, long n_workers, void *(*worker)(void *)) {
        pthread_t workers[8];

        start(workers, n_workers, worker, &to_worker);
        work(step);
        finish(&to_worker);
        join(workers, n_workers);
        for (void *message; (message = take(&to_owner, 0));)
                free(message);
}

static void run_threads(long n, void *(*of)(void *)) {
        pthread_t threads[8], reaper;

        start(&reaper, 1, release_all, &to_worker);
        start(threads, n, of, NULL);
        join(threads, n);
        finish(&to_worker);
        join(&reaper, 1);
}

static void run_relay_race(void) {
        pthread_t runner;

        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                MUST(pthread_create(&runner, NULL, inherit, (void *)(uintptr_t)i) == 0);
                pthread_join(runner, NULL);
        }
        for (int k = 0; k < 256; k++)
                free(left_by_other[k]);
}

int main(int argc, char **argv) {
        long n;

        shape_start(argc, argv);
        size = param("size");
        per_step = param("per_step");
        depth = param("depth");
        seldom_in = param("seldom_in");
        n = param("threads");
        if (shape_is("pipeline"))
                with_workers(send_messages, 1, release_all);
        else if (shape_is("pool"))
                with_workers(send_messages, n, release_all);
        else if (shape_is("reaper"))
                run_threads(n, produce);
        else if (shape_is("ring"))
                run_relay_race();
        else if (shape_is("own"))
                run_threads(n, own_work);
        else if (shape_is("seldom"))
                with_workers(send_seldom, n, release_all);
        else if (shape_is("few"))
                with_workers(send_few, n, release_all);
        else if (shape_is("returned"))
                with_workers(send_and_release, n, send_back);
        else
                return 96;
        tell_text("culprit", "make_message");
        tell("blocks", n_blocks);
        tell("elsewhere", n_elsewhere);
        tell("elsewhere_bytes", elsewhere_bytes);
        shape_end();
        return 0;
}

/* SPDX-License-Identifier: MIT */
/* Memory asked for and never touched. `untouched` counts whole pages that nothing was written to.
 *
 *   head, sparse, threads, zeroed   much of it is not touched
 *   full, backwards, small, brief    all of it is, or it is not large, or not there for long */
#include "shape.h"

enum { PAGE = 4096 };
static long n_buffers, buffer_bytes, touched_pct, depth;
static char *buffers[256];
static unsigned long asked_bytes, untouched_bytes;

static void asked(long written_bytes) {
        asked_bytes += (unsigned long)buffer_bytes;
        untouched_bytes += (unsigned long)(buffer_bytes - written_bytes) / PAGE * PAGE;
}

NAMED static char *reserve_buffer(void) {
        return (char *)malloc((size_t)buffer_bytes);
}

NAMED static char *zeroed_table(void) {
        return (char *)calloc((size_t)buffer_bytes / 8, 8);
}

static long touched_bytes(void) {
        return buffer_bytes / 100 * touched_pct;
}

static void touch_head(char *buffer) {
        for (long at = 0; at < touched_bytes(); at += PAGE)
                buffer[at] = 1;
        asked(touched_bytes());
}

/* One page of every few, so that touched_pct are. */
static void touch_sparse(char *buffer) {
        long n = 0;

        for (long at = 0; at < buffer_bytes; at += PAGE * 100 / (touched_pct + 1), n++)
                buffer[at] = 1;
        asked(n * PAGE);
}

static void make_all(char *(*make)(void), void (*touch)(char *)) {
        for (long i = 0; i < n_buffers; i++) {
                MUST(buffers[i] = make());
                touch(buffers[i]);
        }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
        char *buffer = reserve_buffer();

        (void)arg;
        MUST(buffer);
        pthread_mutex_lock(&lock);
        touch_head(buffer);
        pthread_mutex_unlock(&lock);
        pace(shape_n_steps - 1);
        free(buffer);
        return NULL;
}

static pthread_t threads[256];

static void make_threads(void) {
        for (long i = 0; i < n_buffers; i++)
                MUST(pthread_create(&threads[i], NULL, worker, NULL) == 0);
}

static void join_threads(void) {
        for (long i = 0; i < n_buffers; i++)
                pthread_join(threads[i], NULL);
}

/* ---- touched --------------------------------------------------------------------------------- */

static void touch_full(char *buffer) {
        memset(buffer, 1, (size_t)buffer_bytes);
}

static void touch_backwards(char *buffer) {
        for (long at = buffer_bytes - 1; at > 0; at -= PAGE)
                buffer[at] = 1;
}

static void touch_nothing(char *buffer) {
        (void)buffer;
}

/* Asked for, not touched, and gone again at once. */
NAMED static void brief_buffer(void) {
        char *buffer = (char *)malloc((size_t)buffer_bytes);

        MUST(buffer);
        buffer[0] = 1;
        free(buffer);
}

int main(int argc, char **argv) {
        const char *culprit = "reserve_buffer";
        int is_brief;

        shape_start(argc, argv);
        n_buffers = param("buffers");
        buffer_bytes = param("buffer_bytes");
        touched_pct = param("touched_pct");
        depth = param("depth");
        is_brief = shape_is("brief");
        MUST(n_buffers <= 256);
        if (shape_is("head")) {
                make_all(reserve_buffer, touch_head);
        } else if (shape_is("sparse")) {
                make_all(reserve_buffer, touch_sparse);
        } else if (shape_is("zeroed")) {
                make_all(zeroed_table, touch_head);
                culprit = "zeroed_table";
        } else if (shape_is("threads")) {
                make_threads();
        } else if (shape_is("full")) {
                make_all(reserve_buffer, touch_full);
        } else if (shape_is("backwards")) {
                make_all(reserve_buffer, touch_backwards);
        } else if (shape_is("small")) {
                make_all(reserve_buffer, touch_nothing);
        } else if (!is_brief) {
                return 96;
        }
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                if (is_brief)
                        brief_buffer();
        }
        if (shape_is("threads"))
                join_threads();
        for (long i = 0; i < n_buffers; i++)
                free(buffers[i]);
        tell_text("culprit", culprit);
        tell("asked", asked_bytes);
        tell("untouched", untouched_bytes);
        shape_end();
        return 0;
}

/* SPDX-License-Identifier: MIT */
/* A web shop in small, for docs/recipes.md: it does one of everything that people ask about, always the same number of times. It loads a
 * catalog, marks that it is warm, serves 1,000 requests (one in ten opens a session that nobody ever closes), runs tasks, makes a report
 * in a thread of its own, and starts a child. `shop --before` is how it was: it has no sessions yet. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "silt/silt.h"

#define NOINLINE __attribute__((noinline, noclone))

enum {
        N_ITEMS = 400,
        N_IMAGES = 2,
        N_REQUESTS = 1000,
        REQUESTS_PER_MAIL = 100,
        N_TASKS = 40,
        N_PAGES = 24,
        KIB = 1024,
        MIB = 1024 * 1024,
};

struct session {
        struct session *next;
        char cart[1192];
};

static bool has_sessions = true;
static void *items[N_ITEMS], *images[N_IMAGES];
static void *volatile tasks[N_TASKS]; /* nobody reads it: a compiler would leave it out */
static char *item_index, *archive;
static struct session *sessions;
static char *mails[REQUESTS_PER_MAIL];
static unsigned long checksum; /* what a block holds is used, so that no allocation is left out */

/* Blocks are written: pages that nobody touches are not resident. */
static void *fill(void *block, size_t size_bytes) {
        if (!block)
                abort();
        memset(block, 1, size_bytes);
        checksum += *(unsigned char *)block;
        return block;
}

static void nap(unsigned ms) {
        nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL);
}

/* ---- startup ------------------------------------------------------------------------------------- */

static NOINLINE void load_catalog(void) {
        for (size_t i = 0; i < N_ITEMS; i++)
                items[i] = fill(malloc(256 + i % 4 * 64), 256);
}

static NOINLINE void load_images(void) {
        for (size_t i = 0; i < N_IMAGES; i++)
                images[i] = fill(malloc(2 * MIB), 2 * MIB);
}

/* Doubled whenever it is full. */
static NOINLINE void build_index(void) {
        for (size_t size_bytes = KIB; size_bytes <= 128 * KIB; size_bytes *= 2) {
                item_index = realloc(item_index, size_bytes);
                fill(item_index, size_bytes);
        }
}

static NOINLINE void map_archive(void) {
        archive = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (archive == MAP_FAILED)
                abort();
        memset(archive, 1, 8 * MIB);
}

/* ---- requests ------------------------------------------------------------------------------------ */

static NOINLINE void parse_request(void) {
        free(fill(malloc(64), 64));
        free(fill(malloc(400), 400));
        free(fill(malloc(2000), 2000));
}

/* Grows by as much as the next line needs. */
static NOINLINE void render_page(void) {
        char *page = NULL;

        for (size_t size_bytes = 500; size_bytes <= 4000; size_bytes += 500) {
                page = realloc(page, size_bytes);
                fill(page, size_bytes);
        }
        free(page);
}

static NOINLINE void open_session(void) {
        struct session *s = fill(malloc(sizeof(*s)), sizeof(*s));

        s->next = sessions;
        sessions = s;
}

/* Nobody keeps it. */
static NOINLINE void print_coupon(void) {
        fill(malloc(96), 96);
}

static NOINLINE char *write_mail(void) {
        return fill(malloc(700), 700);
}

static NOINLINE void *send_mails(void *arg) {
        (void)arg;
        silt_thread_name("mailer");
        for (size_t i = 0; i < REQUESTS_PER_MAIL; i++) {
                free(mails[i]);
                mails[i] = NULL;
        }
        return NULL;
}

static void run_thread(void *(*body)(void *)) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, body, NULL) != 0)
                abort();
        pthread_join(thread, NULL);
}

static NOINLINE void serve_request(size_t i) {
        parse_request();
        render_page();
        if (i % 10 == 0 && has_sessions)
                open_session();
        if (i % 50 == 0)
                print_coupon();
        mails[i % REQUESTS_PER_MAIL] = write_mail();
}

static NOINLINE void serve(void) {
        for (size_t i = 0; i < N_REQUESTS; i++) {
                if (i == N_REQUESTS / 2)
                        silt_mark("midway");
                serve_request(i);
                if (i % REQUESTS_PER_MAIL == REQUESTS_PER_MAIL - 1) {
                        run_thread(send_mails);
                        nap(20);
                }
        }
}

/* ---- tasks --------------------------------------------------------------------------------------- */

static NOINLINE void *poll_payment(void) {
        return fill(malloc(3000), 3000);
}

static NOINLINE void *poll_delivery(void) {
        return fill(malloc(1040), 1040);
}

static NOINLINE void run_tasks(void) {
        for (size_t i = 0; i < N_TASKS; i++)
                tasks[i] = i % 4 ? poll_delivery() : poll_payment();
}

/* ---- report -------------------------------------------------------------------------------------- */

static NOINLINE void *make_report(void *arg) {
        void *pages[N_PAGES];

        (void)arg;
        silt_thread_name("reporter");
        for (size_t i = 0; i < N_PAGES; i++)
                pages[i] = fill(malloc(MIB), MIB);
        nap(60);
        for (size_t i = 0; i < N_PAGES; i++)
                free(pages[i]);
        return NULL;
}

static NOINLINE void make_thumbnails(void) {
        for (size_t i = 0; i < 300; i++)
                free(fill(malloc(5000), 5000));
        free(fill(malloc(3 * MIB), 3 * MIB));
}

static NOINLINE void start_child(void) {
        pid_t child = fork();

        if (child == 0) {
                make_thumbnails();
                _exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child)
                abort();
}

static NOINLINE void close_shop(void) {
        for (size_t i = 0; i < N_IMAGES; i++)
                free(images[i]);
        for (size_t i = 0; i < N_ITEMS; i++)
                free(items[i]);
}

int main(int argc, char **argv) {
        has_sessions = argc < 2 || strcmp(argv[1], "--before") != 0;
        silt_thread_name("shop");
        load_catalog();
        load_images();
        build_index();
        map_archive();
        nap(120);
        silt_mark("warm");
        serve();
        silt_mark("served");
        run_tasks();
        nap(400);
        run_thread(make_report);
        start_child();
        close_shop();
        return checksum == 0; /* not a word: printing allocates, and not the same everywhere */
}

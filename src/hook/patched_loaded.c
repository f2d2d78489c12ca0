/* SPDX-License-Identifier: MIT */
/* Objects that are opened later: which of them the recorder is to be asked for a plan about. */
#include <link.h>

#include "hook/patched.h"
#include "hook/patched_table.h"
#include "hook/rendezvous.h"
#include "hook/runtime.h"

/* The recorder is asked about a file once, and again only if it had an allocator: programs open and close the same
 * ones a hundred thousand times. */
enum patched_file_state { PATCHED_NEW = 0, PATCHED_PLAIN, PATCHED_HAS_ALLOCATOR };

struct patched_file {
        uint64_t name_hash; /* 0: free */
        uint64_t addr;      /* where it was when it was last met */
        uint32_t look;      /* when that was */
        enum patched_file_state state;
};

enum { PATCHED_N_FILES = 1024, PATCHED_PROBES_MAX = 64 };

static struct patched_file patched_files[PATCHED_N_FILES];
static uint32_t patched_look; /* counts */
static uint64_t patched_news[WIRE_MAX_NEWS];
static uint32_t patched_n_news; /* may be more than there is room for */
extern struct r_debug _r_debug;

static uint64_t patched_name_hash(const char *name) {
        uint64_t hash = 14695981039346656037u;

        for (; *name; name++)
                hash = (hash ^ (uint8_t)*name) * 1099511628211u;
        return hash ? hash : 1;
}

/* NULL: there is no room to remember it. */
static struct patched_file *patched_file(const char *name) {
        uint64_t hash = patched_name_hash(name);

        for (unsigned i = 0; i < PATCHED_PROBES_MAX; i++) {
                struct patched_file *f = &patched_files[(hash + i) % PATCHED_N_FILES];

                if (f->name_hash == 0)
                        f->name_hash = hash;
                if (f->name_hash == hash)
                        return f;
        }
        return NULL;
}

/* A file with an allocator is there again. Where it was before, all is prepared. */
static bool patched_is_back(const struct patched_file *f, const struct link_map *m) {
        if (f->state != PATCHED_HAS_ALLOCATOR ||
            (f->look + 1 == patched_look && f->addr == m->l_addr))
                return false;
        return f->addr != m->l_addr || !patched_write_again(m->l_addr);
}

/* Which objects of the loader's list the recorder is to be asked about: files it was never asked about, or with an allocator
 * and not there before. */
static void patched_find_news(void) {
        patched_look++;
        patched_n_news = 0;
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct patched_file *f = patched_file(m->l_name);

                if (!f)
                        continue;
                if (f->state == PATCHED_NEW || patched_is_back(f, m)) {
                        if (patched_n_news < WIRE_MAX_NEWS)
                                patched_news[patched_n_news] = m->l_addr;
                        patched_n_news++;
                }
                f->look = patched_look;
                f->addr = m->l_addr;
        }
}

static void patched_settle_files(enum patched_file_state state) {
        for (unsigned i = 0; i < PATCHED_N_FILES; i++)
                if (patched_files[i].name_hash && patched_files[i].state == PATCHED_NEW)
                        patched_files[i].state = state;
}

void patched_know_files(void) {
        patched_find_news();
        patched_settle_files(PATCHED_PLAIN);
}

void patched_loaded(void) {
        static bool is_adding;

        if (_r_debug.r_state != RT_CONSISTENT) {
                is_adding = _r_debug.r_state == RT_ADD;
                return;
        }
        if (runtime.is_confined || !runtime_is_recording())
                return;
        patched_find_news();
        if (patched_n_news && is_adding) {
                patched_free_closed();
                patched_settle_files(rendezvous_plan_again(runtime.rendezvous)
                                             ? PATCHED_HAS_ALLOCATOR
                                             : PATCHED_PLAIN);
        }
        is_adding = false;
}

void patched_introduce_news(struct wire_hello *hello) {
        hello->n_news = patched_n_news;
        for (unsigned i = 0; i < WIRE_MAX_NEWS; i++)
                hello->news[i] = patched_news[i];
}

/* ---- attached ---------------------------------------------------------------------------- */

uint64_t patched_owner_at(uintptr_t addr) {
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct code_range range = real_image_range(m->l_addr);

                if (code_range_has(&range, addr))
                        return patched_name_hash(m->l_name);
        }
        /* a program at fixed addresses: where it ends is not looked up, and it never goes */
        return _r_debug.r_map && !_r_debug.r_map->l_addr ? patched_name_hash("") : 0;
}

void patched_look_for_news(void) {
        patched_check_owners();
        patched_find_news();
}

void patched_settle_news(void) {
        patched_check_owners();
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct patched_file *f = patched_file(m->l_name);
                struct code_range range = real_image_range(m->l_addr);

                if (f && f->state == PATCHED_NEW && f->look == patched_look)
                        f->state =
                                patched_has_writes(&range) ? PATCHED_HAS_ALLOCATOR : PATCHED_PLAIN;
        }
}

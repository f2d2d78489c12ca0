/* SPDX-License-Identifier: MIT */
/* Objects that are opened later: which of them the recorder is to be asked for a plan about. */
#include <errno.h>
#include <link.h>

#include "hook/join.h"
#include "hook/new.h"
#include "hook/patched.h"
#include "hook/patched_table.h"
#include "hook/runtime.h"
#include "unwind/unwind.h"

/* The recorder is asked about a file once, and again only if it had an allocator: programs open and close the same
 * ones a hundred thousand times. */
enum patched_file_state { PATCHED_NEW = 0, PATCHED_PLAIN, PATCHED_HAS_ALLOCATOR };

struct patched_file {
        uint64_t name_hash; /* 0: free */
        uint32_t look;      /* the last in which it was there */
        enum patched_file_state state;
};

enum { PATCHED_N_FILES = 1024, PATCHED_PROBES_MAX = 64 };

static struct patched_file patched_files[PATCHED_N_FILES];
static uint32_t patched_look_no;
static uint64_t patched_news[WIRE_MAX_NEWS];
static uint32_t patched_n_news; /* may be more than there is room for */
extern struct r_debug _r_debug;

/* In the place of one without an allocator, if need be: that would be asked about once more. NULL: there is no room to
 * remember it. */
static struct patched_file *patched_file(const char *name) {
        struct patched_file *plain = NULL;
        uint64_t hash = patched_name_hash(name);

        for (unsigned i = 0; i < PATCHED_PROBES_MAX; i++) {
                struct patched_file *f = &patched_files[(hash + i) % PATCHED_N_FILES];

                if (f->name_hash == 0)
                        f->name_hash = hash;
                if (f->name_hash == hash)
                        return f;
                if (f->state == PATCHED_PLAIN)
                        plain = f;
        }
        if (plain) {
                plain->name_hash = hash;
                plain->look = 0;
                plain->state = PATCHED_NEW;
        }
        return plain;
}

/* ---- who writes ---------------------------------------------------------------------------- */

/* The lists here are one thread's at a time: of one that opens objects, or of the one that silt has call silt_attached. The pid,
 * since a child may be forked in the middle of it; 0: nobody's. */
static _Atomic uint32_t patched_turn;
static _Atomic uint32_t patched_n_waiting;
struct wire_guard patched_guard;

enum {
        PATCHED_PATIENCE_S = 5,
        PATCHED_TURN_TRIES = 1000 /* as often may somebody else be quicker, or a signal come */
};

bool patched_try_turn(void) {
        uint32_t pid = runtime.pid ? runtime.pid : 1, now = 0;

        if (atomic_compare_exchange_strong_explicit(&patched_turn, &now, pid, memory_order_acquire,
                                                    memory_order_relaxed))
                return true;
        return now != pid &&
               atomic_compare_exchange_strong_explicit(&patched_turn, &now, pid,
                                                       memory_order_acquire, memory_order_relaxed);
}

/* Until whoever has it wakes us. Bounded: a handler of a signal may open objects while its thread is in here. */
static bool patched_await_turn(void) {
        const struct sys_timespec patience = {PATCHED_PATIENCE_S, 0};
        bool is_ours = patched_try_turn();
        long r = 0;

        if (is_ours)
                return true;
        /* seq_cst: counted before the word is looked at again. Pairs with patched_end_turn. */
        atomic_fetch_add_explicit(&patched_n_waiting, 1, memory_order_seq_cst);
        for (unsigned i = 0; i < PATCHED_TURN_TRIES && r != -ETIMEDOUT; i++) {
                uint32_t owner = atomic_load_explicit(&patched_turn, memory_order_seq_cst);

                is_ours = patched_try_turn();
                if (is_ours)
                        break;
                if (owner)
                        r = sys_futex_wait(&patched_turn, owner, &patience);
        }
        atomic_fetch_sub_explicit(&patched_n_waiting, 1, memory_order_relaxed);
        return is_ours;
}

void patched_end_turn(void) {
        /* seq_cst: given back before the waiters are counted. Pairs with patched_await_turn. */
        atomic_store_explicit(&patched_turn, 0, memory_order_seq_cst);
        if (atomic_load_explicit(&patched_n_waiting, memory_order_seq_cst))
                sys_futex_wake(&patched_turn, 1);
}

bool patched_begin_writing(void) {
        __atomic_store_n(&patched_guard.is_writing, 1, __ATOMIC_SEQ_CST);
        if (!__atomic_load_n(&patched_guard.is_closed, __ATOMIC_SEQ_CST))
                return true;
        patched_end_writing();
        return false;
}

void patched_end_writing(void) {
        __atomic_store_n(&patched_guard.is_writing, 0, __ATOMIC_RELEASE);
}

/* ---- what is new ----------------------------------------------------------------------------- */

static void patched_add_news(const struct link_map *m) {
        if (patched_n_news < WIRE_MAX_NEWS)
                patched_news[patched_n_news] = m->l_addr;
        patched_n_news++;
}

/* The end of the loader's list when it was last whole. All that come behind it are new: none of their code has run, and may be written
 * to. After an attach it is known once silt has seen that the list was still the same when it hooked the loader's function, or that function
 * was called. */
static const struct link_map *patched_end;
static bool patched_is_end_known;

static const struct link_map *patched_last(void) {
        const struct link_map *m = _r_debug.r_map;

        while (m && m->l_next)
                m = m->l_next;
        return m;
}

/* It may be an address that means nothing any more. NULL: it is not there. */
static const struct link_map *patched_find_end(void) {
        const struct link_map *m = _r_debug.r_map;

        if (!patched_is_end_known &&
            !__atomic_load_n(&patched_guard.is_list_seen, __ATOMIC_RELAXED))
                return NULL;
        while (m && m != patched_end)
                m = m->l_next;
        return m;
}

/* Of the objects behind `before`. The recorder is to be
 * asked about files it was never asked about, or with an allocator where they were not before. */
static void patched_find_news(const struct link_map *before) {
        patched_n_news = 0;
        for (const struct link_map *m = before->l_next; m; m = m->l_next) {
                struct patched_file *f = patched_file(m->l_name);

                if (!f || f->state == PATCHED_NEW ||
                    (f->state == PATCHED_HAS_ALLOCATOR && !patched_write_again(m)))
                        patched_add_news(m);
        }
}

static void patched_settle_new(const struct link_map *before) {
        for (const struct link_map *m = before->l_next; m; m = m->l_next) {
                struct patched_file *f = patched_file(m->l_name);

                if (f && f->state == PATCHED_NEW)
                        f->state = patched_has_lot(m) ? PATCHED_HAS_ALLOCATOR : PATCHED_PLAIN;
        }
}

void patched_know_files(void) {
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct patched_file *f = patched_file(m->l_name);

                if (f && f->state == PATCHED_NEW)
                        f->state = PATCHED_PLAIN;
        }
        patched_end = patched_last();
        patched_is_end_known = true;
}

static void patched_take_news(const struct link_map *before) {
        if (!patched_begin_writing())
                return;
        patched_find_news(before);
        if (patched_n_news)
                patched_free_closed();
        patched_end_writing();
        if (!patched_n_news)
                return;
        if (join_plan_again(runtime.rendezvous) < 0)
                runtime_mark_unfollowed(WIRE_UNFOLLOWED_OPENED);
        patched_settle_new(before);
}

/* Nobody can be asked: it gave up rights. */
static void patched_miss_news(const struct link_map *before) {
        for (const struct link_map *m = before->l_next; m; m = m->l_next) {
                const struct patched_file *f = patched_file(m->l_name);

                if (!f || f->state != PATCHED_PLAIN)
                        runtime_mark_unfollowed(WIRE_UNFOLLOWED_OPENED);
        }
}

static void patched_note_closed(void) {
        if (!patched_begin_writing())
                return;
        patched_hide_closed();
        patched_end_writing();
}

/* before: NULL: nothing is new. */
static void patched_follow(const struct link_map *before) {
        bool is_turn = patched_await_turn();

        if (is_turn)
                patched_note_closed();
        if (before && is_turn && !runtime.is_confined)
                patched_take_news(before);
        else if (before)
                patched_miss_news(before);
        if (is_turn)
                patched_end_turn();
}

/* As glibc has it from 2.35 on, where r_version is 2 once there are namespaces. Before that nothing tells. */
struct patched_namespace {
        struct r_debug own;
        const struct patched_namespace *next;
};

static bool patched_is_namespace_used(void) {
        const struct patched_namespace *n = (const struct patched_namespace *)&_r_debug;

        __asm__("" : "+r"(n)); /* it is longer than its type says */
        if (n->own.r_version < 2)
                return false;
        while ((n = n->next))
                if (n->own.r_map)
                        return true;
        return false;
}

void patched_loaded(void) {
        static bool is_adding, is_removing;
        const struct link_map *before;

        if (_r_debug.r_state != RT_CONSISTENT) {
                is_adding = _r_debug.r_state == RT_ADD;
                is_removing |= !is_adding;
                return;
        }
        if (runtime_is_recording() && patched_is_namespace_used())
                runtime_mark_unfollowed(WIRE_UNFOLLOWED_NAMESPACE);
        if (is_removing) { /* others may lie where they were: what is known of their code means nothing */
                unwind_modules_changed();
                new_forget_callers();
        }
        before = is_adding ? patched_find_end() : NULL;
        if (runtime_is_recording() && (before || is_removing))
                patched_follow(before);
        patched_end = patched_last();
        patched_is_end_known = true;
        is_adding = is_removing = false;
}

void patched_introduce_news(struct wire_hello *hello) {
        hello->n_news = patched_n_news;
        for (unsigned i = 0; i < WIRE_MAX_NEWS; i++)
                hello->news[i] = patched_news[i];
}

/* ---- attached ---------------------------------------------------------------------------- */

/* Whether some are in the list and not where they will be: the loader is about to map them. */
bool patched_is_any_unmapped(void) {
        const uintptr_t max_offset = 64 << 20; /* of its dynamic section, in a file */

        for (const struct link_map *m = _r_debug.r_map ? _r_debug.r_map->l_next : NULL; m;
             m = m->l_next)
                if (!m->l_addr && (uintptr_t)m->l_ld < max_offset)
                        return true;
        return false;
}

bool patched_look(bool is_told) {
        uint64_t hash = 0;

        patched_hide_closed();
        patched_free_closed();
        patched_look_no++;
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct patched_file *f = patched_file(m->l_name);

                if (f)
                        f->look = patched_look_no;
                hash = wire_guard_hash(hash, (uint64_t)m, m->l_addr, patched_name_hash(m->l_name));
        }
        patched_guard.r_debug = (uint64_t)&_r_debug;
        patched_guard.list_hash = hash;
        patched_n_news = WIRE_MAX_NEWS + 1; /* all */
        patched_end = patched_last();
        patched_is_end_known = is_told;
        return _r_debug.r_state == RT_CONSISTENT && !patched_is_any_unmapped();
}

/* Of one that went and came back the recorder may have seen nothing. */
void patched_settle(bool is_list_changed) {
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct patched_file *f = patched_file(m->l_name);

                if (f && f->look == patched_look_no && patched_has_lot(m))
                        f->state = PATCHED_HAS_ALLOCATOR;
                else if (f && f->look == patched_look_no)
                        f->state = is_list_changed ? PATCHED_NEW : PATCHED_PLAIN;
        }
}

/* What was told of files in another recording is asked again: they may be others by now, or silt was leaving. */
static void patched_forget_files(void) {
        for (unsigned i = 0; i < PATCHED_N_FILES; i++) {
                patched_files[i].name_hash = 0;
                patched_files[i].look = 0;
                patched_files[i].state = PATCHED_NEW;
        }
}

void patched_open_guard(void) {
        patched_forget_files();
        patched_guard.is_writing = patched_guard.is_closed = patched_guard.is_list_seen = 0;
}

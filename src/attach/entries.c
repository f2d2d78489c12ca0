/* SPDX-License-Identifier: MIT */
#include "attach/entries.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "attach/kill_point.h"
#include "attach/safepoint.h"
#include "attach/tracee.h"
#include "base/macros.h"
#include "base/system_clock.h"
#include "wire/attach_message.h"
#include "wire/patch_plan.h"

#define MS UINT64_C(1000000)

enum {
        ENTRIES_TRIES = 200,
        ENTRIES_PATIENCE =
                4, /* tries, after each of which a thread in the way gets a millisecond more */
        ENTRIES_STOP_MS =
                20, /* those that stand still do not wait longer for one that has no processor */
        ENTRIES_MAX_STOP_MS = 1280,
        ENTRIES_MAX_OBJECTS = 65536, /* of a loader's list that may be damaged */
        ENTRIES_MAX_NAME_BYTES = 65536,
        ENTRIES_STACK_BYTES = 65536, /* in which the frame of a handler lies */
};

struct one {
        struct tracee thread;
        uint64_t repaired; /* safepoint_repair */
};

struct crowd {
        VEC(struct one) list;
};

typedef VEC(struct wire_plan_write) writes;

static bool crowd_has(const struct crowd *c, pid_t tid) {
        for (size_t i = 0; i < c->list.n; i++)
                if (c->list.items[i].thread.tid == tid)
                        return true;
        return false;
}

/* Those that stand still first: the others have to be waited for. */
static void crowd_let_go(struct crowd *c, const struct target *t, uint64_t *ret_end_ns) {
        for (size_t i = 0; i < c->list.n; i++) {
                struct one *one = &c->list.items[i];

                if (one->thread.is_stopped) {
                        safepoint_let_go(t, &one->thread, one->repaired);
                        one->thread.stop = STOP_GONE;
                }
        }
        *ret_end_ns = clock_now_ns();
        for (size_t i = 0; i < c->list.n; i++)
                if (c->list.items[i].thread.stop != STOP_GONE)
                        safepoint_let_go(t, &c->list.items[i].thread, 0);
        vec_free(&c->list);
}

/* Asks every running thread to stop that was not asked yet; how many. */
static int crowd_ask(struct crowd *c, const struct target *t) {
        tids threads = {0};
        int n = 0, r = target_threads(t, &threads);

        if (r < 0)
                return r;
        for (size_t i = 0; i < threads.n && r >= 0; i++) {
                struct thread_look look;
                struct one one = {0};

                if (crowd_has(c, threads.items[i]) || !target_look(t, threads.items[i], &look) ||
                    look.state != 'R')
                        continue;
                r = tracee_seize(&one.thread, threads.items[i]);
                if (r == -ESRCH) {
                        r = 0;
                        continue;
                }
                if (r == 0)
                        r = tracee_interrupt(&one.thread);
                vec_push(&c->list, one);
                n++;
        }
        vec_free(&threads);
        return r < 0 ? r : n;
}

static int crowd_await(struct one *one, const struct target *t, uint64_t until_ns) {
        struct tracee *thread = &one->thread;
        int r = 0;

        if (thread->stop == STOP_GONE || thread->is_stopped)
                return 0;
        while (r == 0 && thread->stop != STOP_GONE && !thread->is_stopped) {
                r = tracee_wait(thread, until_ns);
                /* a signal on its way: handed on, then it stops as it was asked to */
                if (r == 0 && thread->stop == STOP_SIGNAL)
                        r = tracee_resume(thread, false);
        }
        if (thread->is_stopped)
                one->repaired = safepoint_repair(t, thread);
        return r;
}

/* Those that wait in the kernel stay there: they see what is written when they come back. */
static int crowd_stop(struct crowd *c, const struct target *t, uint64_t until_ns) {
        int n;

        while ((n = crowd_ask(c, t)) > 0)
                for (size_t i = 0; i < c->list.n; i++)
                        if (crowd_await(&c->list.items[i], t, until_ns) == -ETIMEDOUT)
                                return -ETIMEDOUT;
        return n;
}

/* Since when the first of them stands still; 0: none does. */
static uint64_t crowd_since_ns(const struct crowd *c) {
        uint64_t since_ns = 0;

        for (size_t i = 0; i < c->list.n; i++) {
                const struct tracee *one = &c->list.items[i].thread;

                if (one->is_stopped && (!since_ns || one->ran_ns < since_ns))
                        since_ns = one->ran_ns;
        }
        return since_ns;
}

/* Between two instructions that one will take the place of. */
static bool is_within(const writes *w, uint64_t pc) {
        for (size_t k = 0; k < w->n; k++)
                if (pc > w->items[k].at && pc < w->items[k].at + w->items[k].n_bytes)
                        return true;
        return false;
}

/* A handler that interrupted a function there returns to it: the frame that says so is on the stack. One that a handler left behind costs
 * another try. */
static bool is_returned_to(const struct target *t, const writes *w, uint64_t sp) {
        uint64_t words[ENTRIES_STACK_BYTES / sizeof(uint64_t)];
        size_t n;

        sp &= ~UINT64_C(7);
        n = target_read_most(t, sp, words, sizeof(words)) / sizeof(words[0]);
        for (size_t i = 0; i + machine_own.saved_pc_words <= n; i++)
                if (is_within(w, words[i]) && machine_own.is_saved_pc(&words[i]))
                        return true;
        return false;
}

/* Whether a thread stands there, or comes back there; of those that wait in the kernel too: in a handler, or for a page. */
static bool is_in_way(const struct target *t, const struct crowd *c, const writes *w) {
        tids threads = {0};
        bool is_found = false;

        for (size_t i = 0; i < c->list.n && !is_found; i++) {
                const struct tracee *one = &c->list.items[i].thread;
                struct machine_state s;

                if (one->is_stopped && tracee_read_regs(one, &s) == 0)
                        is_found = is_within(w, machine_own.pc(&s)) ||
                                   is_returned_to(t, w, machine_own.sp(&s));
        }
        if (is_found || target_threads(t, &threads) < 0)
                return is_found;
        for (size_t i = 0; i < threads.n && !is_found; i++) {
                struct machine_syscall call;

                if (crowd_has(c, threads.items[i]))
                        continue;
                target_syscall(t, threads.items[i], &call);
                is_found = call.sp && (is_within(w, call.pc) || is_returned_to(t, w, call.sp));
        }
        vec_free(&threads);
        return is_found;
}

/* Looks until nobody has begun to run while it looked. */
static bool is_clear(struct crowd *c, const struct target *t, const writes *w, uint64_t until_ns) {
        size_t n_stopped;

        if (!machine_own.saved_pc_words)
                return true;
        do {
                n_stopped = c->list.n;
                if (is_in_way(t, c, w) || crowd_stop(c, t, until_ns) < 0)
                        return false;
        } while (c->list.n > n_stopped);
        return true;
}

/* Of those that ran nobody is in it, and those that wait have come back long ago: the call waits for nothing at its end. */
static void see_room_left(const struct entries *e, const struct crowd *c, const struct target *t) {
        const uint32_t is_left = 1;
        struct machine_state s;

        if (!e->left_addr)
                return;
        for (size_t i = 0; i < c->list.n; i++) {
                if (!c->list.items[i].thread.is_stopped)
                        continue;
                if (tracee_read_regs(&c->list.items[i].thread, &s) < 0 ||
                    machine_own.sp(&s) - e->room < e->room_bytes)
                        return;
        }
        target_write(t, e->left_addr, &is_left, sizeof(is_left));
}

static int read_writes(const struct entries *e, const struct target *t, writes *ret,
                       struct err *reterr) {
        size_t n = 0;

        ret->n = 0;
        vec_reserve(ret, e->n_entries);
        if (!e->n_entries ||
            !target_read(t, e->addr, ret->items, e->n_entries * sizeof(ret->items[0])))
                return err_set(reterr, -EIO,
                               "process %d: silt's runtime in it does not say what to hook",
                               (int)t->pid);
        for (size_t i = 0; i < e->n_entries; i++)
                if (ret->items[i].n_bytes && ret->items[i].n_bytes <= WIRE_PLAN_MAX_WRITE)
                        ret->items[n++] = ret->items[i];
        ret->n = n;
        return 0;
}

/* In the order they were planned in (patch/plan.c says why), and back the other way round: a thread that wakes up now runs beside it. */
static void write_all(struct entries *e, const struct target *t, const writes *w, bool is_back) {
        e->n_written = 0;
        for (size_t i = 0; i < w->n; i++) {
                const struct wire_plan_write *one = &w->items[is_back ? w->n - 1 - i : i];
                const uint8_t *from = is_back ? one->after : one->before;
                const uint8_t *to = is_back ? one->before : one->after;
                uint8_t now[WIRE_PLAN_MAX_WRITE];

                if (!target_read(t, one->at, now, one->n_bytes))
                        e->n_strange++; /* its object is gone */
                else if (memcmp(now, from, one->n_bytes) == 0)
                        e->n_written += target_write(t, one->at, to, one->n_bytes);
                else if (memcmp(now, to, one->n_bytes) != 0)
                        e->n_strange++;
                POINT(is_back ? "entries/taking" : "entries/putting");
        }
}

/* ---- the runtime's part ------------------------------------------------------------------------ */

/* A thread that opens a library may be about to write entries of that, or has half written them. */
static bool is_runtime_writing(const struct entries *e, const struct target *t) {
        struct wire_guard guard;

        return target_read(t, e->guard, &guard, sizeof(guard)) && guard.is_writing;
}

static bool say_that(const struct entries *e, const struct target *t, size_t word_off,
                     uint32_t yes) {
        return target_write(t, e->guard + word_off, &yes, sizeof(yes));
}

static bool say(const struct entries *e, const struct target *t, size_t word_off) {
        return say_that(e, t, word_off, 1);
}

static bool is_said(const struct entries *e, const struct target *t, size_t word_off) {
        uint32_t word;

        return target_read(t, e->guard + word_off, &word, sizeof(word)) && word;
}

/* ---- the loader's list --------------------------------------------------------------------------- */

/* As it is while no thread runs. */
struct objects {
        VEC(uint32_t) owners; /* wire_owner of each */
        uint64_t hash;        /* as that of wire_guard */
        bool is_calm;         /* nobody is changing it */
};

static bool hash_name(const struct target *t, uint64_t addr, uint64_t *ret) {
        uint64_t hash = WIRE_NAME_HASH;
        char part[64];

        for (unsigned n = 0; n < ENTRIES_MAX_NAME_BYTES; n += sizeof(part)) {
                /* up to the next page at most: what is behind a name may not be there */
                size_t n_bytes = MIN(sizeof(part), 4096 - addr % 4096);

                if (!target_read(t, addr, part, n_bytes))
                        return false;
                for (size_t i = 0; i < n_bytes; i++) {
                        if (!part[i]) {
                                *ret = hash;
                                return true;
                        }
                        hash = wire_hash(hash, (uint8_t)part[i]);
                }
                addr += n_bytes;
        }
        return false;
}

/* False: it cannot be read. */
static bool objects_read(struct objects *o, const struct wire_guard *guard,
                         const struct target *t) {
        struct r_debug debug;
        struct link_map m;
        uint64_t at, name_hash;

        if (!target_read(t, guard->r_debug, &debug, sizeof(debug)))
                return false;
        o->is_calm = debug.r_state == RT_CONSISTENT;
        at = (uint64_t)debug.r_map;
        for (unsigned n = 0; at && n < ENTRIES_MAX_OBJECTS; n++) {
                if (!target_read(t, at, &m, offsetof(struct link_map, l_prev)) ||
                    !hash_name(t, (uint64_t)m.l_name, &name_hash))
                        return false;
                vec_push(&o->owners, wire_owner(m.l_addr, name_hash));
                o->hash = wire_guard_hash(o->hash, at, m.l_addr, name_hash);
                at = (uint64_t)m.l_next;
        }
        return true;
}

static bool objects_have(const struct objects *o, uint32_t owner) {
        for (size_t i = 0; i < o->owners.n; i++)
                if (o->owners.items[i] == owner)
                        return true;
        return false;
}

/* Only those are written whose object is still there; nobody knows what lies in the place of others. When the list cannot be read, entries are
 * only taken back. */
static void look_at_list(struct entries *e, const struct target *t, bool is_back, writes *w) {
        struct objects o = {0};
        struct wire_guard guard;
        bool is_read =
                target_read(t, e->guard, &guard, sizeof(guard)) && objects_read(&o, &guard, t);
        size_t n = 0;

        for (size_t i = 0; i < w->n; i++)
                if (is_read ? objects_have(&o, w->items[i].entry) : is_back)
                        w->items[n++] = w->items[i];
        e->n_strange = (uint32_t)(w->n - n);
        w->n = n;
        vec_free(&o.owners);
}

/* A thread that waited in the kernel may have gone on since the list was read, and opened an object in the place of another, with the same bytes: that
 * now has what was meant for the other, and leads into its room. What was written before the list is read here is taken back where it lies in
 * no object that it is for. False: the list cannot be read, and all is taken back. */
static bool take_back_strange(struct entries *e, const struct target *t, const writes *w,
                              bool *ret_is_any) {
        struct objects o = {0};
        struct wire_guard guard;
        bool is_read =
                target_read(t, e->guard, &guard, sizeof(guard)) && objects_read(&o, &guard, t);

        for (size_t i = w->n; i-- > 0;) {
                const struct wire_plan_write *one = &w->items[i];
                uint8_t now[WIRE_PLAN_MAX_WRITE];

                if ((is_read && objects_have(&o, one->entry)) ||
                    !target_read(t, one->at, now, one->n_bytes) ||
                    memcmp(now, one->after, one->n_bytes) != 0)
                        continue;
                target_write(t, one->at, one->before, one->n_bytes);
                e->n_written--;
                e->n_strange++;
                *ret_is_any = true;
        }
        vec_free(&o.owners);
        return is_read;
}

/* After the loader's entry was written: a thread that waited in the kernel, and was not stopped, may have gone on. What it adds to the list from
 * now on it tells. */
static void look_for_changes(struct entries *e, const struct target *t) {
        struct objects o = {0};
        struct wire_guard guard;

        e->is_list_changed |= !target_read(t, e->guard, &guard, sizeof(guard)) ||
                              !objects_read(&o, &guard, t) || !o.is_calm ||
                              o.hash != guard.list_hash;
        if (!e->is_list_changed)
                say(e, t, offsetof(struct wire_guard, is_list_seen));
        vec_free(&o.owners);
}

bool entries_close(const struct entries *e, const struct target *t) {
        return say(e, t, offsetof(struct wire_guard, is_closed));
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static int entries_change(struct entries *e, const struct target *t, bool is_back,
                          void (*leave)(void *ctx), void *ctx, struct err *reterr) {
        writes w = {0};
        int r = 0;
        bool is_done = false;
        bool is_room_kept = is_said(e, t, offsetof(struct wire_guard, keeps_rooms));
        uint64_t stop_ms = ENTRIES_STOP_MS;

        e->pause_ns = 0;
        /* until it is known that all that is written is where it belongs; where it was not, for good: a thread may be in a room */
        if (!is_back)
                say(e, t, offsetof(struct wire_guard, keeps_rooms));
        for (unsigned i = 0; !is_done && i < ENTRIES_TRIES; i++) {
                struct crowd c = {0};
                uint64_t begin_ns, end_ns;
                bool is_kept; /* from being done now */

                r = crowd_stop(&c, t, clock_now_ns() + stop_ms * MS);
                begin_ns = crowd_since_ns(&c);
                POINT("entries/stopped");
                is_kept = r == 0 && is_runtime_writing(e, t);
                if (r == 0 && !is_kept) {
                        r = read_writes(e, t, &w, reterr);
                        look_at_list(e, t, is_back, &w);
                        is_kept = r == 0 && !is_clear(&c, t, &w, clock_now_ns() + stop_ms * MS);
                }
                if (r == 0 && !is_kept) {
                        POINT("entries/clear");
                        see_room_left(e, &c, t);
                        if (leave)
                                leave(ctx);
                        write_all(e, t, &w, is_back);
                        is_done = is_back || take_back_strange(e, t, &w, &is_room_kept);
                        is_kept = !is_done;
                        if (!is_back && is_done)
                                look_for_changes(e, t);
                }
                crowd_let_go(&c, t, &end_ns);
                if (begin_ns)
                        e->pause_ns += end_ns - begin_ns;
                POINT("entries/done");
                if (r < 0 && (r != -ETIMEDOUT || stop_ms >= ENTRIES_MAX_STOP_MS))
                        break;
                stop_ms *= r < 0 ? 2 : 1;
                /* that thread may have lost its processor there, and gets one only while nobody stops it */
                if (is_kept)
                        tracee_pause(1 + i / ENTRIES_PATIENCE);
        }
        if (!is_back && !is_room_kept)
                say_that(e, t, offsetof(struct wire_guard, keeps_rooms), 0);
        vec_free(&w);
        if (r < 0 && !reterr->code)
                return err_set_errno(reterr, r, "process %d: cannot stop its threads", (int)t->pid);
        if (r == 0 && !is_done)
                return err_set(
                        reterr, -EBUSY,
                        "process %d: some thread was always inside a function to be hooked: try again",
                        (int)t->pid);
        return r < 0 ? r : 0;
}

int entries_put(struct entries *e, const struct target *t, struct err *reterr) {
        return entries_change(e, t, false, NULL, NULL, reterr);
}

int entries_take_back(struct entries *e, const struct target *t, void (*leave)(void *ctx),
                      void *ctx, struct err *reterr) {
        return entries_change(e, t, true, leave, ctx, reterr);
}

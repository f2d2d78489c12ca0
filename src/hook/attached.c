/* SPDX-License-Identifier: MIT */
/* The runtime in a program that ran before it came: silt has one of its threads open libsilt.so, then call silt_attached, each time
 * it attaches. The program's threads run on meanwhile; none of them calls the runtime yet, or all pass through. */
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>

#include "hook/fork.h"
#include "hook/join.h"
#include "hook/patched.h"
#include "hook/patched_table.h"
#include "hook/runtime.h"
#include "hook/thread.h"
#include "wire/attach_message.h"

#pragma weak dl_iterate_phdr

HOOK_EXPORT void silt_attached(struct wire_attach *request);

static char attached_rendezvous[sizeof(((struct wire_attach *)0)->rendezvous)];
static struct wire_header *attached_last; /* the arena before this one */

/* Whoever still holds an address of it, against all odds, writes to memory that nobody reads. The one before it goes for good. */
static void attached_put_away(struct wire_header *old, uint64_t old_bytes) {
        static uint64_t last_bytes;

        if (!old)
                return;
        sys_mmap(old, old_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        if (attached_last)
                sys_munmap(attached_last, last_bytes);
        attached_last = old;
        last_bytes = old_bytes;
}

/* ---- under the loader's lock ------------------------------------------------------------------ */

struct attached_work {
        void (*fn)(void *arg);
        void *arg;
};

static unsigned long long attached_n_changes; /* of the loader's list, ever */

static int attached_work(struct dl_phdr_info *info, size_t size, void *ctx) {
        const struct attached_work *work = ctx;

        (void)size;
        patched_know_program(info); /* it is the first of all */
        attached_n_changes = info->dlpi_adds + info->dlpi_subs;
        work->fn(work->arg);
        return 1;
}

void attached_under_lock(void (*fn)(void *arg), void *arg) {
        struct attached_work work;

        work.fn = fn;
        work.arg = arg;
        dl_iterate_phdr(attached_work, &work);
}

static void attached_look(void *unused) {
        (void)unused;
        patched_look(false);
}

static void attached_look_again(void *ret_is_calm) {
        *(bool *)ret_is_calm = patched_look(true);
}

struct attached_settling {
        unsigned long long n_changes;
        bool is_same;
};

static void attached_settle(void *settling) {
        struct attached_settling *s = settling;

        s->is_same = attached_n_changes == s->n_changes && !patched_is_any_unmapped();
        patched_settle(!s->is_same);
}

/* n_changes: of the list, until it was looked at. False: there were more since. */
static bool attached_settle_since(unsigned long long n_changes) {
        struct attached_settling s;

        s.n_changes = n_changes;
        attached_under_lock(attached_settle, &s);
        return s.is_same;
}

/* ---- joining a recording ------------------------------------------------------------------------ */

static int attached_prepare(void) {
        static bool is_prepared;

        if (is_prepared)
                return 0;
        runtime_read_stack();
        if (runtime.is_secure)
                return -EPERM;
        if (!runtime_start_unwinder())
                return -ENOMEM;
        fork_watch();
        is_prepared = true;
        return 0;
}

/* What there is to record for, and what it must not be mixed with. */
static int attached_check(void) {
        if (!runtime.is_attached)
                return -EALREADY;
        if (atomic_load_explicit(&runtime.life, memory_order_acquire) == RUNTIME_LIFE_RECORDING) {
                if (atomic_load_explicit(&runtime.header->recording, memory_order_acquire) &&
                    join_is_open(attached_rendezvous))
                        return -EBUSY;
                /* nobody has noticed yet that it is over, or all of that silt was killed at once */
                atomic_store_explicit(&runtime.header->recording, 0, memory_order_release);
                runtime_pass();
        }
        /* forked by one that was attached to: of its threads only the one that forked has a state */
        if (runtime.pid && runtime.pid != (uint32_t)sys_getpid()) {
                if (!thread_keep_own())
                        return -ENOENT;
                runtime.pid = (uint32_t)sys_getpid();
        }
        if (atomic_load_explicit(&runtime.life, memory_order_acquire) != RUNTIME_LIFE_PASSING)
                return -ENOENT;
        return thread_is_any_inside() ? -EAGAIN : 0;
}

static int attached_join(bool *ret_is_list_changed) {
        struct wire_header *old = runtime.header;
        uint64_t old_bytes = old ? old->size_bytes : 0;
        unsigned long long n_changes;
        int r;

        attached_under_lock(attached_look, NULL);
        n_changes = attached_n_changes;
        patched_begin_recording();
        patched_defer(true);
        r = runtime_join();
        patched_defer(false);
        if (r < 0)
                return r == -EAGAIN ? -ETIMEDOUT : r;
        *ret_is_list_changed = !attached_settle_since(n_changes);
        unwind_modules_changed();
        if (!thread_restart_all()) {
                thread_leave_all();
                r = -ENOSPC;
        }
        if (old != runtime.header)
                attached_put_away(old, old_bytes);
        return r;
}

/* Objects were opened between the first look and the moment at which the loader's function was hooked. Those that are being opened are
 * waited for: some are looked at by their own thread. */
static int attached_join_again(void) {
        unsigned long long n_changes;
        bool is_calm;

        if (!runtime_is_recording())
                return -ENOENT;
        attached_under_lock(attached_look_again, &is_calm);
        if (!is_calm)
                return -EAGAIN;
        n_changes = attached_n_changes;
        patched_defer(true);
        if (join_plan_again(runtime.rendezvous) < 0) {
                patched_defer(false);
                return -EAGAIN;
        }
        patched_defer(false);
        attached_settle_since(n_changes);
        return 0;
}

/* The room of the call before this one, whose end has the request that says whether it was left. */
static void attached_change_rooms(const struct wire_attach *request) {
        static uint64_t room, room_bytes;
        static const struct wire_attach *last;

        if (last && last->is_room_left)
                sys_munmap((void *)room, room_bytes);
        room = request->room;
        room_bytes = request->room_bytes;
        last = room ? request : NULL;
}

static int attached_begin_new(struct wire_attach *request) {
        bool is_list_changed = false;
        int r = attached_check();

        if (r == 0)
                r = attached_prepare();
        if (r < 0)
                return r;
        for (size_t i = 0; i + 1 < sizeof(attached_rendezvous); i++)
                attached_rendezvous[i] = request->rendezvous[i];
        runtime.rendezvous = attached_rendezvous;
        patched_open_guard();
        r = attached_join(&is_list_changed);
        request->is_list_changed = is_list_changed;
        if (r == 0)
                runtime_record();
        return r;
}

static int attached_begin(struct wire_attach *request) {
        int r;

        if (request->magic != WIRE_ATTACH_MAGIC || request->version != WIRE_VERSION)
                return -EPROTO;
        if (!patched_try_turn())
                return -EAGAIN;
        r = request->is_again ? attached_join_again() : attached_begin_new(request);
        patched_end_turn();
        if (r == 0)
                patched_tell_writes(request);
        return r;
}

/* As the kernel has it. */
struct attached_action {
        uint64_t handler, flags, restorer, mask;
};

static bool attached_ends_call(const struct wire_attach *request, int sig) {
        struct attached_action action = {0};

        if (sys_is_error(
                    sys_call6(SYS_rt_sigaction, sig, 0, (long)&action, sizeof(action.mask), 0, 0)))
                return false;
        return action.handler > (uint64_t)SIG_IGN &&
               (request->ends_by_handler || !(action.flags & SA_RESTART));
}

/* Whatever handler runs, the call that the thread waits in ends. The C library's own (32, 33) are none of the program's. */
static bool attached_is_ended_by_all(const struct wire_attach *request) {
        struct attached_action action;

        for (int sig = 1; sig <= 64 && !request->ends_by_handler; sig++) {
                action = (struct attached_action){0};
                if (sig != 32 && sig != 33 &&
                    !sys_is_error(sys_call6(SYS_rt_sigaction, sig, 0, (long)&action,
                                            sizeof(action.mask), 0, 0)) &&
                    action.handler > (uint64_t)SIG_IGN && (action.flags & SA_RESTART))
                        return false;
        }
        return true;
}

/* Signals wait until this thread returns. Where one of them would have ended the call it was in, it returns to the end of that, not to its begin: a
 * program may have nothing but the error to learn of the signal by. */
static void attached_heed_signals(const struct wire_attach *request) {
        uint64_t pending = 0;

        if (!request->failed_pc ||
            sys_is_error(sys_call3(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0)))
                return;
        pending &= ~request->mask;
        for (int sig = 1; sig <= 64; sig++)
                if ((pending >> (sig - 1) & 1) && attached_ends_call(request, sig)) {
                        *(uint64_t *)request->frame_pc = request->failed_pc;
                        *(uint64_t *)request->frame_result = (uint64_t)-EINTR;
                        return;
                }
}

/* One at a time: two silts may come at once. */
void silt_attached(struct wire_attach *request) {
        static _Atomic uint32_t is_busy;
        int r = -EBUSY;

        if (!atomic_exchange_explicit(&is_busy, 1, memory_order_acquire)) {
                attached_change_rooms(request);
                r = attached_begin(request);
                atomic_store_explicit(&is_busy, 0, memory_order_release);
        }
        request->is_ended_by_all = request->failed_pc && attached_is_ended_by_all(request);
        /* silt waits for it, and touches nothing here any more */
        __atomic_store_n(&request->result, r, __ATOMIC_RELEASE);
        attached_heed_signals(request);
}

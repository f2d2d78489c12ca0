/* SPDX-License-Identifier: MIT */
#include "attach/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "attach/caller.h"
#include "attach/code.h"
#include "attach/kill_point.h"
#include "attach/process_check.h"
#include "attach/runtime_check.h"
#include "attach/safepoint.h"
#include "attach/stack.h"
#include "attach/stopper.h"
#include "attach/tracee.h"
#include "attach/visible_copy.h"
#include "base/macros.h"
#include "base/system_clock.h"
#include "wire/attach_message.h"
#include "wire/layout.h"
#include "wire/patch_plan.h"

#define MS UINT64_C(1000000)

enum {
        ATTACH_MOMENT_MS = 10000,
        ATTACH_LOOK_MS = 3000,   /* for a moment to look again: it records already */
        ATTACH_OPEN_MS = 10000,  /* for dlopen */
        ATTACH_START_MS = 30000, /* for the runtime to be given a plan */
        ATTACH_READ_TRIES = 3,
        ATTACH_AGAIN_MS = 100, /* at most, between two tries */
};

static const char runtime_name[] = "libsilt.so";

static int open_runtime(struct attach *a, struct caller *c, const char *path, struct err *reterr) {
        static const struct {
                const char *library, *function;
                uint64_t flags;
        } openers[] = {{"libc.so", "dlopen", 0},
                       {"libdl", "dlopen", 0},
                       {"libc.so", "__libc_dlopen_mode", 0x80000000},
                       {"libc-2", "__libc_dlopen_mode", 0x80000000}};
        uint64_t function = 0, args[2] = {caller_data(c), RTLD_NOW}, n;
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(openers) && !function; i++) {
                const struct mapping *m = target_file(&a->target, openers[i].library);

                function = m ? target_symbol(&a->target, m->begin, openers[i].function, &n) : 0;
                args[1] = RTLD_NOW | openers[i].flags;
        }
        if (!function)
                return err_set(
                        reterr, -ENOENT,
                        "process %d (%s): its C library cannot load libraries: link it dynamically",
                        (int)a->target.pid, a->target.name);
        if (!target_write(&a->target, caller_data(c), path, strlen(path) + 1))
                return err_set(reterr, -EIO, "process %d: cannot write its memory",
                               (int)a->target.pid);
        r = caller_call(c, function, args, 2, ATTACH_OPEN_MS, reterr);
        POINT("opened");
        if (r == 0)
                r = target_refresh(&a->target, reterr);
        if (r == 0 && !target_file(&a->target, runtime_name))
                r = err_set(
                        reterr, -ELIBACC,
                        "process %d (%s): its loader did not load '%s': check its limits on descriptors and address space (prlimit --pid %d)",
                        (int)a->target.pid, a->target.name, path, (int)a->target.pid);
        return r;
}

static int explain_result(const struct attach *a, int result, struct err *reterr) {
        const char *why = strerror(-result);

        switch (result) {
        case -EALREADY:
                why = "it was started by silt, whose runtime is still in it: use that recording, or wait until the process ends";
                break;
        case -EBUSY: why = "another silt is recording it: stop that one first"; break;
        case -EAGAIN: why = "some thread was always inside silt's runtime: try again"; break;
        case -ETIMEDOUT:
                why = "its recorder did not answer in time on this busy machine: try again";
                break;
        case -ENOMEM:
                why = "it has too little address space for silt's runtime: raise its limit (prlimit --as)";
                break;
        case -EMFILE:
                why = "it has no free descriptor to reach the recorder: raise its limit (prlimit --nofile)";
                break;
        case -EPROTO: why = "it contains the runtime of an older silt: restart the program"; break;
        default: break;
        }
        return err_set(reterr, result, "process %d (%s): %s", (int)a->target.pid, a->target.name,
                       why);
}

static void tell_wait(struct wire_attach *request, const struct caller *c) {
        request->ends_by_handler = c->safepoint->ends_by_handler;
        request->failed_pc = c->safepoint->failed_pc;
        request->frame_pc = caller_frame(c) + machine_own.frame_pc_off;
        request->frame_result = caller_frame(c) + machine_own.frame_result_off;
        request->mask = c->safepoint->state.mask;
}

static int start_runtime(struct attach *a, struct caller *c, const struct attach_request *to,
                         bool is_again, struct err *reterr) {
        const struct mapping *m = target_file(&a->target, runtime_name);
        uint64_t n,
                function = m ? target_symbol(&a->target, m->begin, WIRE_ATTACH_FUNCTION, &n) : 0;
        struct wire_attach request = {.magic = WIRE_ATTACH_MAGIC,
                                      .version = WIRE_VERSION,
                                      .result = WIRE_ATTACH_UNDONE,
                                      .is_again = is_again};
        uint64_t args[1] = {caller_data(c)};
        int r;

        if (!function)
                return explain_result(a, -EPROTO, reterr);
        snprintf(request.rendezvous, sizeof(request.rendezvous), "%s", to->rendezvous);
        if (c->safepoint->again != AGAIN_RESTART) {
                request.room = c->room;
                request.room_bytes = c->room_bytes;
                tell_wait(&request, c);
        }
        if (!target_write(&a->target, args[0], &request, sizeof(request)))
                return err_set(reterr, -EIO, "process %d: cannot write its memory",
                               (int)a->target.pid);
        r = caller_send(c, function, args, 1, args[0] + offsetof(struct wire_attach, result),
                        WIRE_ATTACH_UNDONE, ATTACH_START_MS, reterr);
        POINT("started");
        if (r < 0)
                return r;
        if (!target_read(&a->target, args[0], &request, sizeof(request)))
                return err_set(reterr, -EIO, "process %d: cannot read its memory",
                               (int)a->target.pid);
        a->back = safepoint_returns(c->safepoint, request.is_ended_by_all);
        a->back.room = c->room;
        a->back.room_bytes = c->room_bytes;
        if (request.result)
                return request.result == -EAGAIN ? -EAGAIN
                                                 : explain_result(a, request.result, reterr);
        a->entries = (struct entries){.addr = request.writes,
                                      .n_entries = MIN(request.n_writes, WIRE_PLAN_MAX_ENTRIES),
                                      .guard = request.guard,
                                      .is_list_changed = request.is_list_changed};
        if (c->is_lost) { /* the room stays until the next time */
                a->entries.room = c->room;
                a->entries.room_bytes = c->room_bytes;
                a->entries.left_addr = args[0] + offsetof(struct wire_attach, is_room_left);
        }
        return 0;
}

/* The runtime is opened where it is not there yet. */
static int bring_runtime(struct attach *a, struct caller *c, const char *path, struct err *reterr) {
        struct visible_copy copy;
        int r;

        if (target_file(&a->target, runtime_name))
                return 0;
        r = visible_copy_make(&copy, a->target.pid, path, reterr);
        if (r == 0)
                r = open_runtime(a, c, copy.path, reterr);
        visible_copy_end(&copy);
        return r;
}

static int make_calls(struct attach *a, const struct attach_request *request, bool is_again,
                      struct safepoint *m, struct err *reterr) {
        uint64_t queued_ns = target_queued_ns(&a->target, m->thread.tid), pause_ns;
        struct caller c;
        int r = caller_begin(&c, &a->target, m, reterr);

        POINT("room");
        if (r == 0)
                r = bring_runtime(a, &c, request->runtime_path, reterr);
        if (r == 0)
                r = start_runtime(a, &c, request, is_again, reterr);
        caller_end(&c);
        pause_ns = clock_now_ns() - m->thread.ran_ns;
        /* where there are more threads than processors it would have waited for one anyway */
        a->call_queued_ns = target_queued_ns(&a->target, m->thread.tid) - queued_ns;
        a->call_queued_ns = MIN(a->call_queued_ns, pause_ns);
        a->call_pause_ns = pause_ns - a->call_queued_ns;
        a->enter_pause_ns += a->call_pause_ns;
        return r;
}

/* Whoever reads the files has little time, and a machine may be busy: nobody waits for it here, so it may try again. */
static int read_code(struct attach *a, struct err *reterr) {
        int r = 0;

        for (unsigned i = 0; i < ATTACH_READ_TRIES; i++) {
                *reterr = (struct err){0};
                r = code_read(&a->code, &a->target, reterr);
                if (r == 0)
                        break;
                code_done(&a->code);
        }
        return r;
}

int attach_open(struct attach *a, pid_t pid, struct err *reterr) {
        int r;

        *a = (struct attach){.target.mem_fd = -1};
        r = target_open(&a->target, pid, reterr);
        if (r < 0)
                return process_explain(pid, r, reterr);
        r = runtime_check_target(&a->target, reterr);
        if (r == 0)
                r = read_code(a, reterr);
        if (r == 0)
                r = stack_walker_new(&a->target, &a->walker, reterr);
        return r < 0 && process_is_over(pid) ? process_explain(pid, -ESRCH, reterr) : r;
}

/* Where no thread is inside the runtime that was there before. */
static int enter(struct attach *a, const struct attach_request *request, bool is_again,
                 struct err *reterr) {
        uint64_t until_ns = clock_now_ns() + (is_again ? ATTACH_LOOK_MS : ATTACH_MOMENT_MS) * MS;
        bool is_entered = false;
        struct safepoint m;
        int r = 0;

        for (unsigned again_ms = 1; r == 0 && clock_now_ns() < until_ns; again_ms *= 2) {
                r = safepoint_find(&a->target, &a->code, a->walker, until_ns, &m, reterr);
                if (r == -EPERM || r == -ESRCH || r == -ENOENT)
                        process_explain(a->target.pid, r, reterr);
                a->enter_pause_ns += m.tried_ns;
                if (r < 0)
                        break;
                POINT("safepoint");
                r = make_calls(a, request, is_again, &m, reterr);
                is_entered = r == 0;
                if (r != -EAGAIN)
                        break;
                r = 0;
                safepoint_settle(&a->target, &a->back);
                /* one that waits for a processor, or for room in a ring, needs its time */
                again_ms = MIN(again_ms, (unsigned)ATTACH_AGAIN_MS);
                tracee_pause(again_ms);
        }
        return r == 0 && !is_entered ? explain_result(a, -EAGAIN, reterr) : r;
}

static int put_entries(struct attach *a, struct err *reterr) {
        int r = entries_put(&a->entries, &a->target, reterr);

        a->entry_pause_ns += a->entries.pause_ns;
        a->enter_pause_ns += a->entries.pause_ns;
        return r;
}

/* Libraries were opened after the runtime had looked, and before the loader told it. What is opened from now on it is told. */
static int look_again(struct attach *a, const struct attach_request *request) {
        struct err unsaid = {0};
        int r = target_refresh(&a->target, &unsaid);

        code_done(&a->code);
        stack_walker_free(TAKE_PTR(a->walker));
        if (r == 0)
                r = read_code(a, &unsaid);
        if (r == 0)
                r = stack_walker_new(&a->target, &a->walker, &unsaid);
        if (r == 0)
                r = enter(a, request, true, &unsaid);
        return r < 0 ? r : put_entries(a, &unsaid);
}

static int begin(struct attach *a, const void *request, struct err *reterr) {
        int r;

        tracee_begin();
        r = enter(a, request, false, reterr);
        if (r == 0) {
                a->is_on = true;
                stopper_tell(a);
                r = put_entries(a, reterr);
        }
        safepoint_settle(&a->target, &a->back);
        if (r == 0 && a->entries.is_list_changed)
                a->is_list_unseen = look_again(a, request) < 0;
        safepoint_settle(&a->target, &a->back);
        return r < 0 && process_is_over(a->target.pid)
                       ? process_explain(a->target.pid, -ESRCH, reterr)
                       : r;
}

static int end(struct attach *a, const void *unused, struct err *reterr) {
        int r;

        (void)unused;
        tracee_begin();
        entries_close(&a->entries, &a->target);
        POINT("entries/closed");
        r = entries_take_back(&a->entries, &a->target, a->leave, a->leave_ctx, reterr);
        a->leave_pause_ns = a->entries.pause_ns;
        a->is_on = r < 0;
        return r;
}

int attach_begin(struct attach *a, const struct attach_request *request, struct err *reterr) {
        return stopper_run(a, begin, request, reterr);
}

int attach_end(struct attach *a, struct err *reterr) {
        a->leave_pause_ns = 0;
        return a->is_on ? stopper_run(a, end, NULL, reterr) : 0;
}

/* Its memory was opened then, and stays that of this program. */
bool attach_is_there(const struct attach *a) {
        uint64_t word;

        return target_read(&a->target, a->entries.addr, &word, sizeof(word));
}

void attach_done(struct attach *a) {
        stack_walker_free(TAKE_PTR(a->walker));
        code_done(&a->code);
        target_close(&a->target);
}

/* SPDX-License-Identifier: MIT */
#include "record/admission.h"

#include <stdlib.h>

#include "base/units.h"
#include "patch/plan.h"
#include "pipeline/pipeline.h"
#include "record/counter.h"
#include "record/proc.h"
#include "record/recorder_graph.h"
#include "record/unreported.h"

enum {
        ADMISSION_PATIENCE_MS =
                100, /* an exec waits this long for the events of the image before it */
        ADMISSION_MAX_NAMED = 50,
        STRAY_LOOKS_MIN = 20,
};

#define STRAY_PATIENCE_NS 300000000ull
#define STRAY_PATIENCE_MAX_NS 10000000000ull
#define UNCLEAR_PATIENCE_NS 1000000000ull

/* An entry the process claimed itself after fork, which the pipeline has not come to yet. */
static bool admission_has_unsettled_entry(const struct recorder *r, pid_t pid) {
        const struct shm *shm = r->config->shm;
        uint32_t n = atomic_load_explicit(&shm_header(shm)->n_processes_used, memory_order_acquire);

        for (uint32_t i = 0; i < MIN(n, (uint32_t)WIRE_N_PROCESSES); i++) {
                uint64_t state =
                        atomic_load_explicit(&shm_process(shm, i)->state, memory_order_acquire);

                if (state && (pid_t)(state >> 8) == pid && !images_find_idx(&r->images, i))
                        return true;
        }
        return false;
}

/* By compare-and-swap, as forked children do. */
static bool admission_claim_entry(const struct recorder *r, pid_t pid, uint32_t *ret_idx) {
        const struct shm *shm = r->config->shm;
        struct wire_header *h = shm_header(shm);

        for (uint32_t i = 0; i < WIRE_N_PROCESSES; i++) {
                struct wire_process *p = shm_process(shm, i);
                uint64_t expected = 0, wanted = (uint64_t)pid << 8 | WIRE_PROCESS_CLAIMED;
                uint32_t used;

                if (!atomic_compare_exchange_strong_explicit(&p->state, &expected, wanted,
                                                             memory_order_acq_rel,
                                                             memory_order_relaxed))
                        continue;
                used = atomic_load_explicit(&h->n_processes_used, memory_order_relaxed);
                while (used < i + 1 &&
                       !atomic_compare_exchange_weak_explicit(&h->n_processes_used, &used, i + 1,
                                                              memory_order_acq_rel,
                                                              memory_order_relaxed))
                        ;
                p->parent_idx = UINT32_MAX;
                p->flags = 0;
                p->fork_ts = 0;
                p->start_ts = counter_now(r->clock) - h->clock_base;
                atomic_store_explicit(&p->n_threads_started, 0, memory_order_relaxed);
                atomic_store_explicit(&p->runtime_bytes, 0, memory_order_relaxed);
                atomic_store_explicit(&p->n_ring_pages, 0, memory_order_relaxed);
                atomic_store_explicit(&p->n_early_events, 0, memory_order_relaxed);
                atomic_store_explicit(&p->n_unsampled, 0, memory_order_relaxed);
                atomic_store_explicit(&p->unfollowed, 0, memory_order_relaxed);
                atomic_store_explicit(&p->exit_ts, 0, memory_order_relaxed);
                atomic_store_explicit(&p->n_patched, 0, memory_order_relaxed);
                atomic_store_explicit(&p->n_unpatched, 0, memory_order_relaxed);
                atomic_store_explicit(&p->state, (uint64_t)pid << 8 | WIRE_PROCESS_LIVE,
                                      memory_order_release);
                *ret_idx = i;
                return true;
        }
        return false;
}

/* A few by name, the others by number: see admission_note_unheard. */
static void admission_note_in_vain(struct recorder *r, pid_t pid) {
        if (r->n_in_vain++ < ADMISSION_MAX_NAMED)
                recorder_note(
                        r,
                        "pid %d not followed: the recorder was stopped or too busy to answer it, or it ended at once",
                        (int)pid);
}

void admission_note_unheard(struct recorder *r) {
        uint64_t n = r->n_unheard;

        unseen_note_rest(r);
        if (r->n_in_vain > ADMISSION_MAX_NAMED)
                n += r->n_in_vain - ADMISSION_MAX_NAMED;
        if (n)
                recorder_note(
                        r,
                        "%llu more programs not followed: the recorder was stopped or too busy to answer them",
                        (unsigned long long)n);
}

/* What of the program's own allocators is to be hooked, and what is not. */
static void admission_log_plan(struct recorder *r, pid_t pid, const struct patch_plan *plan) {
        for (size_t i = 0; i < plan->allocators.n; i++) {
                const struct patch_plan_allocator *a = &plan->allocators.items[i];

                recorder_log(r, "pid %d: %s in %s: %u functions hooked, %u not%s%s", (int)pid,
                             a->name, a->module, a->n_hooked, a->n_refused, a->why[0] ? ": " : "",
                             a->why);
        }
}

/* exe: NULL: as /proc says. */
static void admission_plan(struct recorder *r, const struct rendezvous_guest *guest,
                           const char *exe, struct patch_plan *ret) {
        struct patch_plan_request request = {
                .pid = guest->pid,
                .exe = exe,
                .runtime_path = r->config->runtime_path,
                .machine = guest->hello.machine,
                .hello = &guest->hello,
                .hooks_entries = !r->config->options->no_patch,
                .memory = &r->patches,
                .given = r->config->options->given,
        };
        struct err err = {0};

        *ret = (struct patch_plan){.fd = -1};
        if (patch_plan_make(&request, ret, &err) < 0)
                recorder_log(r, "pid %d: did not look for its own allocators: %s", (int)guest->pid,
                             err.text);
        admission_log_plan(r, guest->pid, ret);
        if (ret->unreadable[0])
                recorder_note(r, "pid %d: '%s' was not looked at for allocators: %s",
                              (int)guest->pid, ret->unreadable,
                              ret->is_late ? "reading it took too long" : "it is damaged");
}

void admission_foresee(struct recorder *r) {
        struct wire_hello hello = {.flags = WIRE_HELLO_ATTACHED};
        struct patch_plan_request request = {
                .pid = r->config->target,
                .runtime_path = r->config->runtime_path,
                .machine = MACHINE_OWN,
                .hello = &hello,
                .hooks_entries = true,
                .memory = &r->patches,
        };
        struct patch_plan plan = {.fd = -1};

        (void)patch_plan_make(&request, &plan, NULL); /* what is wrong is said when it comes */
        patch_plan_done(&plan);
}

/* It is recorded already and has opened objects, which may bring an allocator. It waits for the answer. */
static void admission_plan_again(struct recorder *r, struct rendezvous_guest *guest) {
        struct image *one = images_find_pid(&r->images, guest->pid);
        bool is_emulated = r->config->options->launcher && guest->pid == r->config->target;
        struct patch_plan plan = {.fd = -1};

        if (one && !r->is_stopped)
                admission_plan(r, guest, is_emulated ? one->exe : NULL, &plan);
        if (plan.loader_number)
                pipeline_set_loader_allocator(r->pipeline, one->process_idx, plan.loader_number);
        rendezvous_send_plan(guest, plan.fd, plan.n_bytes);
        patch_plan_done(&plan);
}

static void admission_admit_one(struct recorder *r, struct rendezvous_guest *guest) {
        struct image *one;
        struct patch_plan plan;
        uint32_t parent, idx;
        bool is_emulated;

        if (r->is_stopped || !admission_claim_entry(r, guest->pid, &idx)) {
                if (!r->is_stopped)
                        recorder_note(r, "pid %d not followed: more than %d processes at once",
                                      (int)guest->pid, WIRE_N_PROCESSES);
                rendezvous_welcome(guest, r->config->shm, 0, 0, -1, 0);
                return;
        }
        parent = images_parent_of(&r->images, guest->pid);
        one = images_add(&r->images, idx, guest->pid, guest->pid, parent, recorder_now_ns(r));
        one->is_guest = true;
        is_emulated = r->config->options->launcher && guest->pid == r->config->target;
        if (is_emulated)
                one->exe = realpath(r->config->options->argv[0], NULL)
                                   ?: ""; /* /proc names the emulator */
        one->program = is_emulated ? 0 : modules_add_program(&r->modules, guest->pid, one->exe);
        recorder_log(r, "pid %d image %u: hooked, entry %u", (int)guest->pid, one->image_number,
                     idx);
        pipeline_add_image(r->pipeline, idx, (uint32_t)guest->pid, one->trace_process);
        pipeline_set_main(r->pipeline, r->images.main_process);
        recorder_watch_image(r, one);
        one->is_older = r->config->options->attached && guest->pid == r->config->target;
        images_sample(&r->images, one, recorder_now_ns(r), 0, 0);
        if (one->is_older) {
                /* before its first figures, which would pass for all it has */
                priors_write(&r->priors, r->writer, one->trace_process);
                recorder_note(
                        r, "attached to pid %d while it ran: blocks allocated earlier are not seen",
                        (int)guest->pid);
        }
        if (r->images.n_added ==
            1) /* a recorder that is killed at once leaves a trace that names the program */
                pipeline_end_slice(r->pipeline, recorder_now_ns(r), true);
        admission_plan(r, guest, is_emulated ? one->exe : NULL, &plan);
        one->is_nameless = plan.is_nameless;
        one->has_exported = plan.has_exported;
        pipeline_set_loader_allocator(r->pipeline, idx, plan.loader_number);
        if (rendezvous_welcome(guest, r->config->shm, 1, idx, plan.fd, plan.n_bytes) < 0) {
                one->is_guest = false; /* why it has no events is said here */
                admission_note_in_vain(r, guest->pid);
        }
        patch_plan_done(&plan);
}

/* The image that this one replaces ends first: its blocks are gone before the new one's first. True once all its
 * events are through. */
static bool admission_is_settled(struct recorder *r, pid_t pid) {
        struct image *before = images_find_pid(&r->images, pid);

        if (before)
                recorder_end_image(r, before, TRACE_ENDED_EXEC, -1);
        for (size_t i = r->images.list.n; i-- > 0;)
                if (r->images.list.items[i]->pid == pid)
                        return false;
        return true;
}

/* A guest whose former self is still on its way through the rings waits for it, so that images are in order. */
void admission_admit(struct recorder *r) {
        size_t kept = 0;

        for (size_t i = 0; i < r->guests.n; i++) {
                struct recorder_guest *g = &r->guests.items[i];

                if ((admission_has_unsettled_entry(r, g->guest.pid) ||
                     !admission_is_settled(r, g->guest.pid)) &&
                    recorder_now_ns(r) - g->arrived_ns < ADMISSION_PATIENCE_MS * 1000000ull)
                        r->guests.items[kept++] = *g;
                else
                        admission_admit_one(r, &g->guest);
        }
        r->guests.n = kept;
}

void admission_end_silence(struct recorder *r) {
        uint64_t n_unheard;

        if (rendezvous_end_silence(r->config->rendezvous, &n_unheard))
                r->n_unheard += n_unheard;
}

void admission_accept(struct recorder *r) {
        struct rendezvous_guest guest;

        while (rendezvous_accept(r->config->rendezvous, &guest) > 0) {
                if (guest.hello.is_again)
                        admission_plan_again(r, &guest);
                else
                        vec_push(&r->guests, (struct recorder_guest){guest, recorder_now_ns(r)});
        }
        admission_end_silence(r);
}

static struct recorder_unreported *admission_find_unreported(struct recorder *r, pid_t pid) {
        for (size_t i = 0; i < r->unreported.n; i++)
                if (r->unreported.items[i].pid == pid)
                        return &r->unreported.items[i];
        vec_push(&r->unreported, ((struct recorder_unreported){.pid = pid,
                                                               .since_ns = recorder_now_ns(r),
                                                               .able_since_ns = recorder_now_ns(r),
                                                               .cpu_ns = proc_cpu_ns(pid)}));
        return &r->unreported.items[r->unreported.n - 1];
}

/* A descendant may take 300 ms to report, of time in which it could: one that stands in line for a processor has not
 * had them, and of a recorder that was not there itself nobody knows what it missed. */
static bool admission_may_report(struct recorder *r, struct recorder_unreported *s) {
        uint64_t now_ns = recorder_now_ns(r), cpu_ns = proc_cpu_ns(s->pid) - s->cpu_ns;

        if (proc_state(s->pid) == 'R' && cpu_ns < STRAY_PATIENCE_NS)
                s->able_since_ns = now_ns;
        s->n_looks++;
        if (now_ns - s->since_ns >= STRAY_PATIENCE_MAX_NS)
                return false;
        return now_ns - s->able_since_ns < STRAY_PATIENCE_NS || s->n_looks < STRAY_LOOKS_MIN;
}

/* They may be anybody's processes: no exec takes that long. */
static bool admission_awaits_unclear(struct recorder *r, size_t n_unclear) {
        uint64_t now_ns = recorder_now_ns(r);

        if (!n_unclear)
                r->unclear_since_ns = 0;
        else if (!r->unclear_since_ns)
                r->unclear_since_ns = now_ns;
        return n_unclear && now_ns - r->unclear_since_ns < UNCLEAR_PATIENCE_NS;
}

bool admission_awaits_unreported(struct recorder *r) {
        unreported found = {0};
        size_t n_unclear;
        bool may_report;

        unreported_find(&found, &n_unclear, r->config->rendezvous->env,
                        r->images.began_s - IMAGES_TICK_S);
        if (r->config->options->attached)
                unreported_find_heirs(&found, r->images.began_s - IMAGES_TICK_S);
        may_report = admission_awaits_unclear(r, n_unclear);
        for (size_t i = 0; i < found.n; i++) {
                struct recorder_unreported *s;
                char name[17] = "";

                if (images_find_pid(&r->images, found.items[i]) ||
                    recorder_is_graph_copy(r, found.items[i]))
                        continue;
                s = admission_find_unreported(r, found.items[i]);
                if (s->is_noted)
                        continue;
                if (admission_may_report(r, s)) {
                        may_report = true;
                        continue;
                }
                s->is_noted = true;
                proc_comm(s->pid, s->pid, name);
                recorder_note(
                        r,
                        r->config->options->attached
                                ? "pid %d (%s) did not report within its time: what it allocates may be missing"
                                : "pid %d (%s) not followed: it never reported; it may be static or privileged",
                        (int)s->pid, name);
        }
        vec_free(&found);
        return may_report;
}

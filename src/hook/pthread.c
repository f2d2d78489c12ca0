/* SPDX-License-Identifier: MIT */
/* Threads: how many ran, and their names. A new thread begins in a trampoline that counts it and
 * jumps on to the program's function: nothing of ours stays on its stack, so exit, cancellation
 * and exceptions are as ever. */
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <threads.h>

#include "hook/call.h"
#include "hook/event.h"

enum { START_PAGE_BYTES = 4096 };

/* What the trampoline needs, from the creating to the created thread. */
struct thread_begin {
        _Atomic uint32_t is_taken;
        void *fn; /* void *(void *) or int (void *) */
        void *arg;
};

enum { START_N_PER_PAGE = (START_PAGE_BYTES - sizeof(void *)) / sizeof(struct thread_begin) };

struct start_page {
        struct start_page *next;
        struct thread_begin begins[START_N_PER_PAGE];
};

_Static_assert(sizeof(struct start_page) <= START_PAGE_BYTES, "one page");

static _Atomic(struct start_page *) start_pages;

static struct thread_begin *start_take(struct start_page *page) {
        for (unsigned i = 0; i < START_N_PER_PAGE; i++) {
                uint32_t is_free = 0;

                if (atomic_compare_exchange_strong_explicit(&page->begins[i].is_taken, &is_free, 1,
                                                            memory_order_acquire,
                                                            memory_order_relaxed))
                        return &page->begins[i];
        }
        return NULL;
}

static struct thread_begin *start_new(void *fn, void *arg) {
        struct thread_begin *begin = NULL;
        struct start_page *page = atomic_load_explicit(&start_pages, memory_order_acquire);

        for (struct start_page *p = page; p && !begin; p = p->next)
                begin = start_take(p);
        if (!begin) {
                page = runtime_map(START_PAGE_BYTES, START_PAGE_BYTES);
                if (!page)
                        return NULL;
                begin = start_take(page);
                page->next = atomic_load_explicit(&start_pages, memory_order_relaxed);
                while (!atomic_compare_exchange_weak_explicit(&start_pages, &page->next, page,
                                                              memory_order_release,
                                                              memory_order_relaxed))
                        ;
        }
        SIGNAL_POINT("pthread/begin");
        begin->fn = fn;
        begin->arg = arg;
        return begin;
}

static struct thread_begin start_finish(struct thread_begin *begin) {
        struct thread_begin copy = {0, begin->fn, begin->arg};

        /* release: the reads above before the next owner's writes. Pairs with the acquire in
         * start_take. */
        atomic_store_explicit(&begin->is_taken, 0, memory_order_release);
        if (!thread_is_counted && runtime_is_recording())
                atomic_fetch_add_explicit(&runtime.process->n_threads_started, 1,
                                          memory_order_relaxed);
        thread_is_counted = true;
        SIGNAL_POINT("pthread/counted");
        return copy;
}

/* Both end in a jump. */
static void *start_pthread(void *ctx) {
        struct thread_begin begin = start_finish(ctx);

        return ((void *(*)(void *))begin.fn)(begin.arg);
}

static int start_thrd(void *ctx) {
        struct thread_begin begin = start_finish(ctx);

        return ((int (*)(void *))begin.fn)(begin.arg);
}

HOOK_EXPORT int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attr,
                               void *(*fn)(void *), void *arg) {
        struct thread *t = thread_get();
        struct thread_begin *begin = t ? start_new((void *)fn, arg) : NULL;
        int r;

        if (!begin)
                return real.pthread_create.fn ? REAL(pthread_create)(ret_thread, attr, fn, arg)
                                              : 11 /* EAGAIN */;
        r = REAL(pthread_create)(ret_thread, attr, start_pthread, begin);
        if (r != 0)
                atomic_store_explicit(&begin->is_taken, 0, memory_order_release);
        return r;
}

HOOK_EXPORT int thrd_create(thrd_t *ret_thread, thrd_start_t fn, void *arg) {
        struct thread *t = thread_get();
        struct thread_begin *begin = t ? start_new((void *)fn, arg) : NULL;
        int r;

        if (!begin)
                return real.thrd_create.fn ? REAL(thrd_create)(ret_thread, fn, arg) : thrd_error;
        r = REAL(thrd_create)(ret_thread, start_thrd, begin);
        if (r != thrd_success)
                atomic_store_explicit(&begin->is_taken, 0, memory_order_release);
        return r;
}

/* Only the calling thread's own name goes into its ring; the recorder looks the others' up from
 * outside. */
HOOK_EXPORT int pthread_setname_np(pthread_t thread, const char *name) {
        struct thread *t = thread_get();
        int r;

        if (!real.pthread_setname_np.fn)
                return 38 /* ENOSYS */;
        r = REAL(pthread_setname_np)(thread, name);
        if (t && r == 0 && real.pthread_self.fn && REAL(pthread_self)() == thread)
                event_thread_name(t, name);
        return r;
}

HOOK_EXPORT int prctl(int option, ...) {
        struct thread *t = thread_get();
        unsigned long arg[4];
        va_list args;
        int r;

        va_start(args, option);
        for (unsigned i = 0; i < 4; i++)
                arg[i] = va_arg(args, unsigned long);
        va_end(args);
        if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP)
                runtime.is_confined = true; /* before it is, and for good */
        if (!real.prctl.fn)
                return (int)sys_call6(SYS_prctl, option, (long)arg[0], (long)arg[1], (long)arg[2],
                                      (long)arg[3], 0);
        r = REAL(prctl)(option, arg[0], arg[1], arg[2], arg[3]);
        if (option == PR_SET_NAME && t && r == 0)
                event_thread_name(t, (const char *)arg[0]);
        return r;
}

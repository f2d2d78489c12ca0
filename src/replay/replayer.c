/* SPDX-License-Identifier: MIT */
/* silt-replay: carries out recorded operations with whatever malloc it was started with, and says what that took (docs/whatif.md).
 *
 *   silt-replay PARENT-PID DURATION-US paced|fast|none TRIM-US, with a socket as descriptor 3: operations in, a replay_result out
 *
 * Threads take turns. The one that has the turn owns everything here but the words that others wait on. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/futex.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "replay/op_reader.h"
#include "replay/replayer_look.h"
#include "replay/replayer_own.h"

enum {
        STACK_BYTES = 256 * 1024,
        BUFFER_BYTES = 256 * 1024,
        THREAD_CHUNK = 4096,
        N_THREAD_CHUNKS = OP_MAX_THREADS / THREAD_CHUNK,
};

enum turn { TURN_WAIT, TURN_GO, TURN_END };

struct replay_thread {
        pthread_t id;
        _Atomic uint32_t turn; /* enum turn: a futex */
        bool is_running;
        void *stack;
};

struct replayer {
        struct op_reader ops;
        struct look look;
        struct replay_result result;
        struct own_blocks blocks;
        struct replay_thread *threads[N_THREAD_CHUNKS];
        uint64_t page_bytes, trim_us, next_trim_us, began_ns;
        bool is_paced, is_none, is_over;
        uint8_t buffer[BUFFER_BYTES];
};

static struct replayer *self; /* in memory of its own */

static void take_turns(uint32_t me);

/* ---- turns ------------------------------------------------------------------------------------ */

static struct replay_thread *thread_at(uint32_t thread) {
        struct replay_thread **chunk = &self->threads[thread / THREAD_CHUNK];

        if (!*chunk)
                *chunk = own_map(sizeof(struct replay_thread) * THREAD_CHUNK);
        return *chunk ? &(*chunk)[thread % THREAD_CHUNK] : NULL;
}

static enum turn wait_for_turn(struct replay_thread *t) {
        uint32_t turn;

        while ((turn = atomic_load(&t->turn)) == TURN_WAIT)
                syscall(SYS_futex, &t->turn, FUTEX_WAIT_PRIVATE, TURN_WAIT, NULL, NULL, 0);
        return (enum turn)turn;
}

static void give_turn(struct replay_thread *t, enum turn turn) {
        atomic_store(&t->turn, turn);
        syscall(SYS_futex, &t->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *run_thread(void *arg) {
        uint32_t me = (uint32_t)(uintptr_t)arg;

        if (wait_for_turn(thread_at(me)) == TURN_GO)
                take_turns(me);
        return NULL;
}

static int start_thread(struct replay_thread *t, uint32_t thread) {
        pthread_attr_t attr;
        int r = ENOMEM;

        t->stack = own_map(STACK_BYTES);
        if (!t->stack)
                return r;
        pthread_attr_init(&attr);
        pthread_attr_setstack(&attr, t->stack, STACK_BYTES);
        r = pthread_create(&t->id, &attr, run_thread, (void *)(uintptr_t)thread);
        pthread_attr_destroy(&attr);
        t->is_running = r == 0;
        return r;
}

static void fail(enum replay_status status, int error) {
        if (self->is_over)
                return;
        self->result.status = status;
        self->result.error = (uint32_t)error;
        self->is_over = true;
}

/* Gives the turn to another and waits for the next of one's own; false: there will be none. */
static bool pass_turn(uint32_t me, uint32_t to) {
        struct replay_thread *mine = thread_at(me), *t = thread_at(to);
        int r;

        if (!t) {
                fail(REPLAY_NO_TABLES, ENOMEM);
                return true;
        }
        if (to != 0 && !t->is_running && (r = start_thread(t, to)) != 0) {
                fail(REPLAY_NO_THREAD, r);
                return true;
        }
        atomic_store(&mine->turn, TURN_WAIT);
        give_turn(t, TURN_GO);
        return wait_for_turn(mine) == TURN_GO;
}

static void end_thread(uint32_t thread) {
        struct replay_thread *t = thread_at(thread);

        if (!t || !t->is_running)
                return;
        give_turn(t, TURN_END);
        pthread_join(t->id, NULL);
        own_unmap(t->stack, STACK_BYTES);
        *t = (struct replay_thread){0};
}

/* ---- blocks ----------------------------------------------------------------------------------- */

/* One byte in each page of [from, to) of the block. */
static void touch(char *p, uint64_t from, uint64_t to) {
        if (from >= to)
                return;
        for (uint64_t at = from; at < to; at += self->page_bytes)
                *(volatile char *)(p + at) = 1;
        *(volatile char *)(p + to - 1) = 1;
}

static void count_live(int64_t bytes, int64_t blocks) {
        struct replay_result *r = &self->result;

        r->live_bytes += (uint64_t)bytes;
        r->live_blocks += (uint64_t)blocks;
        if (r->live_bytes > r->peak_live_bytes) {
                r->peak_live_bytes = r->live_bytes;
                r->peak_live_blocks = r->live_blocks;
        }
}

/* Without an allocator every block is at the same place, and nobody writes there. */
static char *get_block(char *old, uint64_t size_bytes) {
        if (self->is_none)
                return (char *)self;
        return old ? realloc(old, size_bytes ? size_bytes : 1) : malloc(size_bytes);
}

static void allocate(const struct op *op) {
        struct own_block *b = own_block_at(&self->blocks, op->slot);
        char *p;

        if (!b || b->address) {
                fail(b ? REPLAY_BAD_STREAM : REPLAY_NO_TABLES, b ? EBADMSG : ENOMEM);
                return;
        }
        p = get_block(NULL, op->size_bytes);
        if (!p) {
                fail(REPLAY_NO_MEMORY, ENOMEM);
                return;
        }
        if (!self->is_none)
                touch(p, 0, op->touched_bytes);
        *b = (struct own_block){p, op->size_bytes};
        self->result.n_allocs++;
        count_live((int64_t)op->size_bytes, 1);
        look_asked(&self->look, op->touched_bytes);
}

static void release(const struct op *op) {
        struct own_block *b = own_block_known(&self->blocks, op->slot);

        if (!b || !b->address) {
                fail(REPLAY_BAD_STREAM, EBADMSG);
                return;
        }
        if (!self->is_none)
                free(b->address);
        self->result.n_frees++;
        count_live(-(int64_t)b->size_bytes, -1);
        *b = (struct own_block){0};
}

static void reallocate(const struct op *op) {
        struct own_block *b = own_block_known(&self->blocks, op->slot);
        char *p;

        if (!b || !b->address) {
                fail(REPLAY_BAD_STREAM, EBADMSG);
                return;
        }
        p = get_block(b->address, op->size_bytes);
        if (!p) {
                fail(REPLAY_NO_MEMORY, ENOMEM);
                return;
        }
        if (!self->is_none)
                touch(p, b->size_bytes, op->touched_bytes);
        self->result.n_reallocs++;
        count_live((int64_t)op->size_bytes - (int64_t)b->size_bytes, 0);
        /* it may have been copied */
        look_asked(&self->look, op->touched_bytes);
        *b = (struct own_block){p, op->size_bytes};
}

/* ---- time ------------------------------------------------------------------------------------- */

/* Until that moment of the recording, or until silt is gone. */
static void wait_until(uint64_t time_us) {
        struct pollfd silt = {.fd = REPLAY_FD};
        uint64_t at_ns = self->began_ns + time_us * 1000, now_ns;

        while ((now_ns = own_now_ns()) < at_ns) {
                struct timespec left = {.tv_sec = (time_t)((at_ns - now_ns) / 1000000000),
                                        .tv_nsec = (long)((at_ns - now_ns) % 1000000000)};

                if (ppoll(&silt, 1, &left, NULL) > 0)
                        _exit(1);
        }
}

/* Paced, what happens in the background while nothing is asked for is seen too. */
static void pace(uint64_t time_us) {
        struct look *l = &self->look;

        for (uint64_t border = look_column_end_us(l, l->time_us); border < time_us;
             border = look_column_end_us(l, border)) {
                wait_until(border);
                look_now(l);
                l->time_us = border;
        }
        wait_until(time_us);
}

static void go_on(uint64_t time_us) {
        if (self->is_paced)
                pace(time_us);
        else
                own_set_clock(time_us * 1000);
        look_time(&self->look, time_us);
        if (self->trim_us && time_us >= self->next_trim_us && !self->is_none) {
                malloc_trim(0);
                self->result.n_trims++;
                self->next_trim_us = time_us + self->trim_us;
        }
}

/* ---- all of it -------------------------------------------------------------------------------- */

/* Carries out one operation; false: the thread is to end. */
static bool carry_out(const struct op *op, uint32_t me) {
        switch (op->tag) {
        case OP_THREAD: return op->thread == me || pass_turn(me, op->thread);
        case OP_THREAD_END: end_thread(op->thread); break;
        case OP_TIME: go_on(self->ops.time_us); break;
        case OP_ALLOC:
        case OP_ALLOC_PART: allocate(op); break;
        case OP_FREE: release(op); break;
        case OP_REALLOC: reallocate(op); break;
        case OP_END:
        case OP_N_TAGS: break;
        }
        return true;
}

/* From when this thread has the turn until all is over or the thread is. Only the first thread returns when all is over. */
static void take_turns(uint32_t me) {
        struct op op;
        int r;

        while (!self->is_over) {
                r = op_reader_next(&self->ops, &op);
                if (r < 0)
                        fail(REPLAY_BAD_STREAM, -r);
                else if (r == 0)
                        self->is_over = true;
                else if (!carry_out(&op, me))
                        return;
        }
        if (me != 0)
                pass_turn(me, 0); /* which ends the process */
}

static ssize_t fill(void *ctx, uint8_t *to, size_t cap) {
        ssize_t n;

        (void)ctx;
        do
                n = read(REPLAY_FD, to, cap);
        while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n;
}

static void *find(const char *name) {
        return dlsym(RTLD_DEFAULT, name);
}

/* Each allocator has its own way to say it. */
static void tell_version(struct replay_result *r) {
        int (*mallctl)(const char *, void *, size_t *, void *, size_t) = find("mallctl");
        const char *(*tc)(int *, int *, const char **) = find("tc_version");
        int (*mi)(void) = find("mi_version");
        int major = 0, minor = 0;
        const char *text = NULL;
        size_t n = sizeof(text);

        if (mallctl && mallctl("version", &text, &n, NULL, 0) == 0 && text)
                snprintf(r->version, sizeof(r->version), "%.*s", (int)strcspn(text, "-"), text);
        else if (mi)
                snprintf(r->version, sizeof(r->version), "%d.%d", mi() / 100, mi() / 10 % 10);
        else if (tc && tc(&major, &minor, &text))
                snprintf(r->version, sizeof(r->version), "%d.%d", major, minor);
        else if (strstr(r->module, "/libc.so"))
                snprintf(r->version, sizeof(r->version), "%s", gnu_get_libc_version());
}

static void tell_allocator(struct replay_result *r) {
        Dl_info info;
        void *address = find("malloc");

        if (address && dladdr(address, &info) && info.dli_fname)
                snprintf(r->module, sizeof(r->module), "%s", info.dli_fname);
        tell_version(r);
}

/* Dies with silt, and before anything else when memory runs out. */
static void be_expendable(pid_t parent) {
        int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        if (fd >= 0) {
                (void)!write(fd, "1000", 4);
                close(fd);
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(1);
}

static int answer(void) {
        const char *bytes = (const char *)&self->result;

        for (size_t done = 0; done < sizeof(self->result);) {
                ssize_t n = write(REPLAY_FD, bytes + done, sizeof(self->result) - done);

                if (n <= 0 && errno != EINTR)
                        return 1;
                done += n > 0 ? (size_t)n : 0;
        }
        return 0;
}

static int begin(char **argv) {
        be_expendable((pid_t)atol(argv[1]));
        self->look.duration_us = strtoull(argv[2], NULL, 10);
        self->is_paced = strcmp(argv[3], "paced") == 0;
        self->is_none = self->look.is_blind = strcmp(argv[3], "none") == 0;
        self->next_trim_us = self->trim_us = strtoull(argv[4], NULL, 10);
        self->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        self->ops = (struct op_reader){.fill = fill, .buf = self->buffer, .cap = BUFFER_BYTES};
        self->result.magic = REPLAY_RESULT_MAGIC;
        signal(SIGPIPE, SIG_IGN);
        return look_begin(&self->look, &self->result);
}

int main(int argc, char **argv) {
        self = own_map(sizeof(*self));
        if (!self || argc != 5 || begin(argv) < 0) {
                fputs("silt-replay: this program is a part of 'silt whatif'\n", stderr);
                return 2;
        }
        if (!thread_at(0))
                fail(REPLAY_NO_TABLES, ENOMEM);
        look_first(&self->look);
        tell_allocator(&self->result);
        self->began_ns = own_now_ns();
        own_set_clock(self->is_paced ? UINT64_MAX : 0);
        take_turns(0);
        look_last(&self->look);
        self->result.n_ops = self->result.n_allocs + self->result.n_frees + self->result.n_reallocs;
        _exit(answer());
}

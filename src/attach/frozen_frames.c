/* SPDX-License-Identifier: MIT */
#include "attach/frozen_frames.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/machine.h"
#include "base/fs.h"
#include "base/macros.h"
#include "base/system_clock.h"
#include "symbol/code_file.h"

enum {
        WALK_TIME_S = 5,
        MAX_FRAMES = 512,        /* of a thread */
        MAX_ALL_FRAMES = 262144, /* of all */
#if defined(__aarch64__)
        SP_NUMBER = 31, /* as DWARF counts registers */
#else
        SP_NUMBER = 7,
#endif
};

#define WALK_MEMORY_BYTES ((rlim_t)4 << 30)

struct walker {
        const struct frozen *frozen;
        const struct frozen_thread *thread;
        Dwfl *dwfl;
        frozen_frame_list frames; /* of the thread at hand */
        bool is_cut;
};

/* ---- in a process of its own ------------------------------------------------------------------------------ */

/* Files are looked for where the process has them. */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                    char **ret_path, Elf **ret_elf) {
        const struct walker *w = *userdata;
        char path[4200];
        int fd;

        if (!w || name[0] != '/')
                return dwfl_linux_proc_find_elf(module, userdata, name, base, ret_path, ret_elf);
        code_file_locate(w->frozen->copy, name, path, sizeof(path));
        fd = fs_open(path, O_RDONLY, 0);
        if (fd >= 0)
                *ret_path = strdup(path);
        return fd < 0 ? -1 : fd;
}

static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word crc, char **ret_path) {
        (void)module, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc;
        (void)ret_path;
        return -1;
}

static const Dwfl_Callbacks walk_callbacks = {.find_elf = find_elf,
                                              .find_debuginfo = find_debuginfo};

static int give_walker(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                       void *ctx) {
        (void)module, (void)name, (void)base;
        *userdata = ctx;
        return DWARF_CB_OK;
}

static pid_t next_thread(Dwfl *dwfl, void *ctx, void **thread_arg) {
        struct walker *w = ctx;

        (void)dwfl;
        if (*thread_arg)
                return 0;
        *thread_arg = w;
        return w->thread->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *ctx, void **thread_arg) {
        (void)dwfl, (void)tid;
        *thread_arg = ctx;
        return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *ret, void *ctx) {
        const struct walker *w = ctx;

        (void)dwfl;
        return pread(w->frozen->mem_fd, ret, sizeof(*ret), (off_t)addr) == sizeof(*ret);
}

/* Of a thread that was left asleep, the stack pointer is enough as long as no frame needs another. */
static bool set_registers(Dwfl_Thread *thread, void *ctx) {
        const struct walker *w = ctx;
        const struct frozen_thread *t = w->thread;
        Dwarf_Word words[FROZEN_MAX_REGS], sp = t->sp;

        for (unsigned i = 0; i < t->n_regs; i++)
                words[i] = t->regs[i];
        if (t->is_partial ? !dwfl_thread_state_registers(thread, SP_NUMBER, 1, &sp)
                          : !dwfl_thread_state_registers(thread, 0, t->n_regs, words))
                return false;
        dwfl_thread_state_register_pc(thread, t->pc);
        return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
        .next_thread = next_thread,
        .get_thread = get_thread,
        .memory_read = read_memory,
        .set_initial_registers = set_registers,
};

static int on_frame(Dwfl_Frame *frame, void *ctx) {
        struct walker *w = ctx;
        bool is_activation;
        Dwarf_Addr pc;
        Dwarf_Word sp;

        if (!dwfl_frame_pc(frame, &pc, &is_activation) ||
            dwfl_frame_reg(frame, SP_NUMBER, &sp) != 0 || w->frames.n == MAX_FRAMES ||
            (w->frames.n && sp < w->frames.items[w->frames.n - 1].address)) {
                w->is_cut = true;
                return DWARF_CB_ABORT;
        }
        vec_push(&w->frames,
                 (struct frozen_frame){.address = w->frames.n ? sp
                                                              : sp - machine_own.below_stack_bytes,
                                       .pc = is_activation ? pc : pc - 1,
                                       .tid = (uint32_t)w->thread->tid});
        return DWARF_CB_OK;
}

/* Where the last one ends is unknown, unless it is the first of the stack. */
static void walk_thread(struct walker *w, int fd) {
        struct frozen_frame *last;

        vec_clear(&w->frames);
        w->is_cut = false;
        if (dwfl_getthread_frames(w->dwfl, w->thread->tid, on_frame, w) != 0)
                w->is_cut = true;
        if (!w->frames.n)
                return;
        last = &w->frames.items[w->frames.n - 1];
        if (w->is_cut)
                last->pc = 0;
        else
                last->is_end = 1;
        (void)!fs_write_all(fd, w->frames.items, w->frames.n * sizeof(w->frames.items[0]));
}

static void walk_all(const struct frozen *f, int fd) {
        struct walker w = {.frozen = f};

        signal(SIGALRM, SIG_DFL);
        alarm(WALK_TIME_S);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        setrlimit(RLIMIT_DATA, &(struct rlimit){WALK_MEMORY_BYTES, WALK_MEMORY_BYTES});
        w.dwfl = dwfl_begin(&walk_callbacks);
        if (!w.dwfl || dwfl_linux_proc_report(w.dwfl, f->copy) != 0 ||
            dwfl_report_end(w.dwfl, NULL, NULL) != 0)
                return;
        dwfl_getmodules(w.dwfl, give_walker, &w, 0);
        w.thread = f->threads.items;
        if (!f->threads.n || !dwfl_attach_state(w.dwfl, NULL, f->copy, &thread_callbacks, &w))
                return;
        for (size_t i = 0; i < f->threads.n; i++) {
                w.thread = &f->threads.items[i];
                walk_thread(&w, fd);
        }
}

/* ---- outside ----------------------------------------------------------------------------------------------- */

static void read_frames(int fd, frozen_frame_list *ret) {
        int64_t until_ms = (int64_t)clock_now_ms() + WALK_TIME_S * 1000;
        struct frozen_frame one;
        size_t have = 0;

        while (ret->n < MAX_ALL_FRAMES) {
                struct pollfd p = {.fd = fd, .events = POLLIN};
                int64_t left_ms = until_ms - (int64_t)clock_now_ms();
                ssize_t n;

                if (left_ms <= 0 || poll(&p, 1, (int)left_ms) == 0)
                        return;
                n = read(fd, (uint8_t *)&one + have, sizeof(one) - have);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return;
                have += (size_t)n;
                if (have < sizeof(one))
                        continue;
                vec_push(ret, one);
                have = 0;
        }
}

static int by_address(const void *a, const void *b) {
        const struct frozen_frame *x = a, *y = b;

        return x->address < y->address ? -1 : x->address > y->address;
}

/* Whoever could not be walked is not taken for the stack below. */
static void add_unwalked(const struct frozen *f, frozen_frame_list *ret) {
        size_t n = ret->n;

        for (size_t i = 0; i < f->threads.n; i++) {
                bool is_walked = false;

                for (size_t k = 0; k < n && !is_walked; k++)
                        is_walked = ret->items[k].tid == (uint32_t)f->threads.items[i].tid;
                if (!is_walked)
                        vec_push(ret,
                                 (struct frozen_frame){.address = f->threads.items[i].sp -
                                                                  machine_own.below_stack_bytes,
                                                       .tid = (uint32_t)f->threads.items[i].tid});
        }
}

void frozen_frames_find(const struct frozen *f, frozen_frame_list *ret) {
        int pipe_fds[2] = {-1, -1};
        pid_t pid = pipe2(pipe_fds, O_CLOEXEC) == 0 ? fork() : -1;

        if (pid == 0) {
                close(pipe_fds[0]);
                walk_all(f, pipe_fds[1]);
                _exit(0);
        }
        if (pipe_fds[1] >= 0)
                close(pipe_fds[1]);
        if (pid > 0) {
                read_frames(pipe_fds[0], ret);
                kill(pid, SIGKILL);
                while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
        }
        if (pipe_fds[0] >= 0)
                close(pipe_fds[0]);
        add_unwalked(f, ret);
        if (ret->n)
                qsort(ret->items, ret->n, sizeof(ret->items[0]), by_address);
}

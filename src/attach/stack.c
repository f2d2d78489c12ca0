/* SPDX-License-Identifier: MIT */
#include "attach/stack.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"
#include "symbol/code_file.h"

struct stack_walker {
        const struct target *target;
        Dwfl *dwfl;
        pid_t tid;
        const struct machine_state *state;
        stack_visit visit;
        void *ctx;
        unsigned n_frames;
        bool is_cut; /* by the visitor, or too deep */
};

enum { STACK_MAX_FRAMES = 2048 };

/* Files are looked for where the process has them. */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                    char **ret_path, Elf **ret_elf) {
        const struct stack_walker *w;
        char path[4200];
        int fd;

        (void)dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        w = *userdata;
        if (!w || name[0] != '/')
                return dwfl_linux_proc_find_elf(module, userdata, name, base, ret_path, ret_elf);
        code_file_locate(w->target->pid, name, path, sizeof(path));
        fd = fs_open(path, O_RDONLY, 0);
        if (fd < 0 && !strcmp(name, w->target->exe)) {
                snprintf(path, sizeof(path), "/proc/%d/exe", (int)w->target->pid);
                fd = fs_open(path, O_RDONLY, 0);
        }
        if (fd >= 0)
                *ret_path = strdup(path);
        return fd < 0 ? -1 : fd;
}

/* Unwind tables are in the files themselves: nothing is downloaded while a thread is stopped. */
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word crc, char **ret_path) {
        (void)module, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc;
        (void)ret_path;
        return -1;
}

static const Dwfl_Callbacks stack_callbacks = {.find_elf = find_elf,
                                               .find_debuginfo = find_debuginfo};

static pid_t next_thread(Dwfl *dwfl, void *ctx, void **thread_arg) {
        struct stack_walker *w = ctx;

        (void)dwfl;
        if (*thread_arg)
                return 0;
        *thread_arg = w;
        return w->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *ctx, void **thread_arg) {
        (void)dwfl, (void)tid;
        *thread_arg = ctx;
        return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *ret, void *ctx) {
        const struct stack_walker *w = ctx;

        (void)dwfl;
        return target_read(w->target, addr, ret, sizeof(*ret));
}

static bool set_registers(Dwfl_Thread *thread, void *ctx) {
        const struct stack_walker *w = ctx;
        uint64_t regs[MACHINE_MAX_DWARF_REGS];
        unsigned n = machine_own.dwarf(w->state, regs);
        Dwarf_Word words[MACHINE_MAX_DWARF_REGS];

        for (unsigned i = 0; i < n; i++)
                words[i] = regs[i];
        if (!dwfl_thread_state_registers(thread, 0, n, words))
                return false;
        dwfl_thread_state_register_pc(thread, machine_own.pc(w->state));
        return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
        .next_thread = next_thread,
        .get_thread = get_thread,
        .memory_read = read_memory,
        .set_initial_registers = set_registers,
};

static int give_walker(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                       void *ctx) {
        (void)module, (void)name, (void)base;
        *userdata = ctx;
        return DWARF_CB_OK;
}

/* Files are opened and their tables found now, and not by the first walk, for which a thread stands still. */
static int open_tables(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                       void *ctx) {
        Dwarf_Addr bias;

        (void)userdata, (void)name, (void)base, (void)ctx;
        (void)dwfl_module_eh_cfi(module, &bias);
        return DWARF_CB_OK;
}

int stack_walker_new(const struct target *t, struct stack_walker **ret, struct err *reterr) {
        struct stack_walker *w = calloc(1, sizeof(*w));

        if (!w)
                return err_set(reterr, -ENOMEM, "out of memory");
        w->target = t;
        w->dwfl = dwfl_begin(&stack_callbacks);
        if (!w->dwfl || dwfl_linux_proc_report(w->dwfl, t->pid) != 0 ||
            dwfl_report_end(w->dwfl, NULL, NULL) != 0) {
                stack_walker_free(w);
                return err_set(reterr, -EIO, "process %d: cannot list its files: %s", (int)t->pid,
                               dwfl_errmsg(-1));
        }
        dwfl_getmodules(w->dwfl, give_walker, w, 0);
        dwfl_getmodules(w->dwfl, open_tables, w, 0);
        if (!dwfl_attach_state(w->dwfl, NULL, t->pid, &thread_callbacks, w)) {
                stack_walker_free(w);
                return err_set(reterr, -EIO, "process %d: cannot walk its stacks: %s", (int)t->pid,
                               dwfl_errmsg(-1));
        }
        *ret = w;
        return 0;
}

void stack_walker_free(struct stack_walker *w) {
        if (!w)
                return;
        if (w->dwfl)
                dwfl_end(w->dwfl);
        free(w);
}

static int on_frame(Dwfl_Frame *frame, void *ctx) {
        struct stack_walker *w = ctx;
        bool is_innermost = w->n_frames == 0, is_activation;
        Dwarf_Addr pc;

        if (!dwfl_frame_pc(frame, &pc, &is_activation) || w->n_frames++ == STACK_MAX_FRAMES ||
            !w->visit(w->ctx, is_activation ? pc : pc - 1, is_innermost,
                      is_activation && !is_innermost)) {
                w->is_cut = true;
                return DWARF_CB_ABORT;
        }
        return DWARF_CB_OK;
}

bool stack_walk(struct stack_walker *w, pid_t tid, const struct machine_state *s, stack_visit visit,
                void *ctx) {
        w->tid = tid;
        w->state = s;
        w->visit = visit;
        w->ctx = ctx;
        w->n_frames = 0;
        w->is_cut = false;
        return dwfl_getthread_frames(w->dwfl, tid, on_frame, w) == 0 && !w->is_cut;
}

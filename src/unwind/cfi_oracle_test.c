/* SPDX-License-Identifier: MIT */
/* The rows of real objects against another reader of CFI: elfutils' libdw on the same files.
 *
 *     cfi_oracle_test [STRIDE]     every STRIDE-th byte of code, default 61
 *
 * Looks at every object of this process (libc, libdw, libelf, …). Prints counts; exits 1 at the first
 * difference. */

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "unwind/arch.h"
#include "unwind/cfi.h"
#include "unwind/object.h"

static uint64_t stride = 61;
static uint64_t n_equal, n_beyond_rows, n_objects;

/* What a row says, in libdw's terms. */
struct said {
        bool is_there;
        bool is_end, is_ra_in_lr, is_fp_saved, is_base_fp;
        int64_t cfa_off, ra_off, fp_off;
};

/* base + off as libdw writes it; false for anything else. */
static bool is_base_offset(const Dwarf_Op *ops, size_t n_ops, int *ret_reg, int64_t *ret_off) {
        if (n_ops == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
                *ret_reg = ops[0].atom - DW_OP_breg0;
                *ret_off = (int64_t)ops[0].number;
                return true;
        }
        if (n_ops == 1 && ops[0].atom == DW_OP_bregx) {
                *ret_reg = (int)ops[0].number;
                *ret_off = (int64_t)ops[0].number2;
                return true;
        }
        return false;
}

enum where { WHERE_SAME, WHERE_UNDEFINED, WHERE_AT_CFA, WHERE_OTHER };

static enum where register_where(Dwarf_Frame *frame, int reg, int64_t *ret_off) {
        Dwarf_Op mem[3], *ops;
        size_t n_ops;

        if (dwarf_frame_register(frame, reg, mem, &ops, &n_ops) != 0)
                return WHERE_OTHER;
        if (n_ops == 0)
                return ops == mem ? WHERE_UNDEFINED : WHERE_SAME;
        *ret_off = 0;
        if (n_ops == 1 && ops[0].atom == DW_OP_call_frame_cfa)
                return WHERE_AT_CFA;
        if (n_ops == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst) {
                *ret_off = (int64_t)ops[1].number;
                return WHERE_AT_CFA;
        }
        return WHERE_OTHER;
}

/* False: libdw's answer is one that a row does not express. */
static bool ask_libdw(Dwarf_CFI *cfi, uint64_t addr, struct said *ret) {
        Dwarf_Frame *frame = NULL;
        Dwarf_Op *ops;
        size_t n_ops;
        bool is_expressible = true, is_signal;
        enum where ra, fp;
        int cfa_reg = -1, ra_reg;

        *ret = (struct said){0};
        if (dwarf_cfi_addrframe(cfi, addr, &frame) != 0)
                return true;
        ret->is_there = true;
        ra_reg = dwarf_frame_info(frame, NULL, NULL, &is_signal);
        ra = register_where(frame, ra_reg, &ret->ra_off);
        fp = register_where(frame, ARCH_REG_FP, &ret->fp_off);
        ret->is_end = ra == WHERE_UNDEFINED;
        ret->is_ra_in_lr = ra == WHERE_SAME;
        ret->is_fp_saved = fp == WHERE_AT_CFA;
        if (dwarf_frame_cfa(frame, &ops, &n_ops) != 0 ||
            !is_base_offset(ops, n_ops, &cfa_reg, &ret->cfa_off) ||
            (cfa_reg != ARCH_REG_SP && cfa_reg != ARCH_REG_FP) || ra == WHERE_OTHER ||
            fp == WHERE_OTHER || is_signal || ret->cfa_off % 8 != 0 ||
            (!ARCH_HAS_LR && ra == WHERE_SAME))
                is_expressible = false;
        ret->is_base_fp = cfa_reg == ARCH_REG_FP;
        free(frame);
        return is_expressible || ret->is_end;
}

static bool is_equal(const struct said *s, row_t row) {
        struct row_offsets o = row_offsets_of(row);
        bool is_ra_in_lr = (row & ROW_WIDE) == ROW_RA_LR;

        if (s->is_end)
                return row == ROW_END;
        if ((row & (ROW_UNSUPPORTED | ROW_SIGNAL | ROW_DEREF)) != 0 ||
            (row & ROW_WIDE) == ROW_RA_UNDEFINED || o.cfa != s->cfa_off ||
            !(row & ROW_BASE_FP) != !s->is_base_fp || is_ra_in_lr != s->is_ra_in_lr ||
            !(row & ROW_FP_SAVED) != !s->is_fp_saved)
                return false;
        return (is_ra_in_lr || o.ra == s->ra_off) && (!s->is_fp_saved || o.fp == s->fp_off);
}

static int check_addr(Dwarf_CFI *cfi, const struct object *o, uint64_t vaddr) {
        struct cfi_answer a = {0};
        struct said said;
        bool is_expressible = ask_libdw(cfi, vaddr, &said);
        bool is_found = cfi_find(&o->image, o->module.base + vaddr, &a) == 0;

        if (is_found != said.is_there) {
                printf("%s: %lx: %s, libdw: %s\n", o->module.name, (unsigned long)vaddr,
                       is_found ? "an FDE" : "none", said.is_there ? "an FDE" : "none");
                return 1;
        }
        if (!is_found)
                return 0;
        if (!is_expressible) {
                n_beyond_rows++;
                return 0;
        }
        if (!is_equal(&said, a.row)) {
                printf("%s: %lx: row %lx, libdw: cfa %s%+ld ra %s%+ld fp %s%+ld\n", o->module.name,
                       (unsigned long)vaddr, (unsigned long)a.row, said.is_base_fp ? "fp" : "sp",
                       (long)said.cfa_off, said.is_ra_in_lr ? "lr" : "cfa", (long)said.ra_off,
                       said.is_fp_saved ? "cfa" : "same", (long)said.fp_off);
                return 1;
        }
        n_equal++;
        return 0;
}

static int check_object(struct dl_phdr_info *info, size_t size, void *ctx) {
        const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
        int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
        Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
        Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
        struct object o;

        for (unsigned i = 0; cfi && i < info->dlpi_phnum && r == 0; i++) {
                const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

                if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
                        continue;
                if (!object_find(info->dlpi_addr + ph->p_vaddr, &o)) {
                        printf("%s: not known\n", path);
                        r = 1;
                }
                for (uint64_t at = 0; at < ph->p_memsz && r == 0; at += stride)
                        r = check_addr(cfi, &o, ph->p_vaddr + at);
                n_objects++;
        }
        if (cfi)
                dwarf_cfi_end(cfi);
        if (elf)
                elf_end(elf);
        if (fd >= 0)
                close(fd);
        return r;
}

int main(int argc, char **argv) {
        int r;

        if (argc > 1)
                stride = strtoull(argv[1], NULL, 0);
        elf_version(EV_CURRENT);
        object_init(&(struct unwind_env){.find_object = (void *)_dl_find_object,
                                         .vdso_begin = getauxval(AT_SYSINFO_EHDR),
                                         .main_phdrs = getauxval(AT_PHDR),
                                         .n_main_phdrs = getauxval(AT_PHNUM)});
        object_refresh();
        r = dl_iterate_phdr(check_object, NULL);
        printf("%lu rows equal to libdw's in %lu objects; %lu beyond what a row can say\n",
               (unsigned long)n_equal, (unsigned long)n_objects, (unsigned long)n_beyond_rows);
        return r != 0 || n_objects < 2 || n_equal == 0;
}

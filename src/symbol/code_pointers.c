/* SPDX-License-Identifier: MIT */
#include "symbol/code_pointers.h"

#include <stdlib.h>
#include <string.h>

#ifndef SHT_RELR
#define SHT_RELR 19 /* glibc 2.36 */
#endif

static bool is_relative(const GElf_Rela *r) {
        return GELF_R_TYPE(r->r_info) == R_X86_64_RELATIVE ||
               GELF_R_TYPE(r->r_info) == R_AARCH64_RELATIVE;
}

static void take(struct code_pointers *p, const struct functions *f, uint64_t target) {
        if (f->code.n && functions_is_code(f, target))
                vec_push(&p->targets, target);
}

static void take_relocations(struct code_pointers *p, const struct functions *f, Elf_Scn *section,
                             GElf_Addr bias) {
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Rela r;

        for (int i = 0; data && gelf_getrela(data, i, &r); i++)
                if (is_relative(&r))
                        take(p, f, (uint64_t)r.r_addend + bias);
}

/* Of files that are loaded where they were linked, and where relocations are packed. */
static void take_words(struct code_pointers *p, const struct functions *f, Elf_Scn *section,
                       GElf_Addr bias) {
        Elf_Data *data = elf_getdata(section, NULL);
        uint64_t word;

        for (size_t i = 0; data && data->d_buf && i + sizeof(word) <= data->d_size;
             i += sizeof(word)) {
                memcpy(&word, (const char *)data->d_buf + i, sizeof(word));
                take(p, f, word + bias);
        }
}

static int by_target(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

void code_pointers_load(struct code_pointers *p, Dwfl_Module *module, const struct functions *f) {
        GElf_Addr bias = 0;
        Elf *elf = dwfl_module_getelf(module, &bias);
        Elf_Scn *section = NULL;
        bool is_packed = false;
        GElf_Shdr h;

        p->is_loaded = true;
        while (elf && (section = elf_nextscn(elf, section))) {
                if (!gelf_getshdr(section, &h) || !(h.sh_flags & SHF_ALLOC))
                        continue;
                is_packed |= h.sh_type == SHT_RELR;
                if (h.sh_type == SHT_RELA)
                        take_relocations(p, f, section, bias);
        }
        is_packed |= p->targets.n == 0;
        for (section = NULL; elf && is_packed && (section = elf_nextscn(elf, section));)
                if (gelf_getshdr(section, &h) && h.sh_type == SHT_PROGBITS &&
                    h.sh_flags & SHF_ALLOC && !(h.sh_flags & SHF_EXECINSTR) &&
                    h.sh_addr % sizeof(uint64_t) == 0)
                        take_words(p, f, section, bias);
        if (p->targets.n)
                qsort(p->targets.items, p->targets.n, sizeof(p->targets.items[0]), by_target);
}

void code_pointers_done(struct code_pointers *p) {
        vec_free(&p->targets);
}

size_t code_pointers_count(const struct code_pointers *p, uint64_t address) {
        size_t low = 0, high = p->targets.n, n = 0;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (p->targets.items[mid] < address)
                        low = mid + 1;
                else
                        high = mid;
        }
        while (low + n < p->targets.n && p->targets.items[low + n] == address)
                n++;
        return n;
}

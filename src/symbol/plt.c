/* SPDX-License-Identifier: MIT */
#include "symbol/plt.h"

#include <string.h>

#include "base/bytes.h"

struct slot {
        uint64_t address;
        const char *name;
};

struct plt {
        struct functions *functions;
        Elf *elf;
        GElf_Addr bias;
        unsigned machine;
        VEC(struct slot) slots;
};

/* ---- slots ----------------------------------------------------------------------------------- */

static bool fills_slot(unsigned machine, unsigned type) {
        if (machine == EM_AARCH64)
                return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
        return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

static void load_slots(struct plt *p, Elf_Scn *section, const GElf_Shdr *header) {
        Elf_Scn *symbols = elf_getscn(p->elf, header->sh_link);
        Elf_Data *relocations = elf_getdata(section, NULL);
        Elf_Data *table = symbols ? elf_getdata(symbols, NULL) : NULL;
        GElf_Shdr symbols_header;

        if (!relocations || !table || !gelf_getshdr(symbols, &symbols_header) ||
            symbols_header.sh_type != SHT_DYNSYM || header->sh_entsize == 0)
                return;
        for (size_t i = 0; i < relocations->d_size / header->sh_entsize; i++) {
                const char *name;
                GElf_Rela rela;
                GElf_Sym sym;

                if (!gelf_getrela(relocations, (int)i, &rela))
                        return;
                if (!fills_slot(p->machine, (unsigned)GELF_R_TYPE(rela.r_info)) ||
                    !gelf_getsym(table, (int)GELF_R_SYM(rela.r_info), &sym))
                        continue;
                name = elf_strptr(p->elf, symbols_header.sh_link, sym.st_name);
                if (name && name[0])
                        vec_push(&p->slots, (struct slot){rela.r_offset, name});
        }
}

static int slot_compare(const void *a, const void *b) {
        const struct slot *x = a, *y = b;

        return x->address < y->address ? -1 : x->address > y->address;
}

static const char *slot_name(const struct plt *p, uint64_t address) {
        struct slot key = {.address = address};
        const struct slot *found =
                p->slots.n ? bsearch(&key, p->slots.items, p->slots.n, sizeof(key), slot_compare)
                           : NULL;

        return found ? found->name : NULL;
}

/* ---- stubs ----------------------------------------------------------------------------------- */

/* The slot a stub at this place jumps through; *ret_begin is where the stub begins. */
static bool read_stub_aarch64(const uint8_t *code, size_t n, size_t at, uint64_t address,
                              uint64_t *ret_slot, size_t *ret_begin) {
        enum { BTI_C = 0xd503245f };
        uint32_t adrp, ldr;
        int64_t page;

        if (at % 4 || at + 8 > n)
                return false;
        adrp = bytes_le32(code + at);
        ldr = bytes_le32(code + at + 4);
        /* adrp x16, PAGE; ldr x17, [x16, OFFSET] */
        if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
                return false;
        page = (int64_t)((uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 43) >> 31;
        *ret_slot = (address & ~0xfffull) + (uint64_t)page + (ldr >> 10 & 0xfff) * 8;
        *ret_begin = at >= 4 && bytes_le32(code + at - 4) == BTI_C ? at - 4 : at;
        return true;
}

static bool read_stub_x86_64(const uint8_t *code, size_t n, size_t at, uint64_t address,
                             uint64_t *ret_slot, size_t *ret_begin) {
        static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
        size_t begin = at;

        /* jmp *DISPLACEMENT(%rip), perhaps with a bnd before it */
        if (at + 6 > n || code[at] != 0xff || code[at + 1] != 0x25)
                return false;
        *ret_slot = address + 6 + (uint64_t)(int64_t)(int32_t)bytes_le32(code + at + 2);
        if (begin >= 1 && code[begin - 1] == 0xf2)
                begin--;
        if (begin >= 4 && memcmp(code + begin - 4, endbr64, 4) == 0)
                begin -= 4;
        *ret_begin = begin;
        return true;
}

/* A stub reaches to the next one or to the end of the section. */
static void load_stubs(struct plt *p, const uint8_t *code, size_t n, uint64_t address) {
        struct function *last = NULL;
        uint64_t slot;
        size_t begin;

        for (size_t at = 0; at < n; at++) {
                bool is_stub = p->machine == EM_AARCH64
                                       ? read_stub_aarch64(code, n, at, address + at, &slot, &begin)
                                       : read_stub_x86_64(code, n, at, address + at, &slot, &begin);
                const char *name = is_stub ? slot_name(p, slot) : NULL;

                if (!name)
                        continue;
                if (last)
                        last->end = address + begin + p->bias;
                vec_push(&p->functions->by_begin, (struct function){
                                                          .begin = address + begin + p->bias,
                                                          .end = address + n + p->bias,
                                                          .name = name,
                                                          .is_plt = true,
                                                  });
                last = &p->functions->by_begin.items[p->functions->by_begin.n - 1];
        }
}

void plt_load(struct functions *f, Elf *elf, GElf_Addr bias) {
        struct plt p = {.functions = f, .elf = elf, .bias = bias};
        Elf_Scn *section = NULL;
        GElf_Shdr header;
        GElf_Ehdr ehdr;
        size_t names;

        if (!gelf_getehdr(elf, &ehdr) || elf_getshdrstrndx(elf, &names) != 0)
                return;
        p.machine = ehdr.e_machine;
        if (p.machine != EM_AARCH64 && p.machine != EM_X86_64)
                return;
        while ((section = elf_nextscn(elf, section)))
                if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
                        load_slots(&p, section, &header);
        if (p.slots.n)
                qsort(p.slots.items, p.slots.n, sizeof(struct slot), slot_compare);
        while (p.slots.n && (section = elf_nextscn(elf, section))) {
                const char *name = gelf_getshdr(section, &header)
                                           ? elf_strptr(elf, names, header.sh_name)
                                           : NULL;
                Elf_Data *data = NULL;

                if (name && strncmp(name, ".plt", 4) == 0 && header.sh_type == SHT_PROGBITS &&
                    header.sh_flags & SHF_EXECINSTR)
                        data = elf_rawdata(section, NULL);
                if (data && data->d_buf)
                        load_stubs(&p, data->d_buf, data->d_size, header.sh_addr);
        }
        vec_free(&p.slots);
}

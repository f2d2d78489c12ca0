/* SPDX-License-Identifier: MIT */
#include "symbol/functions.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/plt.h"

/* ---- loading --------------------------------------------------------------------------------- */

/* Names a reader knows before names only the library's own code uses. */
static uint8_t function_rank(const GElf_Sym *sym, const char *name) {
        uint8_t rank = 0;

        if (GELF_ST_TYPE(sym->st_info) != STT_NOTYPE)
                rank += 32;
        if (GELF_ST_BIND(sym->st_info) == STB_GLOBAL)
                rank += 16;
        else if (GELF_ST_BIND(sym->st_info) == STB_WEAK)
                rank += 12;
        if (name[0] != '_')
                rank += 3;
        else if (name[1] != '_')
                rank += 2;
        return rank;
}

static bool names_code(const GElf_Sym *sym, const char *name) {
        unsigned type = GELF_ST_TYPE(sym->st_info);

        if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
                return false;
        /* $x and $d mark stretches of code and data on ARM; .L labels are the compiler's. */
        return name && name[0] && name[0] != '$' && strncmp(name, ".L", 2) != 0;
}

/* Whether the linker name is one that rustc makes. */
static bool functions_is_rust(const char *name) {
        size_t n = strlen(name);

        if (strncmp(name, "_R", 2) == 0)
                return name[2] == 'N' || name[2] == 'I' || name[2] == 'M' || name[2] == 'X' ||
                       name[2] == 'Y';
        /* _ZN … 17h<16 hex digits>E */
        if (strncmp(name, "_ZN", 3) != 0 || n < 24 || name[n - 1] != 'E')
                return false;
        return strncmp(name + n - 20, "17h", 3) == 0 &&
               strspn(name + n - 17, "0123456789abcdef") == 16;
}

static int function_compare(const void *a, const void *b) {
        const struct function *x = a, *y = b;

        if (x->begin != y->begin)
                return x->begin < y->begin ? -1 : 1;
        if (x->rank != y->rank)
                return x->rank < y->rank ? -1 : 1;
        if (x->end != y->end)
                return x->end < y->end ? -1 : 1;
        return strcmp(y->name, x->name);
}

/* Sorts what was added and makes it ready for functions_find. */
static void functions_sort(struct functions *f) {
        uint64_t reach = 0;

        if (f->by_begin.n)
                qsort(f->by_begin.items, f->by_begin.n, sizeof(struct function), function_compare);
        for (size_t i = 0; i < f->by_begin.n; i++) {
                reach = reach > f->by_begin.items[i].end ? reach : f->by_begin.items[i].end;
                f->by_begin.items[i].reach = reach;
        }
}

/* Sections with code; segments where the section headers were stripped too. */
static void load_code(struct functions *f, Elf *elf, GElf_Addr bias) {
        Elf_Scn *section = NULL;
        GElf_Shdr s;
        GElf_Phdr p;
        size_t n = 0;

        while ((section = elf_nextscn(elf, section)))
                if (gelf_getshdr(section, &s) && s.sh_flags & SHF_EXECINSTR)
                        vec_push(&f->code, (struct functions_code){s.sh_addr + bias,
                                                                   s.sh_addr + bias + s.sh_size});
        if (f->code.n || elf_getphdrnum(elf, &n) != 0)
                return;
        for (size_t i = 0; i < n; i++)
                if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X)
                        vec_push(&f->code, (struct functions_code){p.p_vaddr + bias,
                                                                   p.p_vaddr + bias + p.p_memsz});
}

static const struct functions_code *find_code(const struct functions *f, uint64_t address) {
        for (size_t i = 0; i < f->code.n; i++)
                if (address >= f->code.items[i].begin && address < f->code.items[i].end)
                        return &f->code.items[i];
        return NULL;
}

bool functions_is_code(const struct functions *f, uint64_t address) {
        return !f->code.n || find_code(f, address);
}

uint64_t functions_code_begin(const struct functions *f) {
        uint64_t begin = f->code.n ? UINT64_MAX : 0;

        for (size_t i = 0; i < f->code.n; i++)
                begin = f->code.items[i].begin < begin ? f->code.items[i].begin : begin;
        return begin;
}

static bool elf_has_symtab(Elf *elf) {
        Elf_Scn *section = NULL;
        GElf_Shdr header;

        while ((section = elf_nextscn(elf, section)))
                if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
                        return true;
        return false;
}

static void note_language(struct functions *f, const char *name) {
        if (functions_is_rust(name))
                f->n_rust++;
        else if (strncmp(name, "_Z", 2) == 0)
                f->n_cxx++;
}

static void load_symbols(struct functions *f, Dwfl_Module *module) {
        int n = dwfl_module_getsymtab(module);
        Elf *last_elf = NULL;

        for (int i = 1; i < n; i++) {
                GElf_Sym sym;
                GElf_Addr address;
                GElf_Word section;
                Elf *elf = NULL;
                const char *name =
                        dwfl_module_getsym_info(module, i, &sym, &address, &section, &elf, NULL);

                if (!name || !names_code(&sym, name) || section == SHN_UNDEF || section == SHN_ABS)
                        continue;
                if (f->code.n && !find_code(f, address))
                        continue;
                if (elf && elf != last_elf && !f->has_symtab)
                        f->has_symtab = elf_has_symtab(elf);
                last_elf = elf;
                note_language(f, name);
                vec_push(&f->by_begin,
                         (struct function){.begin = address,
                                           .end = address + sym.st_size,
                                           .name = name,
                                           .rank = function_rank(&sym, name),
                                           .is_local = GELF_ST_BIND(sym.st_info) == STB_LOCAL,
                                           .is_resolver =
                                                   GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC});
        }
}

void functions_load(struct functions *f, Dwfl_Module *module) {
        GElf_Addr bias = 0;
        Elf *elf = dwfl_module_getelf(module, &bias);

        if (elf)
                load_code(f, elf, bias);
        load_symbols(f, module);
        if (elf)
                plt_load(f, elf, bias);
        functions_sort(f);
}

void functions_load_exported(struct functions *f, Elf *elf) {
        Elf_Scn *section = NULL;
        GElf_Shdr header;

        while (elf && (section = elf_nextscn(elf, section))) {
                Elf_Data *data;
                GElf_Sym sym;

                if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM ||
                    !(data = elf_getdata(section, NULL)))
                        continue;
                for (int i = 1; gelf_getsym(data, i, &sym); i++) {
                        const char *name = elf_strptr(elf, header.sh_link, sym.st_name);

                        if (names_code(&sym, name) && sym.st_shndx != SHN_UNDEF &&
                            sym.st_shndx != SHN_ABS && GELF_ST_TYPE(sym.st_info) != STT_NOTYPE)
                                vec_push(&f->by_begin,
                                         (struct function){.begin = sym.st_value,
                                                           .end = sym.st_value + sym.st_size,
                                                           .name = name,
                                                           .rank = function_rank(&sym, name)});
                }
        }
        functions_sort(f);
}

void functions_done(struct functions *f) {
        vec_free(&f->by_begin);
        vec_free(&f->code);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* The number of functions that begin at or before the address. */
static size_t functions_up_to(const struct functions *f, uint64_t address) {
        size_t low = 0, high = f->by_begin.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (f->by_begin.items[mid].begin <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

const struct function *functions_find(const struct functions *f, uint64_t address,
                                      bool *ret_guess) {
        const struct functions_code *code = find_code(f, address);
        size_t n = functions_up_to(f, address);
        const struct function *nearest;

        *ret_guess = false;
        for (size_t i = n; i-- > 0 && f->by_begin.items[i].reach > address;)
                if (address < f->by_begin.items[i].end)
                        return &f->by_begin.items[i];
        if (n == 0 || (f->code.n && !code))
                return NULL;
        nearest = &f->by_begin.items[n - 1];
        if (nearest->is_plt || (code && nearest->begin < code->begin))
                return NULL;
        *ret_guess = nearest->end != nearest->begin ||
                     !f->has_symtab; /* one without size reaches to the next */
        return nearest;
}

const struct function *functions_find_trampoline(const struct functions *f, uint64_t address) {
        static const char *const names[] = {"__kernel_rt_sigreturn", "__kernel_sigreturn",
                                            "__restore_rt", NULL};

        for (size_t i = functions_up_to(f, address + 1);
             i-- > 0 && f->by_begin.items[i].begin == address + 1;)
                for (const char *const *name = names; *name; name++)
                        if (strcmp(f->by_begin.items[i].name, *name) == 0)
                                return &f->by_begin.items[i];
        return NULL;
}

size_t functions_n_names(const struct functions *f, const struct function *at) {
        size_t n = 0;

        for (size_t i = functions_up_to(f, at->begin);
             i-- > 0 && f->by_begin.items[i].begin == at->begin;)
                n += i == 0 || f->by_begin.items[i - 1].begin != at->begin ||
                     strcmp(f->by_begin.items[i].name, f->by_begin.items[i - 1].name) != 0;
        return n;
}

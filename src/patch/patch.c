/* SPDX-License-Identifier: MIT */
#include "patch/patch.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "patch/patch_machine.h"

enum patch_machine patch_machine_of(uint32_t e_machine) {
        return e_machine == EM_X86_64 ? PATCH_X86_64 : PATCH_AARCH64;
}

uint64_t patch_reach_bytes(enum patch_machine machine) {
        /* a little less than the branch has: the room and the function have a length */
        return machine == PATCH_AARCH64 ? (UINT64_C(128) << 20) - 4096 : (UINT64_C(2) << 30) - 4096;
}

int patch_make(const struct patch_function *f, const struct patch_target *to, struct patch *ret,
               struct err *reterr) {
        uint64_t away_bytes =
                to->room_addr > f->addr ? to->room_addr - f->addr : f->addr - to->room_addr;

        if (away_bytes > patch_reach_bytes(f->machine))
                return err_set(reterr, -EFAULT,
                               "the trampoline at 0x%" PRIx64 " is out of branch range",
                               to->room_addr);
        memset(ret, 0, sizeof(*ret));
        ret->room_addr = to->room_addr;
        return f->machine == PATCH_AARCH64 ? patch_make_aarch64(f, to, ret, reterr)
                                           : patch_make_x86_64(f, to, ret, reterr);
}

size_t patch_count_padding(enum patch_machine machine, const uint8_t *code, size_t n_bytes) {
        return machine == PATCH_X86_64 ? patch_count_padding_x86_64(code, n_bytes) : 0;
}

/* SPDX-License-Identifier: MIT */
#include "keep/missing_blocks.h"

bool missing_blocks_find(const struct trace_view *v, uint32_t process, struct trace_limit *ret) {
        uint32_t pid = v->processes[process].start.pid;
        struct trace_limit worst = {.kind = LIMIT_N_KINDS}, l;

        for (size_t i = 0; i < v->n_notes; i++)
                if (trace_limit_parse(v->notes[i].text, &l) && l.kind <= LIMIT_LOST &&
                    (!l.pid || l.pid == pid) &&
                    (l.kind < worst.kind || (l.kind == worst.kind && l.bytes > worst.bytes)))
                        worst = l;
        if (worst.kind == LIMIT_N_KINDS)
                return false;
        *ret = worst;
        return true;
}

void missing_blocks_add(const struct trace_view *v, uint32_t process, struct str *to) {
        struct trace_limit worst;

        if (missing_blocks_find(v, process, &worst))
                str_addf(to, "Incomplete: %s. Of what silt saw: ", worst.text);
}

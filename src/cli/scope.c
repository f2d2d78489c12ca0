/* SPDX-License-Identifier: MIT */
#include "cli/scope.h"

#include <string.h>

#include "base/macros.h"

bool cli_take_metric(struct cli_parser *p, const char **ret_metric) {
        static const char *const metrics[] = {"peak",  "end",       "allocated",
                                              "count", "temporary", "growth"};

        for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
                if (strcmp(p->value, metrics[i]) == 0) {
                        *ret_metric = metrics[i];
                        return true;
                }
        cli_parser_error(
                p,
                "--by: '%s' is not a metric: use peak, end, allocated, count, temporary or growth",
                p->value);
        return false;
}

bool cli_take_process(struct cli_parser *p, const char **ret_process) {
        *ret_process = p->value;
        if (p->value[0])
                return true;
        cli_parser_error(p, "--process: '' is not a process: use a pid, a name, main or all");
        return false;
}

const char *cli_empty_window(uint64_t from_ns, bool is_at) {
        if (from_ns == 0)
                return is_at ? "nothing is recorded at 0: --at must be later than 0"
                             : "the window is empty: --to must be later than 0";
        return is_at ? "the window is empty: --from must be earlier than --at"
                     : "the window is empty: --from must be earlier than --to";
}

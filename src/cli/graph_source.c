/* SPDX-License-Identifier: MIT */
#include "cli/graph_source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "record/snapshot_client.h"

bool cli_is_pid(const char *who) {
        return who[0] && !who[strspn(who, "0123456789")] && access(who, F_OK) != 0;
}

int cli_take_graph(const char *who, const char **ret_path, struct err *reterr) {
        static struct snapshot_answer answer;
        int r = snapshot_client_take(who, NULL, true, &answer, reterr);

        if (r < 0)
                return r;
        if (answer.text[0])
                return err_set(reterr, -EIO, "process %s: %s", who, answer.text);
        *ret_path = answer.path;
        return 0;
}

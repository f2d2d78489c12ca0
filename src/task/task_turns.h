/* SPDX-License-Identifier: MIT */
/* Whether a thread's scheduler took a turn between two looks at the process: it counts its turns in memory of its own, or
 * takes each task out of a queue. Inside task/ only. */
#pragma once

#include "task/tasks_write.h"

struct task_turns {
        uint64_t ns;         /* between the looks */
        bool is_only_thread; /* of its runtime */
        bool is_executor;    /* of async-task: none of its threads took one */
        uint64_t n_ready;    /* tasks that stood ready, and still did */
};

/* True: for so long it took none. False: it did, or silt cannot tell. */
bool task_turns_stood(const struct tasks *t, uint32_t tid, struct task_turns *ret);

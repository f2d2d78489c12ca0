/* SPDX-License-Identifier: MIT */
/* Messages that wait in channels: memory that channels request when something is sent. Inside task/ only. */
#pragma once

#include "task/tasks_write.h"

struct task_channel {
        const char *name; /* "tokio" */
        const char *kind; /* "channel", "broadcast channel" */
        uint32_t site, stack;
        bool is_unbounded;
        uint32_t per_block; /* 0: they are in one array, which the channel has from the beginning */
        uint64_t n_channels;           /* that have more than what they keep for what comes next */
        uint64_t n_blocks, n_messages; /* of those: for so many they have room */
        uint64_t bytes;                /* with all that would be freed with them */
};

typedef VEC(struct task_channel) task_channel_list;

/* By where it is sent, or where the channel was made, in no order. Empty where nobody recorded call paths. */
void task_channels_find(const struct tasks *t, task_channel_list *ret);

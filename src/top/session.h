/* SPDX-License-Identifier: MIT */
/* One silt top: what it follows, and the frame at hand. Inside top/ only. */
#pragma once

#include "live/live_subject.h"
#include "top/top.h"
#include "top/top_model.h"

struct session {
        const struct top_options *o;
        struct live_subject *subject;
        struct follower *follower;
        struct model model;
        bool keeps; /* there is a mark in a trace of silt's own: it gets a name when it is closed */
        char kept[128]; /* the last one that did */
};

/* attach_options: as struct live_subject_options has them. Also after a failure it is to be closed. */
int session_open(struct session *s, const char *const *attach_options, struct err *reterr);
/* Fails where the trace cannot be kept; it is closed anyway. */
int session_close(struct session *s, struct err *reterr);
/* Somebody sent a signal that ends programs. */
bool session_is_to_end(void);

/* When the next frame may be made, after one that took so long: long traces must not cost a processor. */
uint64_t session_earliest_ms(uint64_t begin_ms, uint64_t end_ms);

/* The screen, until somebody leaves it. */
int session_show(struct session *s, struct err *reterr);

/* SPDX-License-Identifier: MIT */
/* A thread that makes columns of staged events, and the EVTS chunk of a slice, while the writer's own takes further events. Inside
 * trace/ only.
 *
 *  - buffers wait in a queue of PACK_QUEUE_BUFS; when it is full, the writer's thread encodes the oldest itself as long as the worker
 *    compresses, and else waits for the worker to be done with some
 *  - buffers are encoded in the order in which they were put, by one thread at a time, so the encoder's columns are those of
 *    one thread
 *  - one job at a time: what it takes of memory is the queue, one slice's columns and its chunk
 *  - it touches nothing but the encoder, the queue, the job and its own compressor; files, tables and errors stay the writer's
 *    thread's
 *  - the chunk is the one that pack_job_run makes on any thread, byte for byte
 *  - it takes no signals
 *  - a child of fork has no such thread and must leave the writer alone, as it must the file
 *
 * Call order: new → (put … → begin → put … → [is_done] → wait) … → drain → free. */
#pragma once

#include "trace/chunk.h"
#include "trace/events.h"

enum {
        PACK_QUEUE_BUFS = 64,                 /* 1.2 MiB */
        PACK_WAKE_BUFS = PACK_QUEUE_BUFS / 4, /* that wait when the worker is woken: seldom */
        PACK_RESUME_BUFS =
                PACK_QUEUE_BUFS / 2, /* that are left when a writer goes on that had to wait */
};

struct pack_job {
        uint32_t slice;
        uint64_t next_first_seq, next_begin_us; /* of the slice behind it */
        uint8_t head[TRACE_EVTS_HEAD_BYTES];
        bytes_buf body; /* columns */
        struct trace_cuts cuts;
        bool is_hard; /* as trace_packer_try_hard */
        bool is_sampled;
        bytes_buf chunk; /* what comes of it */
};

/* Takes the columns out of the encoder, which begins the next slice. */
void pack_job_take(struct pack_job *j, struct trace_encoder *e);
/* Appends the chunk to out. */
void pack_job_run(const struct pack_job *j, struct trace_packer *p, bytes_buf *out);

struct pack_worker;

/* The encoder is the worker's until it is drained. NULL: there is no thread to be had. */
struct pack_worker *pack_worker_new(struct trace_encoder *e);
/* Takes a buffer for another. */
struct trace_stage_buf *pack_worker_put(struct pack_worker *w, struct trace_stage_buf *full);
/* The slice ends with the last buffer that was put. Until wait the job is the worker's. */
void pack_worker_begin(struct pack_worker *w, struct pack_job *j);
void pack_worker_wait(struct pack_worker *w); /* until there is no job at work */
bool pack_worker_is_done(struct pack_worker *w);
/* All buffers are encoded; the encoder is the caller's until it puts one. No job at work. */
void pack_worker_drain(struct pack_worker *w);
struct pack_worker *pack_worker_free(struct pack_worker *w); /* drained; NULL ok */

// SPDX-License-Identifier: Apache-2.0
// server_output -- what the apps' processes write to their standard error, line by line into the
// log, and the last of it of each worker for the message about its death. Control thread.
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "event/loop.h"

// server_output_open reads a worker's lines from `fd` (taken over) until its end.
void server_output_open(struct loop *loop, struct str app, uint32_t worker_id, int32_t pid, int fd);

// server_output_last appends the last lines of the worker, after reading what has come.
void server_output_last(uint32_t worker_id, struct buf *out);

// server_output_log logs whole lines that were read elsewhere.
void server_output_log(struct str app, int32_t pid, struct str lines);

// server_output_close ends all.
void server_output_close(void);

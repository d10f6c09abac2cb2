// SPDX-License-Identifier: Apache-2.0
// server_rest -- gives memory back to the system when a time with many requests is over: what the
// threads keep for reuse, and what the heap holds of it.
#pragma once

#include "main/server_threads.h"

// server_rest_open looks from time to time from now on whether it is quiet. Control thread.
void server_rest_open(struct server_threads *threads);

// server_rest_close ends that.
void server_rest_close(void);

// SPDX-License-Identifier: Apache-2.0
// server_files -- keeps descriptors back from client connections for all else that the server must
// be able to open: connections to workers, logs, files, what the keeper sends.
#pragma once

#include "core/snapshot.h"

// server_files_share limits connections_max of a configuration that has just come in force to what
// the limit of open files leaves, and says so. Control thread.
void server_files_share(struct snapshot *s, unsigned threads);

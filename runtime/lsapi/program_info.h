// SPDX-License-Identifier: Apache-2.0
// program_info -- what is told of a PHP program that is not ours: its name, path and version.
#pragma once

#include "base/compiler.h"

#define PROGRAM_INFO_VERSION_BYTES 64
#define PROGRAM_INFO_BYTES         (4096 + 256)

// program_info_version asks the program for its version (-v); an empty one when it says none.
void program_info_version(const char *path, char version[static PROGRAM_INFO_VERSION_BYTES]);

// program_info_describe writes the JSON object for `godwit apps`. `runtime` stands for a name that
// JSON cannot hold as it is. Returns `room`.
const char *program_info_describe(const char *path, const char *version, const char *runtime,
                                  char room[static PROGRAM_INFO_BYTES]);

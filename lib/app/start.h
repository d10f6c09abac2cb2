// SPDX-License-Identifier: Apache-2.0
// start -- what the keeper gives to a spawner: descriptors that variables name.
#pragma once

#include <stdbool.h>

#include "spawner.h"

// start_read fills *out from the GODWIT_* variables; the descriptors are close-on-exec from now on.
// `out->app` is text of the environment. False when GODWIT_CHANNEL does not name a socket.
bool start_read(struct spawner_start *out);

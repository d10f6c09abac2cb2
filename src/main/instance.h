// SPDX-License-Identifier: Apache-2.0
// instance -- how running instances are named and where each has its runtime directory: BASE/NAME,
// with BASE /run/godwit for root, else the first of $XDG_RUNTIME_DIR/godwit, /run/user/UID/godwit,
// $HOME/.local/state/godwit and /dev/shm/godwit-UID that there is, or can be made.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"

// instance_name checks a name that was given; NULL: `err` says what a name is made of.
MUST_USE const char *instance_name(struct arena *a, const char *given, struct err *err);

// instance_name_of_file derives one from a configuration file: "/etc/godwit/blog.conf" gives
// "blog".
const char *instance_name_of_file(struct arena *a, const char *path);

// instance_name_of_dir derives one from a served directory and its port: "public-8080".
const char *instance_name_of_dir(struct arena *a, const char *path, const char *port);

// instance_base is the directory of all instances of this user; `given` (--runtime) stands before
// all. NULL: `err` says that there is no place.
MUST_USE const char *instance_base(struct arena *a, const char *given, struct err *err);

// instance_find finds the control socket of the running instance of that name, or with `name` NULL
// of the only one that runs. NULL: `err` says that none runs, or lists those that do.
MUST_USE const char *instance_find(struct arena *a, const char *base, const char *name,
                                   struct err *err);

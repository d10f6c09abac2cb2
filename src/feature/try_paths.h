// SPDX-License-Identifier: Apache-2.0
// try_paths -- the directive `try`: the first of several paths that is there, else a fallback such
// as an app's front controller. Must stand before index in the list of modules.
#pragma once

#include "core/module.h"

extern struct module try_paths_module;

// SPDX-License-Identifier: Apache-2.0
// cors -- lets scripts of other origins read answers (the Fetch standard's CORS protocol), and
// answers the questions that browsers ask before. Protects nothing: that is what access is for.
#pragma once

#include "core/module.h"

extern struct module cors_module;

// SPDX-License-Identifier: Apache-2.0
// index -- what a directory answers with: its index file (a script too), or a redirect to the same
// URL with a final slash. Must stand before apps and static in the list of modules.
#pragma once

#include "core/module.h"

extern struct module index_module;

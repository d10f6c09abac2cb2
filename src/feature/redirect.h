// SPDX-License-Identifier: Apache-2.0
// redirect -- sends the client to another URL: single pages, everything below a prefix, or the
// whole site to https or to its one name. Looks at no file and knows no patterns.
#pragma once

#include "core/module.h"

extern struct module redirect_module;

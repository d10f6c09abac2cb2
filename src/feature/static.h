// SPDX-License-Identifier: Apache-2.0
// static -- answers with files: conditional requests, ranges, compressed files that lie beside
// them; small files from memory, others by sendfile. Makes no listings and no redirects (index
// does), runs no script.
#pragma once

#include "core/module.h"

extern struct module static_module;

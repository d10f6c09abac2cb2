// SPDX-License-Identifier: Apache-2.0
// static_type -- the Content-Type of a static file, as the directives mime and charset say.
#pragma once

#include "base/arena.h"
#include "feature/static_conf.h"

// static_type_of is the value for a file name; memory is static, of the configuration or of `a`.
struct str static_type_of(const struct static_conf *conf, struct str file_name, struct arena *a);

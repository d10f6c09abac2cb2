// SPDX-License-Identifier: Apache-2.0
// php_root -- where a document root really is. PHP remembers code by the path of its file: with a
// root that leads through a symbolic link, such as `current` of a deploy, it would go on with the
// old code after the link has been changed.
#pragma once

#include "core/exchange.h"

// php_root_resolve returns the directory that `root` (NUL-terminated behind) leads to now, in the
// exchange's arena if it is another; `root` itself when it leads through no link. Roots without
// links cost a look each second, others one readlink for each link. The exchange's thread.
struct str php_root_resolve(struct exchange *ex, struct str root);

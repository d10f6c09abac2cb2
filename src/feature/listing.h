// SPDX-License-Identifier: Apache-2.0
// listing -- what is in a directory, as a page, where a site wants that: the directive `listing`.
// Stands behind index and apps: an index file is shown instead.
#pragma once

#include "core/module.h"

extern struct module listing_module;

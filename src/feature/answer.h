// SPDX-License-Identifier: Apache-2.0
// answer -- the directive `return`: one fixed answer for all of a path. Redirects are made by
// redirect, pages for errors by error_page.
#pragma once

#include "core/module.h"

extern struct module answer_module;

// SPDX-License-Identifier: Apache-2.0
// error_page -- pages of a site's own for what the server refuses. Answers that an app makes
// itself, errors too, are not touched.
#pragma once

#include "core/module.h"

extern struct module error_page_module;

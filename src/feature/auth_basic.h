// SPDX-License-Identifier: Apache-2.0
// auth_basic -- name and password (RFC 7617): the directives `auth_basic` and `auth_file`. Whom it
// lets in is in facts.user, for the log and for apps.
#pragma once

#include "core/module.h"

extern struct module auth_basic_module;

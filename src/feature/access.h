// SPDX-License-Identifier: Apache-2.0
// access -- who may come: the directives `allow` and `deny`, by the client's address. Asks for no
// names and no passwords.
#pragma once

#include "core/module.h"

extern struct module access_module;

// SPDX-License-Identifier: Apache-2.0
// php_ini -- settings of php.ini as text that PHP reads back as what was meant.
#pragma once

#include "base/arena.h"
#include "base/str.h"

// php_ini_is_name tells whether `name` can be a setting's.
bool php_ini_is_name(struct str name);

// php_ini_is_value tells whether `value` can stand in an ini file: one line without NUL.
bool php_ini_is_value(struct str value);

// php_ini_text is `value` as an ini file has it: switches and expressions such as
// E_ALL & ~E_NOTICE for PHP to evaluate, all else quoted, so that no character has a meaning.
const char *php_ini_text(struct str value, struct arena *a);

// php_ini_value is what PHP makes of that text, for where PHP takes a value as it stands.
struct str php_ini_value(struct str value, struct arena *a);

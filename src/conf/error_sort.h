// SPDX-License-Identifier: Apache-2.0
// error_sort -- puts what several walks over a configuration have found into the order of its text.
#pragma once

#include "base/err.h"

// error_sort orders the messages by file, line and column; those without a position stay behind the
// others, as they came.
void error_sort(struct err *err);

// SPDX-License-Identifier: Apache-2.0
// report -- shows the JSON of the control interface to people: aligned fields, tables for lists.
// Knows no field by name, so that what is added there is shown here.
#pragma once

#include <jansson.h>

// report_print writes object `root` to standard output. Control bytes are shown as \xNN: URLs and
// titles come from strangers.
void report_print(const json_t *root);

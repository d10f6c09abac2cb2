// SPDX-License-Identifier: Apache-2.0
// modules -- the one place that names every module, in the order in which their hooks run.
#pragma once

// modules_register registers them all; first thing of a role that reads a configuration, once.
void modules_register(void);

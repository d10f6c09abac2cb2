// SPDX-License-Identifier: Apache-2.0
// maintenance -- closes a site while a file is there: to be made and removed by whoever deploys,
// without a reload.
#pragma once

#include "core/module.h"

extern struct module maintenance_module;

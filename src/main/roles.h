// SPDX-License-Identifier: Apache-2.0
// roles -- what main needs from the other roles of the binary. The keeper starts `godwit @loader
// ...` and `godwit @server`, each with its channel (SOCK_SEQPACKET, wire/ipc.h) on descriptor 3.
//
// Where the configuration comes from is said to loader_role and loader_check in the same words:
//     -c FILE            a configuration file (absolute path)
//     DIR [-p PORT]      no configuration: serve what is found in DIR (absolute path)
//     -n NAME            name of the instance (always given to the loader)
#pragma once

// loader_role reads the configuration named by argv[1...] (argv[0] is the role's name), sends
// IPC_PLAN or IPC_PLAN_FAILED on `channel` and returns the exit status.
int loader_role(int channel, int argc, char **argv);

// loader_check reads the configuration named by argv[1...] (argv[0] is "check"), prints every error
// on standard error, or that all is well, and returns the exit status: 0 when there was no error.
int loader_check(int argc, char **argv);

// server_role serves until the keeper says IPC_DRAIN or closes `channel`; returns the exit status.
int server_role(int channel);

// help_print writes what `directive` does from the directive table to standard output, an overview
// of all when NULL. Returns the exit status: 1 when there is no such directive.
int help_print(const char *directive);

// SPDX-License-Identifier: Apache-2.0
// program_info -- see program_info.h.
#include "program_info.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "os/fd.h"
#include "os/proc.h"

void program_info_version(const char *path, char version[static PROGRAM_INFO_VERSION_BYTES])
{
    static const char *const ENV[] = {"PATH=/usr/bin:/bin", NULL};
    const char *const argv[] = {path, "-v", NULL};
    int out[2];
    char text[256] = "";
    version[0] = '\0';
    if (fd_pipe(out) < 0)
        return;
    pid_t pid = proc_start(&(struct proc_start){.path = path,
                                                .argv = argv,
                                                .envp = ENV,
                                                .stdin_fd = FD_NONE,
                                                .stdout_fd = out[1],
                                                .stderr_fd = out[1],
                                                .death_signal = SIGKILL});
    fd_close(&out[1]);
    ssize_t len = pid < 0 ? 0 : fd_read(out[0], text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    fd_close(&out[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (sscanf(text, "PHP %63[0-9A-Za-z.+~-]", version) != 1)
        version[0] = '\0';
}

const char *program_info_describe(const char *path, const char *version, const char *runtime,
                                  char room[static PROGRAM_INFO_BYTES])
{
    // The path is from the configuration: with characters of JSON in it, it is left out.
    bool is_plain = !strpbrk(path, "\"\\");
    (void)snprintf(room, PROGRAM_INFO_BYTES,
                   "{\"runtime\":\"%s\",\"version\":\"%s\",\"program\":\"%s\"}",
                   is_plain ? strrchr(path, '/') + 1 : runtime, version, is_plain ? path : "");
    return room;
}

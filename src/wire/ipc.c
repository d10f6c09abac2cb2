// SPDX-License-Identifier: Apache-2.0
// ipc -- see ipc.h. Layout: seven u32 (type, id, gen, index, pid, status, stage), then name and
// text, each a u32 length and its bytes; little-endian; the packet ends with the text.
#include "wire/ipc.h"

#include "base/assert.h"
#include "base/rd.h"
#include "base/wr.h"

#define FIXED_BYTES ((size_t)(7 * 4 + 2 * 4))

STATIC_ASSERT(7 * 4 + 2 * 4 + IPC_TEXT_MAX <= IPC_BYTES_MAX);

size_t ipc_encode(const struct ipc_msg *msg, char room[static IPC_BYTES_MAX])
{
    if (msg->name.len > IPC_TEXT_MAX || msg->text.len > IPC_TEXT_MAX - msg->name.len)
        return 0;
    struct wr w = {.ptr = room, .size = IPC_BYTES_MAX};
    wr_u32le(&w, (uint32_t)msg->type);
    wr_u32le(&w, msg->id);
    wr_u32le(&w, msg->gen);
    wr_u32le(&w, msg->index);
    wr_u32le(&w, (uint32_t)msg->pid);
    wr_u32le(&w, (uint32_t)msg->status);
    wr_u32le(&w, (uint32_t)msg->stage);
    wr_str(&w, msg->name);
    wr_str(&w, msg->text);
    ASSERT(wr_ok(&w) && w.len == FIXED_BYTES + msg->name.len + msg->text.len);
    return w.len;
}

bool ipc_decode(struct str packet, struct ipc_msg *out)
{
    struct rd r = {.left = packet};
    uint32_t type = rd_u32le(&r);
    struct ipc_msg msg = {
        .id = rd_u32le(&r),
        .gen = rd_u32le(&r),
        .index = rd_u32le(&r),
        .pid = (int32_t)rd_u32le(&r),
        .status = (int32_t)rd_u32le(&r),
    };
    uint32_t stage = rd_u32le(&r);
    msg.name = rd_str(&r);
    msg.text = rd_str(&r);
    if (!rd_end(&r) || type < IPC_PLAN || type > IPC_APP_SETTLE || stage > IPC_STAGE_IDENTITY)
        return false;
    msg.type = (enum ipc_type)type;
    msg.stage = (enum ipc_stage)stage;
    *out = msg;
    return true;
}

const char *ipc_stage_text(enum ipc_stage stage)
{
    switch (stage) {
    case IPC_STAGE_NONE:
        return "";
    case IPC_STAGE_EXEC:
        return "while starting the program";
    case IPC_STAGE_PRELOAD:
        return "while loading";
    case IPC_STAGE_FORK:
        return "while forking";
    case IPC_STAGE_BOOT:
        return "while booting";
    case IPC_STAGE_IDENTITY:
        return "while its identity was checked";
    }
    return "";
}

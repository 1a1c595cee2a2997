/* Protocol buffers' wire format, written: fields into a buffer of fixed or of growing size. */
#ifndef LAMELLA_BASE_PROTOBUF_H
#define LAMELLA_BASE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"

enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2 };

#define PROTO_VARINT_MAX 10u /* bytes */

/* The caller has room for PROTO_VARINT_MAX bytes. Returns what follows. */
static inline unsigned char *proto_varint(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

static inline unsigned char *proto_tag(unsigned char *at, uint32_t field, enum proto_wire wire)
{
    return proto_varint(at, (uint64_t)field << 3 | (uint64_t)wire);
}

/* 0, -1, 1, -2, … as 0, 1, 2, 3, …: small numbers of either sign are short. */
static inline uint64_t proto_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* A varint field: at most 2 * PROTO_VARINT_MAX bytes. */
static inline unsigned char *proto_uint(unsigned char *at, uint32_t field, uint64_t value)
{
    return proto_varint(proto_tag(at, field, PROTO_VARINT), value);
}

/* The same into a growing buffer. */
static inline void proto_add_varint(struct strbuf *buf, uint64_t value)
{
    unsigned char bytes[PROTO_VARINT_MAX];
    strbuf_add_bytes(buf, bytes, (size_t)(proto_varint(bytes, value) - bytes));
}

static inline void proto_add_uint(struct strbuf *buf, uint32_t field, uint64_t value)
{
    unsigned char bytes[2 * PROTO_VARINT_MAX];
    strbuf_add_bytes(buf, bytes, (size_t)(proto_uint(bytes, field, value) - bytes));
}

/* A string, bytes, or a message that was built in a buffer of its own. */
static inline void proto_add_bytes(struct strbuf *buf, uint32_t field, const void *bytes,
                                   size_t length)
{
    unsigned char head[2 * PROTO_VARINT_MAX];
    unsigned char *end = proto_varint(proto_tag(head, field, PROTO_BYTES), length);
    strbuf_add_bytes(buf, head, (size_t)(end - head));
    strbuf_add_bytes(buf, bytes, length);
}

static inline void proto_add_text(struct strbuf *buf, uint32_t field, const char *text)
{
    proto_add_bytes(buf, field, text, strlen(text));
}

static inline void proto_add_message(struct strbuf *buf, uint32_t field, const struct strbuf *message)
{
    proto_add_bytes(buf, field, strbuf_text(message), message->length);
}

#endif

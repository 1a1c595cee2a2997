#include "unwind/cfi.h"

enum {
    PE_OMIT = 0xff,
    PE_FORM = 0x0f,
    PE_ULEB = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SLEB = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_BASE = 0x70,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_ALIGNED = 0x50,
    PE_INDIRECT = 0x80,
};

static uint64_t address_of(const struct unwind_module *module, const uint8_t *at)
{
    return module->bytes_addr + (uint64_t)(at - module->bytes);
}

/* A cursor from addr to the end of the window, or to limit if that is sooner (0 none). */
static int window_at(const struct unwind_module *module, uint64_t addr, uint64_t limit,
                     struct cfi_cursor *out)
{
    uint64_t offset = addr - module->bytes_addr;
    if (!module->bytes || addr < module->bytes_addr || offset >= module->bytes_size)
        return -UNWIND_BAD_CFI;
    uint64_t size = module->bytes_size - offset;
    if (limit && limit < size)
        size = limit;
    *out = (struct cfi_cursor){module->bytes + offset, module->bytes + offset + size, false};
    return 0;
}

static int pointer_form(struct cfi_cursor *cur, uint8_t encoding, uint64_t *out)
{
    switch (encoding & PE_FORM) {
    case 0: /* absptr: 8 bytes on both architectures */
    case PE_UDATA8:
    case PE_SDATA8:
        *out = cfi_uint(cur, 8);
        break;
    case PE_ULEB:
        *out = cfi_uleb(cur);
        break;
    case PE_UDATA2:
        *out = cfi_uint(cur, 2);
        break;
    case PE_UDATA4:
        *out = cfi_uint(cur, 4);
        break;
    case PE_SLEB:
        *out = (uint64_t)cfi_sleb(cur);
        break;
    case PE_SDATA2:
        *out = (uint64_t)cfi_sint(cur, 2);
        break;
    case PE_SDATA4:
        *out = (uint64_t)cfi_sint(cur, 4);
        break;
    default:
        return -UNWIND_BAD_CFI;
    }
    return cur->overrun ? -UNWIND_BAD_CFI : 0;
}

int cfi_pointer(const struct unwind_module *module, struct cfi_cursor *cur, uint8_t encoding,
                uint64_t *out)
{
    uint64_t place = address_of(module, cur->at), value;
    if (encoding & PE_INDIRECT)
        return -UNWIND_BAD_CFI;
    if ((encoding & PE_BASE) == PE_ALIGNED) {
        cfi_skip(cur, -place & 7);
        return pointer_form(cur, PE_UDATA8, out);
    }
    int rc = pointer_form(cur, encoding, &value);
    if (rc < 0)
        return rc;
    switch (encoding & PE_BASE) {
    case 0:
        break;
    case PE_PCREL:
        value += place;
        break;
    case PE_DATAREL: /* in .eh_frame_hdr: relative to its start; elsewhere nobody uses it */
        if (!module->hdr_addr)
            return -UNWIND_BAD_CFI;
        value += module->hdr_addr;
        break;
    default: /* text- and function-relative: no compiler for these architectures */
        return -UNWIND_BAD_CFI;
    }
    *out = value;
    return 0;
}

/* The record at *addr: its content without the length, and where the next one begins. */
static int record_at(const struct unwind_module *module, uint64_t *addr, struct cfi_cursor *out)
{
    struct cfi_cursor cur;
    uint64_t limit = 0;
    if (module->eh_frame_size) {
        if (*addr < module->eh_frame_addr || *addr - module->eh_frame_addr >= module->eh_frame_size)
            return -UNWIND_NO_RULE;
        limit = module->eh_frame_size - (*addr - module->eh_frame_addr);
    }
    if (*addr == module->bytes_addr + module->bytes_size)
        return -UNWIND_NO_RULE; /* nothing behind it, not even a terminator */
    int rc = window_at(module, *addr, limit, &cur);
    if (rc < 0)
        return rc;
    uint64_t size = cfi_uint(&cur, 4);
    if (size == 0)
        return cur.overrun ? -UNWIND_BAD_CFI : -UNWIND_NO_RULE; /* the terminator */
    if (size == UINT32_MAX)
        size = cfi_uint(&cur, 8);
    if (cur.overrun || size > cfi_left(&cur) || size < 4)
        return -UNWIND_BAD_CFI;
    cur.end = cur.at + size;
    *addr = address_of(module, cur.end);
    *out = cur;
    return 0;
}

/* Letters behind "z": what is not known can be skipped, the length says how much there is. */
static int augmentation(struct cfi_fde *fde, const uint8_t *letters)
{
    struct cfi_cursor *cur = &fde->cie_code;
    uint64_t size = cfi_uleb(cur), ignored;
    if (cur->overrun || size > cfi_left(cur))
        return -UNWIND_BAD_CFI;
    struct cfi_cursor data = {cur->at, cur->at + size, false};
    cur->at += size;
    for (; *letters; letters++) {
        switch (*letters) {
        case 'R':
            fde->encoding = cfi_u8(&data);
            break;
        case 'P': {
            /* The personality routine is not called, only skipped: its indirection does not matter. */
            uint8_t encoding = cfi_u8(&data);
            if (encoding != PE_OMIT &&
                cfi_pointer(fde->module, &data, encoding & (uint8_t)~PE_INDIRECT, &ignored) < 0)
                return -UNWIND_BAD_CFI;
            break;
        }
        case 'L':
            cfi_skip(&data, 1);
            break;
        case 'S':
            fde->signal = true;
            break;
        case 'B': /* aarch64: signed with the B key; stripping is the same */
        case 'G': /* aarch64: memory tagging */
            break;
        default:
            return data.overrun ? -UNWIND_BAD_CFI : 0;
        }
    }
    return data.overrun ? -UNWIND_BAD_CFI : 0;
}

static int parse_cie(uint64_t addr, struct cfi_fde *fde)
{
    struct cfi_cursor *cur = &fde->cie_code;
    if (record_at(fde->module, &addr, cur) < 0 || cfi_uint(cur, 4) != 0)
        return -UNWIND_BAD_CFI;
    uint8_t version = cfi_u8(cur);
    const uint8_t *letters = cur->at;
    const uint8_t *terminator = memchr(letters, 0, cfi_left(cur));
    if ((version != 1 && version != 3 && version != 4) || !terminator)
        return -UNWIND_BAD_CFI;
    cur->at = terminator + 1;
    if (version == 4)
        cfi_skip(cur, 2); /* sizes of an address and of a segment selector */
    fde->code_align = cfi_uleb(cur);
    fde->data_align = cfi_sleb(cur);
    uint64_t column = version == 1 ? cfi_u8(cur) : cfi_uleb(cur);
    if (cur->overrun || column >= UNWIND_COLUMNS)
        return -UNWIND_BAD_CFI;
    fde->ra_column = (uint8_t)column;
    fde->encoding = 0;
    fde->signal = false;
    fde->has_augmentation = letters[0] == 'z';
    if (fde->has_augmentation)
        return augmentation(fde, letters + 1);
    /* Without a length nothing behind it can be found. */
    return letters[0] == 0 ? 0 : -UNWIND_BAD_CFI;
}

/* The frame description behind the reference to its common part, which has been read; leaves its program. */
static int parse_fde(struct cfi_fde *fde)
{
    struct cfi_cursor *cur = &fde->fde_code;
    uint64_t length = 0;
    int rc = cfi_pointer(fde->module, cur, fde->encoding, &fde->pc_begin);
    if (rc == 0)
        rc = pointer_form(cur, fde->encoding, &length);
    if (rc < 0 || fde->pc_begin + length < fde->pc_begin)
        return -UNWIND_BAD_CFI;
    fde->pc_end = fde->pc_begin + length;
    if (fde->has_augmentation)
        cfi_skip(cur, cfi_uleb(cur));
    return cur->overrun ? -UNWIND_BAD_CFI : 1;
}

int cfi_next_record(const struct unwind_module *module, uint64_t *addr, struct cfi_fde *out)
{
    struct cfi_cursor *cur =
        &out->fde_code; /* not on the stack: this runs at the bottom of a signal handler */
    int rc = record_at(module, addr, cur);
    if (rc < 0)
        return rc;
    uint64_t place = address_of(module, cur->at);
    uint64_t back = cfi_uint(cur, 4);
    if (back == 0)
        return 0;
    out->module = module;
    rc = parse_cie(place - back, out);
    return rc < 0 ? rc : parse_fde(out);
}

/* .eh_frame_hdr behind its fixed part. */
struct hdr {
    uint64_t eh_frame;
    uint64_t count;
    uint8_t encoding; /* of the table's entries; PE_OMIT no table */
    struct cfi_cursor table;
};

static int read_hdr(const struct unwind_module *module, struct hdr *out)
{
    struct cfi_cursor cur;
    int rc = window_at(module, module->hdr_addr, 0, &cur);
    if (rc < 0)
        return rc;
    uint8_t version = cfi_u8(&cur);
    uint8_t eh_frame_encoding = cfi_u8(&cur);
    uint8_t count_encoding = cfi_u8(&cur);
    uint8_t encoding = cfi_u8(&cur);
    if (cur.overrun || version != 1)
        return -UNWIND_BAD_CFI;
    *out = (struct hdr){.encoding = PE_OMIT};
    if (eh_frame_encoding != PE_OMIT &&
        cfi_pointer(module, &cur, eh_frame_encoding, &out->eh_frame) < 0)
        return -UNWIND_BAD_CFI;
    if (count_encoding == PE_OMIT || encoding == PE_OMIT)
        return 0;
    if (cfi_pointer(module, &cur, count_encoding, &out->count) < 0)
        return -UNWIND_BAD_CFI;
    out->encoding = encoding;
    out->table = cur;
    return 0;
}

int cfi_eh_frame_start(const struct unwind_module *module, uint64_t *addr)
{
    struct hdr hdr = {0};
    *addr = module->eh_frame_addr;
    if (*addr)
        return 0;
    if (!module->hdr_addr)
        return -UNWIND_NO_RULE;
    int rc = read_hdr(module, &hdr);
    if (rc < 0)
        return rc;
    *addr = hdr.eh_frame;
    return *addr ? 0 : -UNWIND_NO_RULE;
}

static int walk(const struct unwind_module *module, uint64_t pc, uint32_t limit, struct cfi_fde *out)
{
    uint64_t addr;
    int rc = cfi_eh_frame_start(module, &addr);
    while (rc >= 0 && limit-- > 0) {
        rc = cfi_next_record(module, &addr, out);
        if (rc == 1 && pc >= out->pc_begin && pc < out->pc_end)
            return 0;
    }
    return rc < 0 ? rc : -UNWIND_NO_RULE;
}

/* Index of the last entry that begins at or before pc, or -1; entries are two int32 relative to the header, which is
 * what every linker writes. */
static int64_t search_table(const uint8_t *table, uint64_t count, int64_t target)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int32_t begin;
        memcpy(&begin, table + middle * 8, sizeof begin);
        if (begin <= target)
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)low - 1;
}

/* The search table if it has the usual form: 0; 1 when it has not. */
static int usual_table(const struct unwind_module *module, struct hdr *out)
{
    int rc = read_hdr(module, out);
    if (rc < 0)
        return rc;
    if (out->encoding != (PE_DATAREL | PE_SDATA4))
        return 1;
    return out->count > cfi_left(&out->table) / 8 ? -UNWIND_BAD_CFI : 0;
}

bool cfi_same_gap(const struct unwind_module *module, uint64_t a, uint64_t b)
{
    struct hdr hdr;
    if (!module->hdr_addr || usual_table(module, &hdr) != 0)
        return !module->hdr_addr;
    return search_table(hdr.table.at, hdr.count, (int64_t)(a - module->hdr_addr)) ==
           search_table(hdr.table.at, hdr.count, (int64_t)(b - module->hdr_addr));
}

/* Where the search table says that the description of pc is: 0; 1 when there is no table of the usual form. */
static __attribute__((noinline)) int look_up(const struct unwind_module *module, uint64_t pc,
                                             uint64_t *addr)
{
    struct hdr hdr;
    int rc = usual_table(module, &hdr);
    if (rc != 0)
        return rc;
    int64_t index = search_table(hdr.table.at, hdr.count, (int64_t)(pc - module->hdr_addr));
    if (index < 0)
        return -UNWIND_NO_RULE;
    int32_t place;
    memcpy(&place, hdr.table.at + index * 8 + 4, sizeof place);
    *addr = module->hdr_addr + (uint64_t)(int64_t)place;
    return 0;
}

int cfi_find_fde(const struct unwind_module *module, uint64_t pc, uint32_t walk_limit,
                 struct cfi_fde *out)
{
    uint64_t addr;
    if (!module->hdr_addr)
        return module->eh_frame_addr ? walk(module, pc, walk_limit, out) : -UNWIND_NO_RULE;
    int rc = look_up(module, pc, &addr);
    if (rc < 0)
        return rc;
    if (rc > 0)
        return walk(module, pc, walk_limit, out);
    rc = cfi_next_record(module, &addr, out);
    if (rc != 1) /* an entry that leads to a common part or nowhere */
        return -UNWIND_BAD_CFI;
    return pc >= out->pc_begin && pc < out->pc_end ? 0 : -UNWIND_NO_RULE;
}

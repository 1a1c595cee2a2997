/* The UTF-8 helpers of strbuf.h. */
#include <string.h>

#include "base/strbuf.h"

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t utf8_decode(const char *text, size_t length, uint32_t *code)
{
    const unsigned char *at = (const unsigned char *)text;
    if (length == 0)
        return 0;
    if (at[0] < 0x80) {
        *code = at[0];
        return 1;
    }
    size_t size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || length < size)
        return 0;
    uint32_t value = at[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (!is_continuation(at[i]))
            return 0;
        value = value << 6 | (at[i] & 0x3f);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < smallest[size] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return size;
}

size_t utf8_encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[size] | code);
    return size;
}

size_t utf8_valid_length(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        uint64_t eight;
        if (length - at >= sizeof eight) {
            memcpy(&eight, text + at, sizeof eight);
            if (!(eight & UINT64_C(0x8080808080808080))) {
                at += sizeof eight;
                continue;
            }
        }
        uint32_t code;
        size_t taken = utf8_decode(text + at, length - at, &code);
        if (!taken)
            break;
        at += taken;
    }
    return at;
}

bool utf8_is_valid(const char *text, size_t length)
{
    return utf8_valid_length(text, length) == length;
}

struct code_range {
    uint32_t first, last;
};

/* Combining marks and joiners, from the general categories Mn, Me and Cf of the Unicode data: the
 * blocks that names and messages contain. A mark outside of them is counted as one column, which
 * misaligns a line and does nothing worse. */
static const struct code_range zero_width[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489},   {0x0591, 0x05bd},   {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x06d6, 0x06dc}, {0x06df, 0x06e4},   {0x0900, 0x0902},   {0x093c, 0x093c}, {0x0941, 0x0948},
    {0x094d, 0x094d}, {0x0e31, 0x0e31},   {0x0e34, 0x0e3a},   {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x200b, 0x200d},   {0x2060, 0x2064},   {0x20d0, 0x20f0}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef},
};

/* East Asian Wide and Fullwidth (UAX #11), and emoji shown as pictures. */
static const struct code_range double_width[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26a1, 0x26a1},
    {0x26bd, 0x26be},   {0x2705, 0x2705},   {0x2728, 0x2728},   {0x274c, 0x274c},
    {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},
    {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
    {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18cff},
    {0x1b000, 0x1b2ff}, {0x1f300, 0x1f320}, {0x1f32d, 0x1f3fa}, {0x1f400, 0x1f64f},
    {0x1f680, 0x1f6fc}, {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd},
};

static bool is_in_ranges(uint32_t code, const struct code_range *ranges, size_t count)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = (low + count) / 2;
        if (code > ranges[middle].last)
            low = middle + 1;
        else if (code < ranges[middle].first)
            count = middle;
        else
            return true;
    }
    return false;
}

unsigned utf8_char_columns(uint32_t code)
{
    if (code < 0x300)
        return 1;
    if (is_in_ranges(code, zero_width, sizeof zero_width / sizeof *zero_width))
        return 0;
    return is_in_ranges(code, double_width, sizeof double_width / sizeof *double_width) ? 2 : 1;
}

size_t utf8_columns(const char *text, size_t length)
{
    size_t columns = 0;
    while (length) {
        uint32_t code = 0;
        size_t taken = utf8_decode(text, length, &code);
        columns += taken ? utf8_char_columns(code) : 1;
        taken += !taken;
        text += taken;
        length -= taken;
    }
    return columns;
}

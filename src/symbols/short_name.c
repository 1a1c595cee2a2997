#include "symbols/demangle.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Names are read from left to right by two walkers, one a language, which copy what belongs to the
 * short name and skip bracketed groups that do not. Nothing recurses; open brackets are kept on a
 * stack of fixed depth, and a group that is nested deeper is taken to reach to the end of the
 * name. */
enum { BRACKETS_MAX = 256, LITERAL_MAX = 64 };

struct text {
    const char *at;
    size_t length;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool has_at(struct text text, size_t at, const char *what)
{
    size_t length = strlen(what);
    return at <= text.length && text.length - at >= length && memcmp(text.at + at, what, length) == 0;
}

static bool contains(struct text text, const char *what)
{
    return text.length > 0 && memmem(text.at, text.length, what, strlen(what)) != NULL;
}

/* Whether a word that equals `word` stands at `at`: not inside a longer one. */
static bool has_word_at(struct text text, size_t at, const char *word)
{
    size_t end = at + strlen(word);
    return has_at(text, at, word) && (at == 0 || !is_word(text.at[at - 1])) &&
           (end >= text.length || !is_word(text.at[end]));
}

/* Operators, longer ones first. */
static const char *const operators[] = {
    "()", "[]", "->*", "<=>", "<<=", ">>=", "...", "->", "<<", ">>", "<=", ">=", "==", "!=",
    "&&", "||", "++",  "--",  "+=",  "-=",  "*=",  "/=", "%=", "^=", "&=", "|=", "+",  "-",
    "*",  "/",  "%",   "^",   "&",   "|",   "~",   "!",  "=",  "<",  ">",  ",",
};

/* Length of the operator's own characters at `at`; 0 when there are none. */
static size_t operator_length(struct text text, size_t at)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (has_at(text, at, operators[i]))
            return strlen(operators[i]);
    return 0;
}

/* Length of a literal at `at` whose brackets mean nothing: 'x' or "text"; 0 when none stands
 * there. */
static size_t literal_length(struct text text, size_t at)
{
    char quote = text.at[at];
    if (quote == '\'') {
        if (at + 2 < text.length && text.at[at + 1] != '\\' && text.at[at + 2] == '\'')
            return 3;
        if (at + 1 >= text.length || text.at[at + 1] != '\\')
            return 0; /* a lifetime */
    } else if (quote != '"') {
        return 0;
    }
    size_t limit =
        text.length - at < LITERAL_MAX ? text.length : at + LITERAL_MAX; /* keeps all linear */
    for (size_t end = at + 1; end < limit; end++) {
        if (text.at[end] == '\\')
            end++;
        else if (text.at[end] == quote)
            return end + 1 - at;
    }
    return 0;
}

/* A '<' that compares: libiberty writes operands in parentheses, "(sizeof (T))<(8)".
 * "operator()<T>" is no comparison. */
static bool is_less_than(struct text text, size_t at)
{
    return at > 0 && text.at[at - 1] == ')' && !(at >= 10 && has_at(text, at - 10, "operator()"));
}

static char closer_of(char open)
{
    return open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : '}';
}

/* The position behind the bracketed group that opens at `at`; the text's length when it never
 * closes. */
static size_t skip_group(struct text text, size_t at)
{
    char stack[BRACKETS_MAX];
    size_t depth = 0;
    while (at < text.length) {
        char c = text.at[at];
        size_t literal = literal_length(text, at);
        if (literal) {
            at += literal;
            continue;
        }
        if (c == 'o' && has_word_at(text, at, "operator")) {
            at += 8;
            at += operator_length(text, at);
            continue;
        }
        if (c == '(' || c == '[' || c == '{' || (c == '<' && !is_less_than(text, at))) {
            if (depth == BRACKETS_MAX)
                return text.length;
            stack[depth++] = closer_of(c);
        } else if (c == ')' || c == ']' || c == '}') {
            while (depth > 0 &&
                   stack[depth - 1] == '>') /* what looked like an opening one was a comparison */
                depth--;
            if (depth > 0 && stack[depth - 1] == c)
                depth--;
        } else if (c == '>' && depth > 0 && stack[depth - 1] == '>' && text.at[at - 1] != '-') {
            depth--;
        }
        at++;
        if (depth == 0)
            break;
    }
    return at;
}

/* ---- suffixes ------------------------------------------------------------------------------- */

/* Words that compilers and linkers put behind a function's name for a part or a copy of it. */
static const char *const suffix_words[] = {
    "cold", "warm",       "part",  "isra",  "constprop",   "lto_priv",
    "llvm", "localalias", "local", "clone", "specialized", "__uniq",
};

static bool is_suffix_word(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof suffix_words / sizeof *suffix_words; i++)
        if (strlen(suffix_words[i]) == length && memcmp(suffix_words[i], word, length) == 0)
            return true;
    return false;
}

/* The length without trailing ".cold", ".part.3" and their like. */
static size_t without_suffixes(struct text text)
{
    size_t end = text.length;
    while (end > 0) {
        size_t dot, word_end = end;
        for (;;) {
            dot = word_end;
            while (dot > 0 && text.at[dot - 1] != '.')
                dot--;
            bool is_number = dot < word_end;
            for (size_t i = dot; i < word_end; i++)
                is_number = is_number && isdigit((unsigned char)text.at[i]);
            if (dot < 2 || !is_number)
                break;
            word_end = dot - 1;
        }
        if (dot < 2 || !is_suffix_word(text.at + dot, word_end - dot))
            break;
        end = dot - 1;
    }
    return end;
}

/* ---- Rust ----------------------------------------------------------------------------------- */

/* Length of "::h0123456789abcdef" at the end, or 0. */
static size_t rust_hash_length(struct text text)
{
    if (text.length < 20 || !has_at(text, text.length - 19, "::h"))
        return 0;
    for (size_t i = text.length - 16; i < text.length; i++)
        if (!isxdigit((unsigned char)text.at[i]))
            return 0;
    return 19;
}

/* A '<' that opens generic arguments rather than a qualified type. */
static bool is_generic(struct text text, size_t at)
{
    if (at == 0)
        return false;
    if (at >= 2 && text.at[at - 1] == ':')
        return !has_at(text, at, "<impl ");
    return is_word(text.at[at - 1]) || text.at[at - 1] == '}';
}

/* Leaves out generic arguments at `at`, with the "::" or "for" before them; returns the position
 * behind. */
static size_t rust_generic(struct text text, size_t at, struct strbuf *out)
{
    if (text.at[at - 1] == ':' && out->length >= 2)
        strbuf_truncate(out, out->length - 2);
    bool is_binder = at >= 3 && has_word_at(text, at - 3, "for") && has_at(text, at, "<'");
    if (is_binder && out->length >= 3)
        strbuf_truncate(out, out->length - 3);
    at = skip_group(text, at);
    return is_binder && has_at(text, at, " ") ? at + 1 : at;
}

/* "name[0123456789abcdef]": a crate's disambiguator. */
static bool is_crate_hash(struct text text, size_t at)
{
    size_t digits = 0;
    while (at + 1 + digits < text.length && isxdigit((unsigned char)text.at[at + 1 + digits]))
        digits++;
    return at > 0 && is_word(text.at[at - 1]) && digits >= 8 && digits <= 16 &&
           has_at(text, at + 1 + digits, "]");
}

/* Turns "<a::B>" at `from` to the end of out into "a::B" when it is a plain path; false when it is
 * not. */
static bool unwrap_path(struct strbuf *out, size_t from)
{
    const char *inside = out->data + from + 1;
    size_t length = out->length - from - 1;
    if (length == 0 || !(isalpha((unsigned char)inside[0]) || inside[0] == '_'))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_word(inside[i]) && !strchr(":{}#.", inside[i]))
            return false;
    memmove(out->data + from, inside, length);
    strbuf_truncate(out, from + length);
    return true;
}

static void short_rust(struct text text, struct strbuf *out)
{
    size_t open[BRACKETS_MAX]; /* where in out the '<' of each open qualified type stands */
    size_t depth = 0;
    text.length -= rust_hash_length(text);
    for (size_t at = 0; at < text.length && !out->failed;) {
        char c = text.at[at];
        size_t literal = literal_length(text, at);
        if (literal) {
            strbuf_add_bytes(out, text.at + at, literal);
            at += literal;
        } else if (c == '<' && (is_generic(text, at) || depth == BRACKETS_MAX)) {
            at = rust_generic(text, at, out);
        } else if (c == '[' && is_crate_hash(text, at)) {
            at = skip_group(text, at);
        } else if (c == '>' && depth > 0 && text.at[at - 1] != '-') {
            depth--;
            if (!unwrap_path(out, open[depth]))
                strbuf_add_char(out, c);
            at++;
        } else if (c == ' ' && has_at(text, at, " [clone ")) {
            break;
        } else {
            if (c == '<')
                open[depth++] = out->length;
            strbuf_add_char(out, c);
            at++;
        }
    }
}

/* ---- C++ ------------------------------------------------------------------------------------ */

/* Copies "operator" and what follows it at `at`; returns the position behind, template arguments
 * skipped. */
static size_t cpp_operator(struct text text, size_t at, struct strbuf *out)
{
    size_t end = at + 8;
    static const char *const words[] = {" new[]", " new", " delete[]", " delete", " co_await"};
    size_t symbol = operator_length(text, end);
    for (size_t i = 0; i < sizeof words / sizeof *words && !symbol; i++)
        if (has_at(text, end, words[i]))
            symbol = strlen(words[i]);
    if (!symbol && has_at(text, end, "\"\"")) {
        symbol = has_at(text, end, "\"\" ") ? 3 : 2;
        while (end + symbol < text.length && is_word(text.at[end + symbol]))
            symbol++;
    }
    if (symbol) {
        strbuf_add_bytes(out, text.at + at, 8 + symbol);
        end += symbol;
        return has_at(text, end, " <") ? skip_group(text, end + 1) : end;
    }
    /* A conversion: the type reaches to the parameters. */
    strbuf_add(out, "operator");
    while (end < text.length && !has_at(text, end, " [clone ")) {
        char c = text.at[end];
        if (c == '<') {
            end = skip_group(text, end);
            continue;
        }
        if (c == '(' && !has_at(text, end, "(anonymous"))
            break;
        size_t part = c == '(' ? skip_group(text, end) - end : 1;
        strbuf_add_bytes(out, text.at + end, part);
        end += part;
    }
    return end;
}

/* Copies "{lambda(int)#1}" without its parameters; returns the position behind. */
static size_t cpp_braces(struct text text, size_t at, struct strbuf *out)
{
    size_t end = skip_group(text, at);
    while (at < end) {
        char c = text.at[at];
        if (c == '(' || c == '<') {
            size_t next = skip_group((struct text){text.at, end}, at);
            at = next > at ? next : at + 1;
            continue;
        }
        strbuf_add_char(out, c);
        at++;
    }
    return end;
}

/* Behind a parameter list: skips " const", " &" and the like. */
static size_t cpp_skip_qualifiers(struct text text, size_t at)
{
    static const char *const words[] = {" const", " volatile", " restrict",        " &&",
                                        " &",     " noexcept", " transaction_safe"};
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < sizeof words / sizeof *words && !found; i++) {
            if (has_at(text, at, words[i])) {
                at += strlen(words[i]);
                found = true;
            }
        }
    }
    return at;
}

/* A parameter list, the unnamed namespace, or the parentheses of a declarator ("void
 * (*f(int))(char)") at `at`.
 * Returns where to go on; the text's length when the name has ended. */
static size_t cpp_parentheses(struct text text, size_t at, struct strbuf *out)
{
    if (has_at(text, at, "(anonymous")) {
        size_t end = skip_group(text, at);
        strbuf_add_bytes(out, text.at + at, end - at);
        return end;
    }
    if (at >= 9 && has_at(text, at - 9, "decltype "))
        return skip_group(text, at);
    if (at >= 8 && has_at(text, at - 8, "decltype"))
        return skip_group(text, at);
    if (out->length == 0)
        return at + 1; /* a declarator: its name is inside */
    size_t end = cpp_skip_qualifiers(text, skip_group(text, at));
    return has_at(text, end, "::") ? end : text.length;
}

static void short_cpp(struct text text, struct strbuf *out)
{
    for (size_t at = 0; at < text.length && !out->failed;) {
        char c = text.at[at];
        if (c == 'o' && has_word_at(text, at, "operator")) {
            at = cpp_operator(text, at, out);
        } else if (c == '(') {
            at = cpp_parentheses(text, at, out);
        } else if (c == ')') {
            break; /* the end of a declarator */
        } else if (c == '<' || c == '[') {
            at = skip_group(text, at);
        } else if (c == '{') {
            at = cpp_braces(text, at, out);
        } else if (c == ' ') {
            if (has_at(text, at, " [clone "))
                break;
            /* What stood before was a return type, or words as in "non-virtual thunk to". */
            strbuf_truncate(out, 0);
            at++;
        } else if ((c == '*' || c == '&') && out->length == 0) {
            at++;
        } else {
            strbuf_add_char(out, c);
            at++;
        }
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

/* One <length><identifier> at `at`; returns the position behind, or `at` when none stands there. */
static size_t mangled_identifier(struct text text, size_t at, struct strbuf *out)
{
    size_t digits = at, length = 0;
    while (digits < text.length && isdigit((unsigned char)text.at[digits]) && length < text.length)
        length = length * 10 + (size_t)(text.at[digits++] - '0');
    if (digits == at || length == 0 || length > text.length - digits)
        return at;
    for (size_t i = digits; i < digits + length; i++)
        if (!isalnum((unsigned char)text.at[i]) && text.at[i] != '_')
            return at; /* Rust's, and damaged */
    if (out->length > 0)
        strbuf_add(out, "::");
    if (has_at(text, digits, "_GLOBAL__N_"))
        strbuf_add(out, "(anonymous namespace)");
    else
        strbuf_add_bytes(out, text.at + digits, length);
    return digits + length;
}

/* What can be read of a C++ name that the demangler is too old for: the path up to the first
 * template arguments. Adds nothing when there is none. */
static void short_mangled(struct text text, struct strbuf *out)
{
    size_t at = 2;
    bool is_nested = has_at(text, at, "N");
    if (is_nested)
        at++;
    while (is_nested && at < text.length && strchr("KVrRO", text.at[at]))
        at++;
    if (has_at(text, at, "St")) {
        strbuf_add(out, "std");
        at += 2;
    }
    for (;;) {
        size_t from = has_at(text, at, "L") ? at + 1 : at;
        size_t end = mangled_identifier(text, from, out);
        if (end == from || !is_nested)
            break;
        at = end;
    }
}

static void short_plain(struct text text, struct strbuf *out)
{
    if (has_at(text, 0, "_Z"))
        short_mangled(text, out);
    if (out->length > 0)
        return;
    const char *version = memchr(text.at, '@', text.length);
    if (version && version > text.at)
        text.length = (size_t)(version - text.at);
    strbuf_add_bytes(out, text.at, without_suffixes(text));
}

void symbol_short_name(enum symbol_language language, const char *full, size_t length,
                       struct strbuf *short_name)
{
    struct text text = {full, length};
    bool is_plt = length > 4 && has_at(text, length - 4, "@plt");
    if (is_plt)
        text.length -= 4;
    struct strbuf out = {0};
    if (language == SYMBOL_LANGUAGE_RUST)
        short_rust(text, &out);
    else if (language == SYMBOL_LANGUAGE_CPP)
        short_cpp(text, &out);
    else if (length > 0)
        short_plain(text, &out);
    if (language != SYMBOL_LANGUAGE_PLAIN && out.length > 0)
        strbuf_truncate(&out, without_suffixes((struct text){out.data, out.length}));
    while (out.length > 0 && out.data[out.length - 1] == ' ') /* "operator void (*)()" */
        strbuf_truncate(&out, out.length - 1);
    if (out.failed)
        short_name->failed = true;
    if (out.length > 0)
        strbuf_add_bytes(short_name, out.data, out.length);
    else
        strbuf_add_bytes(short_name, full, text.length);
    if (is_plt)
        strbuf_add(short_name, "@plt");
    strbuf_free(&out);
}

enum symbol_language symbol_language_guess(const char *full, size_t length)
{
    struct text text = {full, length};
    static const char *const rust[] = {"{{", "{closure#", "{shim:", "::<", "<impl ", " as "};
    if (length > 0 && full[0] == '<')
        return SYMBOL_LANGUAGE_RUST;
    for (size_t i = 0; i < sizeof rust / sizeof *rust; i++)
        if (contains(text, rust[i]))
            return SYMBOL_LANGUAGE_RUST;
    if (rust_hash_length(text))
        return SYMBOL_LANGUAGE_RUST;
    return contains(text, "::") || contains(text, "(") ? SYMBOL_LANGUAGE_CPP : SYMBOL_LANGUAGE_PLAIN;
}

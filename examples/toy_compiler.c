/* toy_compiler.c: a compiler of a toy language, instrumented as a real one would be.
 *
 *   toy_compiler FILE.toy        prints stack code for each function
 *
 *   fn square(x) = x * x;
 *   fn main() = square(3) + 4;
 *
 * What to look at: LAM_SCOPE for the phases; queries that answer themselves from a cache and are recorded with the number of
 * their key, whose name is given at the end, all at once; work items that are queued by one thread and finished by another
 * (detached intervals); a value over time (how many items wait). Without LAMELLA_OUT none of it does anything. */
#define _POSIX_C_SOURCE 200809L /* open_memstream() */
#include <lamella/lamella.h>

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FUNCTIONS = 4096, MAX_PARAMS = 8, WORKERS = 2 };

enum node_type { NODE_NUMBER, NODE_PARAM, NODE_CALL, NODE_BINARY };

struct node {
    enum node_type type;
    int value; /* number, index of a parameter, index of a function, or the operator's character */
    char name[32]; /* until it is resolved */
    struct node *args[MAX_PARAMS];
    int arg_count;
};

struct function {
    char name[32];
    char params[MAX_PARAMS][32];
    int param_count;
    struct node *body;
    int cost; /* answer of the query, -1: not asked yet, -2: being asked */
    char *code;
    struct lam_handle item; /* from being queued to being emitted */
};

static struct function functions[MAX_FUNCTIONS];
static int function_count;

/* ---- what the events are called: looked up once ---- */

static struct {
    struct lam_kind activity, query, cache_hit, item;
    struct lam_space keys; /* a function's index */
    struct lam_label item_label, waiting, argument;
} events;

static void name_events(void)
{
    events.activity = lam_kind_intern(LAM_DEFAULT, "GenericActivity");
    events.keys = lam_space_create(LAM_DEFAULT);
    events.query = lam_kind_keyed(LAM_DEFAULT, "Query", "cost_of", events.keys);
    events.cache_hit = lam_kind_keyed(LAM_DEFAULT, "QueryCacheHit", "cost_of", events.keys);
    events.item = lam_kind_intern(LAM_DEFAULT, "WorkItem");
    events.item_label = lam_label_intern(LAM_DEFAULT, "emit function", 13);
    events.waiting = lam_label_intern(LAM_DEFAULT, "items waiting", 13);
    events.argument = lam_label_intern(LAM_DEFAULT, "function", 8);
}

static void fail(const char *what, const char *where)
{
    fprintf(stderr, "toy_compiler: %s near \"%.20s\"\n", what, where);
    exit(1);
}

/* ---- parse ---- */

static const char *at;

static int accept(char c)
{
    while (isspace((unsigned char)*at))
        at++;
    if (*at != c)
        return 0;
    at++;
    return 1;
}

static void expect(char c)
{
    if (!accept(c))
        fail("unexpected text", at);
}

static void word(char out[32])
{
    int length = 0;
    while (isspace((unsigned char)*at))
        at++;
    while ((isalnum((unsigned char)*at) || *at == '_') && length < 31)
        out[length++] = *at++;
    out[length] = 0;
    if (!length)
        fail("a name was expected", at);
}

static struct node *new_node(enum node_type type, int value)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        abort();
    node->type = type;
    node->value = value;
    return node;
}

static struct node *parse_sum(void);

static struct node *parse_atom(void)
{
    if (accept('(')) {
        struct node *inner = parse_sum();
        expect(')');
        return inner;
    }
    if (isdigit((unsigned char)*at)) {
        char *end;
        struct node *number = new_node(NODE_NUMBER, (int)strtol(at, &end, 10));
        at = end;
        return number;
    }
    struct node *node = new_node(NODE_PARAM, 0);
    word(node->name);
    if (!accept('('))
        return node;
    node->type = NODE_CALL;
    while (!accept(')')) {
        if (node->arg_count == MAX_PARAMS)
            fail("too many arguments", at);
        node->args[node->arg_count++] = parse_sum();
        accept(',');
    }
    return node;
}

static struct node *parse_level(struct node *(*next)(void), const char *operators)
{
    struct node *left = next();
    for (;;) {
        while (isspace((unsigned char)*at))
            at++;
        if (!*at || !strchr(operators, *at))
            return left;
        struct node *node = new_node(NODE_BINARY, *at++);
        node->args[node->arg_count++] = left;
        node->args[node->arg_count++] = next();
        left = node;
    }
}

static struct node *parse_product(void)
{
    return parse_level(parse_atom, "*");
}

static struct node *parse_sum(void)
{
    return parse_level(parse_product, "+-");
}

static void parse_function(void)
{
    /* A function's own name differs each time: a text argument, and one label for all. */
    if (function_count == MAX_FUNCTIONS)
        fail("too many functions", at);
    struct function *function = &functions[function_count++];
    function->cost = -1;
    word(function->name);
    expect('(');
    while (!accept(')')) {
        if (function->param_count == MAX_PARAMS)
            fail("too many parameters", at);
        word(function->params[function->param_count++]);
        accept(',');
    }
    expect('=');
    function->body = parse_sum();
    expect(';');
}

static void parse(const char *text)
{
    LAM_SCOPE("parse");
    char keyword[32];
    at = text;
    while (isspace((unsigned char)*at))
        at++;
    while (*at) {
        word(keyword);
        if (strcmp(keyword, "fn") != 0)
            fail("`fn` was expected", at);
        parse_function();
        while (isspace((unsigned char)*at))
            at++;
    }
}

/* ---- resolve ---- */

static int find_function(const char *name)
{
    for (int i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, name) == 0)
            return i;
    fail("no such function", name);
    return -1;
}

static void resolve_node(struct function *function, struct node *node)
{
    if (node->type == NODE_CALL)
        node->value = find_function(node->name);
    if (node->type == NODE_PARAM) {
        node->value = -1;
        for (int i = 0; i < function->param_count; i++)
            if (strcmp(function->params[i], node->name) == 0)
                node->value = i;
        if (node->value < 0)
            fail("no such parameter", node->name);
    }
    for (int i = 0; i < node->arg_count; i++)
        resolve_node(function, node->args[i]);
}

static void resolve(void)
{
    LAM_SCOPE("resolve");
    for (int i = 0; i < function_count; i++)
        resolve_node(&functions[i], functions[i].body);
}

/* ---- check: a query that asks itself ---- */

static int cost_of(int index);

static int cost_of_node(const struct node *node)
{
    int cost = 1;
    if (node->type == NODE_CALL) {
        if (functions[node->value].param_count != node->arg_count)
            fail("wrong number of arguments", node->name);
        cost += cost_of(node->value);
    }
    for (int i = 0; i < node->arg_count; i++)
        cost += cost_of_node(node->args[i]);
    return cost > 1000000 ? 1000000 : cost;
}

/* The key is a number; nobody makes a string of it here. */
static int cost_of(int index)
{
    struct function *function = &functions[index];
    if (function->cost != -1) {
        lam_instant_id(LAM_DEFAULT, events.cache_hit, (uint32_t)index);
        return function->cost < 0 ? 0 : function->cost; /* recursive: counted once */
    }
    struct lam_handle handle = lam_begin_id(LAM_DEFAULT, events.query, (uint32_t)index);
    function->cost = -2;
    function->cost = cost_of_node(function->body);
    lam_end(LAM_DEFAULT, handle);
    return function->cost;
}

static void check(void)
{
    LAM_SCOPE("check");
    for (int i = 0; i < function_count; i++)
        cost_of(i);
}

/* The names of all keys, at the end of the compilation: and only if somebody wants them. */
static void name_keys(void)
{
    if (!lam_wants_names(LAM_DEFAULT))
        return;
    struct lam_name *names = calloc((size_t)function_count + 1, sizeof *names);
    for (int i = 0; names && i < function_count; i++)
        names[i] =
            (struct lam_name){(uint32_t)i, (uint32_t)strlen(functions[i].name), functions[i].name};
    if (names)
        lam_name_ids(LAM_DEFAULT, events.keys, names, (size_t)function_count);
    free(names);
}

/* ---- emit: worker threads ---- */

static void emit_node(FILE *out, const struct node *node)
{
    for (int i = 0; i < node->arg_count; i++)
        emit_node(out, node->args[i]);
    switch (node->type) {
    case NODE_NUMBER:
        fprintf(out, "  push %d\n", node->value);
        break;
    case NODE_PARAM:
        fprintf(out, "  load %d\n", node->value);
        break;
    case NODE_CALL:
        fprintf(out, "  call %s %d\n", functions[node->value].name, node->arg_count);
        break;
    case NODE_BINARY:
        fprintf(out, "  op %c\n", node->value);
        break;
    }
}

static void emit_function(struct function *function)
{
    struct lam_arg arg = {
        events.argument, LAM_ARG_TEXT, {.text_bytes = strlen(function->name)}, function->name};
    struct lam_handle handle =
        lam_begin_args(LAM_DEFAULT, events.activity, events.item_label, &arg, 1);
    size_t size;
    FILE *out = open_memstream(&function->code, &size);
    if (!out)
        abort();
    fprintf(out, "%s: # cost %d\n", function->name, function->cost);
    emit_node(out, function->body);
    fprintf(out, "  return\n");
    fclose(out);
    lam_end(LAM_DEFAULT, handle);
}

static struct {
    pthread_mutex_t lock;
    int next;
} queue = {PTHREAD_MUTEX_INITIALIZER, 0};

static void *worker(void *name)
{
    lam_thread_name(LAM_DEFAULT, name);
    LAM_SCOPE("worker");
    for (;;) {
        pthread_mutex_lock(&queue.lock);
        int index = queue.next < function_count ? queue.next++ : -1;
        pthread_mutex_unlock(&queue.lock);
        if (index < 0)
            return NULL;
        lam_integer(LAM_DEFAULT, events.activity, events.waiting,
                    (uint64_t)(function_count - 1 - index));
        emit_function(&functions[index]);
        lam_end(LAM_DEFAULT, functions[index].item); /* begun by the main thread */
    }
}

static void emit(void)
{
    LAM_SCOPE("emit");
    static char names[WORKERS][16];
    pthread_t threads[WORKERS];
    for (int i = 0; i < function_count; i++)
        functions[i].item = lam_begin_detached(LAM_DEFAULT, events.item, events.item_label);
    for (int i = 0; i < WORKERS; i++) {
        snprintf(names[i], sizeof names[i], "emit %d", i);
        if (pthread_create(&threads[i], NULL, worker, names[i]) != 0)
            abort();
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- main ---- */

static char *read_all(const char *path)
{
    LAM_SCOPE("read source");
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t used = 0, size = 1 << 16;
    char *text = malloc(size);
    while (text) {
        size_t got = fread(text + used, 1, size - used - 1, file);
        used += got;
        if (!got)
            break;
        if (used + 1 == size)
            text = realloc(text, size *= 2);
    }
    fclose(file);
    if (!text)
        abort();
    text[used] = 0;
    return text;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: toy_compiler FILE.toy\n");
        return 2;
    }
    LAM_SCOPE("compile");
    name_events();
    char *text = read_all(argv[1]);
    parse(text);
    resolve();
    check();
    emit();
    name_keys();
    LAM_SCOPE("print");
    for (int i = 0; i < function_count; i++) {
        fputs(functions[i].code, stdout);
        free(functions[i].code);
    }
    free(text);
    return 0;
}

/* Names that would claim most of what no marker claims. A name is worth a marker when it lies in many of the stacks in question
 * and in few others: what the whole phase runs under (a pass manager) tells nothing apart. Chosen greedily: the best name, then
 * the best for what it leaves over. */
#include <string.h>

#include "analysis/probe_state.h"
#include "base/glob.h"

enum {
    OUTER_FRAMES = 4
}; /* _start, its two callees and main: markers on them would claim a whole thread */
#define UNCLAIMED UINT32_MAX
static const double EXCLUSIVE = 0.7;

struct candidate {
    uint64_t open_ns;  /* in stacks in question that no choice covers yet */
    uint64_t asked_ns; /* in all stacks in question */
    uint64_t all_ns;   /* in all stacks that it must tell apart: of the phase, or of everything */
    uint64_t samples, late_ns; /* of open_ns */
    uint32_t seen;             /* tally that counted last: recursion counts once */
    uint32_t depth;            /* the least */
};

struct open_tally {
    uint32_t tally;
    uint32_t from_depth; /* the decider's: names inside it count */
    uint32_t question;   /* the phase whose detail is asked for, or UNCLAIMED */
    bool is_asked, is_covered;
};

struct suggest_search {
    struct probe *probe;
    LAM_ARRAY(struct candidate) names; /* by name id */
    LAM_ARRAY(struct open_tally) tallies;
    struct probe_suggestions *out;
};

/* What a marker could improve: unclaimed, claimed by the thread's role alone, or without a detail. */
static bool is_rest(const struct phase_bucket *bucket, const struct marker *decided)
{
    if (bucket->segment == SEGMENT_UNKNOWN)
        return true;
    if (bucket->segment != SEGMENT_BACKEND)
        return false;
    return (decided && decided->rule == MARKER_ROLE) || bucket->detail_kind == PHASE_DETAIL_NONE;
}

static int gather(struct suggest_search *search, const struct probe_choice *choice)
{
    struct probe *probe = search->probe;
    struct probe_classes classes = {0};
    int rc = LAM_OK;
    for (size_t i = 0; i < probe->tallies.count && rc == LAM_OK; i++) {
        const struct probe_tally *tally = &probe->tallies.items[i];
        struct phase_bucket bucket = classifier_bucket(probe->cls, tally->bucket);
        struct classifier_reason reason;
        rc = probe_explain(probe, tally, &classes, &reason);
        if (rc < 0)
            break;
        uint32_t node = tally->stack ? probe->stacks.items[tally->stack].node : 0;
        uint32_t decider = probe_matched_node(probe, node, reason.decided);
        bool is_role = !reason.decided || reason.decided->rule == MARKER_ROLE;
        struct open_tally open = {.tally = (uint32_t)i,
                                  .from_depth = probe->nodes.items[decider].depth,
                                  .question = is_role ? UNCLAIMED : bucket.phase};
        open.is_asked = choice && choice->segment ? probe_chosen(choice, &bucket)
                                                  : is_rest(&bucket, reason.decided);
        if (open.is_asked) {
            search->out->amount.samples += tally->amount.samples;
            search->out->amount.cpu_ns += tally->amount.cpu_ns;
            search->out->amount.late_ns += tally->amount.late_ns;
        }
        rc = array_push(&search->tallies, open);
    }
    array_free(&classes);
    return rc;
}

static bool is_open(const struct open_tally *open, uint32_t question)
{
    return open->is_asked && !open->is_covered && open->question == question;
}

/* Adds a tally's time to every name of its stack inside `from_depth`. */
static void count_names(struct suggest_search *search, const struct open_tally *open, uint32_t mark,
                        void (*add)(struct candidate *, const struct report_amount *))
{
    const struct probe *probe = search->probe;
    const struct probe_tally *tally = &probe->tallies.items[open->tally];
    uint32_t node = tally->stack ? probe->stacks.items[tally->stack].node : 0;
    for (; node && probe->nodes.items[node].depth > open->from_depth;
         node = probe->nodes.items[node].parent) {
        struct candidate *name = &search->names.items[probe->nodes.items[node].name];
        if (name->seen == mark)
            continue;
        name->seen = mark;
        if (name->depth == 0 || probe->nodes.items[node].depth < name->depth)
            name->depth = probe->nodes.items[node].depth;
        add(name, &tally->amount);
    }
}

static void add_all(struct candidate *name, const struct report_amount *amount)
{
    name->all_ns += amount->cpu_ns;
}

static void add_asked(struct candidate *name, const struct report_amount *amount)
{
    name->asked_ns += amount->cpu_ns;
}

static void add_open(struct candidate *name, const struct report_amount *amount)
{
    name->open_ns += amount->cpu_ns;
    name->samples += amount->samples;
    name->late_ns += amount->late_ns;
}

/* Whether a marker file can hold it as a pattern: no control bytes, and no quote, which ends a pattern with blanks. */
static bool is_writable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f || *text == '"')
            return false;
    return true;
}

/* The best name for what is open of a question; INTERN_NONE: none is worth a marker. */
static uint32_t best_name(struct suggest_search *search, uint32_t question, uint32_t *mark)
{
    array_each(&search->names, name) name->open_ns = name->samples = name->late_ns = 0;
    array_each(&search->tallies, open) if (is_open(open, question))
        count_names(search, open, ++*mark, add_open);
    uint32_t best = INTERN_NONE;
    for (uint32_t i = 1; i < search->names.count; i++) {
        const struct candidate *name = &search->names.items[i],
                               *held = best == INTERN_NONE ? NULL : &search->names.items[best];
        const char *text = intern_text(&search->probe->names, i, NULL);
        if (name->open_ns == 0 || *text == '[' || !is_writable(text) ||
            name->depth <= OUTER_FRAMES || (double)name->asked_ns < EXCLUSIVE * (double)name->all_ns)
            continue;
        if (!held || name->open_ns > held->open_ns ||
            (name->open_ns == held->open_ns && name->depth < held->depth))
            best = i;
    }
    return best;
}

static void cover(struct suggest_search *search, uint32_t question, uint32_t name,
                  struct open_tally *example)
{
    const struct probe *probe = search->probe;
    uint64_t most = 0;
    array_each(&search->tallies, open)
    {
        if (!is_open(open, question))
            continue;
        const struct probe_tally *tally = &probe->tallies.items[open->tally];
        uint32_t node = tally->stack ? probe->stacks.items[tally->stack].node : 0;
        for (; node && probe->nodes.items[node].depth > open->from_depth;
             node = probe->nodes.items[node].parent) {
            if (probe->nodes.items[node].name != name)
                continue;
            open->is_covered = true;
            if (tally->amount.cpu_ns >= most)
                *example = *open;
            most = tally->amount.cpu_ns > most ? tally->amount.cpu_ns : most;
            break;
        }
    }
}

static size_t shared_length(const char *a, const char *b)
{
    size_t length = 0;
    while (a[length] && a[length] == b[length] && a[length] != '*')
        length++;
    return length;
}

/* The marker whose pattern begins most like the name: at least with its first component. */
static const struct marker *nearest_marker(const struct probe *probe, const char *name, uint32_t phase)
{
    const struct marker_set *set = classifier_markers(probe->cls);
    const char *component = strstr(name, "::");
    size_t least = component ? (size_t)(component - name) + 2 : strlen(name), best_length = 0;
    if (strncmp(name, "llvm::", 6) == 0 || strncmp(name, "(anonymous", 10) == 0)
        least += 4; /* everything of LLVM begins like that */
    const struct marker *best = NULL;
    array_each(&set->markers, marker)
    {
        bool is_kind = phase == UNCLAIMED
                           ? marker->rule < MARKER_ROLE && marker->rule != MARKER_MODULE
                           : marker->rule == MARKER_DETAIL && marker->phase == phase;
        size_t length = shared_length(name, marker->pattern);
        if (is_kind && marker->segment != SEGMENT_NONE && length >= least && length > best_length) {
            best = marker;
            best_length = length;
        }
    }
    return best;
}

/* "llvm::JumpThreadingPass::run" names the detail jump_threading_pass. */
static const char *detail_of(struct arena *arena, const char *name)
{
    const char *end = name + strlen(name), *start = name;
    const char *last = NULL, *before = NULL;
    for (const char *at = strstr(name, "::"); at; at = strstr(at + 2, "::")) {
        before = last;
        last = at;
    }
    if (last) {
        end = last;
        start = before ? before + 2 : name;
    }
    struct strbuf text = {0};
    for (const char *at = start; at < end; at++) {
        bool is_upper = *at >= 'A' && *at <= 'Z';
        bool is_plain = is_upper || (*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9');
        bool was_lower = at > start && at[-1] >= 'a' && at[-1] <= 'z';
        if (is_upper && was_lower)
            strbuf_add_char(&text, '_');
        if (is_plain)
            strbuf_add_char(&text, is_upper ? (char)(*at - 'A' + 'a') : *at);
        else if (text.length > 0 && text.data[text.length - 1] != '_')
            strbuf_add_char(&text, '_');
    }
    while (text.length > 0 && text.data[text.length - 1] == '_')
        strbuf_truncate(&text, text.length - 1);
    const char *detail =
        strbuf_ok(&text) && text.length > 0 ? arena_strdup(arena, strbuf_text(&text)) : "rest";
    strbuf_free(&text);
    return detail;
}

static struct probe_suggestion describe(const struct suggest_search *search, uint32_t name,
                                        const struct open_tally *example)
{
    const struct probe *probe = search->probe;
    const struct marker_set *set = classifier_markers(probe->cls);
    const char *text = intern_text(&probe->names, name, NULL);
    const struct marker *near = nearest_marker(probe, text, example->question);
    struct probe_suggestion line = {.rule = MARKER_INNERMOST, .pattern = text};
    if (example->question != UNCLAIMED) {
        struct phase_bucket phase = classifier_phase(probe->cls, example->question);
        line.rule = MARKER_DETAIL;
        line.segment = phase_segment_name(phase.segment);
        line.phase = phase.phase_name;
        line.detail = near ? intern_text(&set->details, near->detail, NULL)
                           : detail_of(&search->out->arena, text);
        return line;
    }
    struct phase_bucket rest =
        classifier_bucket(probe->cls, probe->tallies.items[example->tally].bucket);
    if (near) {
        line.rule = near->rule == MARKER_DETAIL ? MARKER_INNERMOST : near->rule;
        line.segment = phase_segment_name((enum phase_segment)near->segment);
        line.phase = set->phases.items[near->phase].name;
    } else if (rest.segment !=
               SEGMENT_UNKNOWN) { /* the role knows the phase: the name can be a part of it */
        line.rule = MARKER_DETAIL;
        line.segment = phase_segment_name(rest.segment);
        line.phase = rest.phase_name;
        line.detail = detail_of(&search->out->arena, text);
    } else {
        line.segment = "process";
        line.phase = "program";
    }
    return line;
}

/* Programs of which no marker knows anything: a role line claims them whole. */
static int suggest_programs(struct suggest_search *search)
{
    const struct probe *probe = search->probe;
    LAM_ARRAY(struct report_amount) known = {0}, rest = {0};
    struct probe_suggestions *out = search->out;
    if (array_resize(&known, probe->groups.count) < 0 ||
        array_resize(&rest, probe->groups.count) < 0) {
        array_free(&known);
        return LAM_E_NOMEM;
    }
    array_each(&search->tallies, open)
    {
        const struct probe_tally *tally = &probe->tallies.items[open->tally];
        bool is_unknown = classifier_bucket(probe->cls, tally->bucket).segment == SEGMENT_UNKNOWN;
        struct report_amount *to =
            is_unknown && open->is_asked ? &rest.items[tally->group] : &known.items[tally->group];
        to->samples += tally->amount.samples;
        to->cpu_ns += tally->amount.cpu_ns;
        to->late_ns += tally->amount.late_ns;
    }
    int rc = LAM_OK;
    for (size_t i = 0; i < probe->groups.count && rc == LAM_OK; i++) {
        if (rest.items[i].cpu_ns <= 4 * known.items[i].cpu_ns || !*probe->groups.items[i].program ||
            !is_writable(probe->groups.items[i].program))
            continue;
        struct probe_suggestion line = {.rule = MARKER_ROLE,
                                        .pattern = probe->groups.items[i].program,
                                        .segment = "process",
                                        .phase = "program",
                                        .amount = rest.items[i]};
        rc = array_push(&out->items, line);
        array_each(&search->tallies, open) if (probe->tallies.items[open->tally].group == i)
            open->is_covered = true;
    }
    array_free(&known);
    array_free(&rest);
    return rc;
}

/* In how much of what they should not claim the names lie: in the rest of the phase, or in everything. */
static void count_everywhere(struct suggest_search *search, uint32_t question, uint32_t *mark)
{
    array_each(&search->names, name) *name = (struct candidate){.seen = name->seen};
    array_each(&search->tallies, open)
    {
        if (open->is_asked && open->question == question)
            count_names(search, open, ++*mark, add_asked);
        struct open_tally whole = *open;
        if (question == UNCLAIMED && open->question != UNCLAIMED)
            whole.from_depth = 0;
        if (question == UNCLAIMED || open->question == question)
            count_names(search, &whole, ++*mark, add_all);
    }
}

static int suggest_for(struct suggest_search *search, uint32_t question, uint32_t count,
                       uint32_t *mark)
{
    count_everywhere(search, question, mark);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t name = best_name(search, question, mark);
        if (name == INTERN_NONE)
            break;
        const struct candidate *best = &search->names.items[name];
        struct report_amount amount = {best->samples, best->open_ns, best->late_ns};
        struct open_tally example = {0};
        cover(search, question, name, &example);
        struct probe_suggestion line = describe(search, name, &example);
        line.amount = amount;
        if (array_push(&search->out->items, line) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

static int compare_suggestions(const void *a, const void *b)
{
    const struct probe_suggestion *left = a, *right = b;
    if (left->amount.cpu_ns != right->amount.cpu_ns)
        return left->amount.cpu_ns > right->amount.cpu_ns ? -1 : 1;
    return strcmp(left->pattern, right->pattern);
}

static int suggest_all(struct suggest_search *search, uint32_t count)
{
    struct map questions = {0};
    uint32_t mark = 0;
    int rc = suggest_programs(search);
    array_each(&search->tallies, open) if (rc == LAM_OK && open->is_asked) rc =
        map_put(&questions, open->question, 1);
    size_t at = 0;
    uint64_t question, one;
    while (rc == LAM_OK && map_next(&questions, &at, &question, &one))
        rc = suggest_for(search, (uint32_t)question, count, &mark);
    map_free(&questions);
    array_sort(&search->out->items, compare_suggestions);
    if (search->out->items.count > count)
        search->out->items.count = count;
    return rc;
}

int probe_suggest(struct probe *probe, const struct probe_choice *choice, uint32_t count,
                  struct probe_suggestions *out)
{
    memset(out, 0, sizeof *out);
    struct suggest_search search = {.probe = probe, .out = out};
    int rc = gather(&search, choice);
    if (rc == LAM_OK)
        rc = array_resize(&search.names, intern_count(&probe->names));
    if (rc == LAM_OK)
        rc = suggest_all(&search, count);
    array_free(&search.names);
    array_free(&search.tallies);
    if (rc < 0)
        probe_suggestions_free(out);
    return rc;
}

void probe_suggestions_free(struct probe_suggestions *out)
{
    array_free(&out->items);
    arena_free(&out->arena);
}

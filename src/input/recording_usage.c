#include "input/recording_usage.h"

#include <string.h>

static uint64_t cpu_of(const struct stream_usage *usage)
{
    return usage->user_ns + usage->sys_ns;
}

static uint64_t less(uint64_t value, uint64_t part)
{
    return value > part ? value - part : 0;
}

/* All counters of usage; max_rss_bytes is no sum and stays the left one's. */
static struct stream_usage usage_less(const struct stream_usage *whole,
                                      const struct stream_usage *part)
{
    return (struct stream_usage){
        .user_ns = less(whole->user_ns, part->user_ns),
        .sys_ns = less(whole->sys_ns, part->sys_ns),
        .max_rss_bytes = whole->max_rss_bytes,
        .minor_faults = less(whole->minor_faults, part->minor_faults),
        .major_faults = less(whole->major_faults, part->major_faults),
        .switches_voluntary = less(whole->switches_voluntary, part->switches_voluntary),
        .switches_forced = less(whole->switches_forced, part->switches_forced),
        .blocks_in = less(whole->blocks_in, part->blocks_in),
        .blocks_out = less(whole->blocks_out, part->blocks_out),
    };
}

static void usage_add(struct stream_usage *sum, const struct stream_usage *part)
{
    sum->user_ns += part->user_ns;
    sum->sys_ns += part->sys_ns;
    sum->minor_faults += part->minor_faults;
    sum->major_faults += part->major_faults;
    sum->switches_voluntary += part->switches_voluntary;
    sum->switches_forced += part->switches_forced;
    sum->blocks_in += part->blocks_in;
    sum->blocks_out += part->blocks_out;
}

/* Children of each life, as lists. */
struct family {
    struct recording *rec;
    LAM_ARRAY(uint32_t) first_child; /* by life */
    LAM_ARRAY(uint32_t) next_sibling;
};

static int family_build(struct family *family)
{
    struct recording *rec = family->rec;
    size_t count = rec->lives.count;
    if (!count)
        return LAM_OK;
    if (array_resize(&family->first_child, count) < 0 ||
        array_resize(&family->next_sibling, count) < 0)
        return LAM_E_NOMEM;
    memset(family->first_child.items, 0xff, count * sizeof *family->first_child.items);
    memset(family->next_sibling.items, 0xff, count * sizeof *family->next_sibling.items);
    for (uint32_t i = 0; i < count; i++) {
        const struct life *life = &rec->lives.items[i];
        if (life->parent == NO_INDEX)
            continue;
        uint32_t parent = rec->images.items[life->parent].life;
        family->next_sibling.items[i] = family->first_child.items[parent];
        family->first_child.items[parent] = i;
    }
    return LAM_OK;
}

/* What a life's waited children used, by its own word: its last PROCESS_END's, and what it told after that. *is_whole: nothing
 * can be missing, for its last image told its end. */
static bool children_told(const struct recording *rec, const struct life *life,
                          struct stream_usage *children, bool *is_whole)
{
    bool is_told = false;
    *is_whole = false;
    for (uint32_t i = life->first; i != NO_INDEX; i = rec->images.items[i].next) {
        const struct image *image = &rec->images.items[i];
        if (!image->path)
            return false; /* a program that does not tell */
        is_told = true;
        *is_whole = image->has_end;
        if (image->has_end) {
            *children = image->end_children;
            continue;
        }
        for (size_t k = 0; k < image->exits.count; k++)
            usage_add(children, &image->exits.items[k].usage);
    }
    return is_told;
}

/* What a life's waited children used, when those that we know of used below_ns. A process that was killed has told of the
 * children it waited for by calls that we wrap, and of no others (system() waits inside libc). */
static struct stream_usage children_of(const struct recording *rec, const struct life *life,
                                       uint64_t below_ns)
{
    struct stream_usage children = {0};
    bool is_whole = false;
    if (!children_told(rec, life, &children, &is_whole))
        return (struct stream_usage){.user_ns = below_ns}; /* which part was user time does not matter */
    if (!is_whole)
        children.user_ns += less(below_ns, cpu_of(&children));
    return children;
}

/* What is known of a life's own usage when nobody told what it came to: its last word, or what the poll saw. */
static void own_without_exit(const struct recording *rec, struct life *life)
{
    const struct image *last = &rec->images.items[life->last];
    if (last->has_end) {
        life->own = last->end_self;
        life->has_own = true;
    } else if (life->seen_cpu_ns != PROFILE_UNKNOWN) {
        life->own = (struct stream_usage){.user_ns = life->seen_cpu_ns};
    }
}

enum { STATE_NEW, STATE_OPEN, STATE_DONE };

/* Own usage of one life whose children, all done, used `below` in all (those that it must have waited for itself). */
static void finish_life(const struct recording *rec, struct life *life, uint64_t below_ns)
{
    struct stream_usage children = children_of(rec, life, below_ns);
    if (life->has_exit) {
        life->own = usage_less(&life->total, &children);
        /* Its user time alone may be less than its children's whole: what is missing there is taken from the rest. */
        uint64_t own = less(cpu_of(&life->total), cpu_of(&children));
        if (cpu_of(&life->own) > own) {
            life->own.sys_ns = own < life->own.sys_ns ? own : life->own.sys_ns;
            life->own.user_ns = own - life->own.sys_ns;
        }
        life->has_own = true;
        life->all_cpu_ns = cpu_of(&life->total);
    } else {
        own_without_exit(rec, life);
        life->all_cpu_ns = cpu_of(&life->own) + cpu_of(&children);
    }
    life->state = STATE_DONE;
}

/* Whether a parent's charge holds this child's: it waited for it, and nobody else did. */
static bool is_in_parents_charge(const struct life *life)
{
    return !life->by_launcher && !life->is_running;
}

/* Children before parents, without recursion: a chain of a million makes would not fit on a stack. */
static int divide_lives(struct family *family)
{
    struct recording *rec = family->rec;
    LAM_ARRAY(uint32_t) open = {0};
    int rc = LAM_OK;
    for (uint32_t root = 0; rc >= 0 && root < rec->lives.count; root++) {
        if (rec->lives.items[root].state != STATE_NEW)
            continue;
        rc = array_push(&open, root);
        while (rc >= 0 && open.count) {
            uint32_t index = array_last(&open);
            struct life *life = &rec->lives.items[index];
            if (life->state == STATE_NEW) {
                life->state = STATE_OPEN;
                for (uint32_t c = family->first_child.items[index]; rc >= 0 && c != NO_INDEX;
                     c = family->next_sibling.items[c]) {
                    if (rec->lives.items[c].state == STATE_NEW)
                        rc = array_push(&open, c);
                }
                continue;
            }
            (void)array_pop(&open);
            if (life->state == STATE_DONE)
                continue;
            uint64_t below = 0;
            for (uint32_t c = family->first_child.items[index]; c != NO_INDEX;
                 c = family->next_sibling.items[c])
                below +=
                    is_in_parents_charge(&rec->lives.items[c]) ? rec->lives.items[c].all_cpu_ns : 0;
            finish_life(rec, life, below);
        }
    }
    array_free(&open);
    return rc;
}

static struct profile_usage profile_usage_of(const struct stream_usage *from)
{
    return (struct profile_usage){
        from->user_ns,         from->sys_ns,       from->max_rss_bytes,
        from->minor_faults,    from->major_faults, from->switches_voluntary,
        from->switches_forced, from->blocks_in,    from->blocks_out};
}

/* The peak of an image: its own word (VmHWM at its end), else what the poll saw. ru_maxrss of a wait is not used: it
 * begins with the spawner's peak. */
static uint64_t peak_of(const struct image *image)
{
    if (image->has_end && image->end_self.max_rss_bytes)
        return image->end_self.max_rss_bytes;
    return image->peak_rss_bytes;
}

/* Splits a life's own usage among its images: each exec told what had been used until then. */
static void divide_images(struct recording *rec, const struct life *life)
{
    struct stream_usage before = {0};
    uint64_t cpu_before = 0;
    for (uint32_t i = life->first; i != NO_INDEX; i = rec->images.items[i].next) {
        struct image *image = &rec->images.items[i];
        bool is_last = image->next == NO_INDEX;
        bool knows = is_last ? life->has_own : image->has_end;
        const struct stream_usage *until = is_last ? &life->own : &image->end_self;
        uint64_t cpu_until = is_last ? cpu_of(&life->own) : image->end_cpu_ns;
        if (knows) {
            struct stream_usage own = usage_less(until, &before);
            image->usage = profile_usage_of(&own);
            image->has_usage = true;
            image->cpu_ns = less(cpu_until, cpu_before);
            before = *until;
            /* The kernel's own sum of user and system time and the CPU clock are the same count, but for what the
             * process used between the two readings. */
            cpu_before = cpu_until;
        } else if (is_last && life->seen_cpu_ns != PROFILE_UNKNOWN) {
            image->cpu_ns = less(life->seen_cpu_ns, cpu_before);
        }
        image->usage.max_rss_bytes = peak_of(image);
        if (is_last && knows && image->has_end)
            image->tail_cpu_ns = less(cpu_until, image->end_cpu_ns);
        else if (image->has_end && !is_last)
            image->tail_cpu_ns = 0;
    }
}

int recording_divide_usage(struct recording *rec)
{
    struct family family = {.rec = rec};
    int rc = family_build(&family);
    if (rc >= 0)
        rc = divide_lives(&family);
    for (size_t i = 0; rc >= 0 && i < rec->lives.count; i++)
        divide_images(rec, &rec->lives.items[i]);
    array_free(&family.first_child);
    array_free(&family.next_sibling);
    return rc;
}

uint64_t recording_known_cpu_ns(const struct recording *rec)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < rec->images.count; i++)
        sum += rec->images.items[i].cpu_ns == PROFILE_UNKNOWN ? 0 : rec->images.items[i].cpu_ns;
    return sum;
}

#include "input/recording_belongs.h"

#include "base/strbuf.h"

bool recording_has_account(const struct recording *rec)
{
    if (rec->session.charged_cpu_ns != PROFILE_UNKNOWN)
        return true;
    array_each(&rec->images,
               image) if (image->has_config && image->engine != STREAM_ENGINE_NONE) return true;
    return false;
}

/* When an image was over, as far as known. */
static int64_t end_of(const struct recording *rec, const struct image *image)
{
    const struct life *life = &rec->lives.items[image->life];
    if (image->next != NO_INDEX)
        return rec->images.items[image->next].start_ns;
    if (life->has_exit)
        return life->exit_ns;
    if (image->has_end)
        return image->end_ns;
    return INT64_MAX - RECORDING_CLOCK_SLACK_NS;
}

static bool was_there(const struct recording *rec, const struct image *image, int64_t at_unix_ns)
{
    int64_t at_ns = at_unix_ns - rec->zero_wall_ns;
    return image->start_ns - RECORDING_CLOCK_SLACK_NS <= at_ns &&
           at_ns <= end_of(rec, image) + RECORDING_CLOCK_SLACK_NS;
}

/* ---- recordings of events ---- */

static bool holds(const struct recording *rec, const struct image *stream, int64_t start_unix_ns)
{
    if (!stream->kernel_start)
        return false;
    array_each(&rec->images, image)
    {
        if (image->pid == stream->pid &&
            rec->lives.items[image->life].kernel_start == stream->kernel_start &&
            was_there(rec, image, start_unix_ns))
            return true;
    }
    return false;
}

bool recording_holds_all_of(const struct recording *rec, const struct recording *events)
{
    bool has_any = false;
    array_each(&events->images, image)
    {
        if (!image->path)
            continue;
        if (!holds(rec, image, image->agent_start_ns + events->zero_wall_ns))
            return false;
        has_any = true;
    }
    return has_any;
}

/* ---- self-profiles ---- */

static size_t without_end(const char *text, size_t size, char end)
{
    while (size > 0 && text[size - 1] == end)
        size--;
    return size;
}

/* The command line as the recording has it, beside that of a self-profile, which has a space between arguments. What was cut need
 * only begin alike. */
static bool has_command(const struct image *image, const struct strbuf *command)
{
    const char *text = strbuf_text(command), *argv = image->argv.bytes;
    size_t size = without_end(text, command->length, ' '),
           known = without_end(argv, image->argv.size, '\0');
    if (size == 0 || known == 0)
        return true;
    if (known != size && !(image->argv_cut && known < size))
        return false;
    for (size_t i = 0; i < known; i++)
        if (argv[i] != text[i] && !(argv[i] == '\0' && text[i] == ' '))
            return false;
    return true;
}

bool recording_holds_writer(const struct recording *rec, const struct profdata_metadata *meta)
{
    if (!meta->is_known || meta->start_unix_ns == 0)
        return false;
    if (meta->measure != PROFILE_MEASURE_TIME || recording_measures_other(rec))
        return false;
    array_each(&rec->images, image)
    {
        if (image->pid == meta->pid && was_there(rec, image, (int64_t)meta->start_unix_ns) &&
            has_command(image, &meta->command))
            return true;
    }
    return false;
}

/* SEQ(A, B, C) WHERE [id] WITHIN n EVENTS by hand, with stacks per id as lists in one ring:

   an instance is an event, the one below it in its stack, and the most recent one of the stack
   before when it came. Events are given as the code of their type and the number of their id;
   matches are written as event × 32 + component, one after another. */

#include <stdint.h>
#include <stdlib.h>

enum { DONE, FULL };                 /* why a call returns */
enum { LENGTH = 3, NONE = -1 };

typedef struct { int64_t event, previous, rip; } instance;

typedef struct {
    int64_t window, mask, pushed, matches;
    instance *ring;
    int64_t *tops;                   /* of the stack of component c and id d: [d * LENGTH + c] */
} state;

state *make_state(int64_t ids, int64_t window) {
    state *s = calloc(1, sizeof *s);
    int64_t size = 1;
    while (size < 2 * window + 2) size *= 2;
    s->window = window;
    s->mask = size - 1;
    s->ring = calloc((size_t)size, sizeof *s->ring);
    s->tops = malloc((size_t)(ids * LENGTH) * sizeof *s->tops);
    for (int64_t n = 0; n < ids * LENGTH; n++) s->tops[n] = NONE;
    return s;
}

void free_state(state *s) {
    free(s->ring);
    free(s->tops);
    free(s);
}

int64_t matches_of(const state *s) { return s->matches; }

/* Reads events from *at on; component_of has the component of each type, or NONE. */
int64_t read_events(state *restrict s, const int32_t *restrict type,
                    const int64_t *restrict component_of, const int64_t *restrict id,
                    int64_t count, int64_t *restrict at, int64_t *restrict ids, int64_t id_room,
                    int64_t *restrict written) {
    const int64_t window = s->window, mask = s->mask;
    instance *restrict ring = s->ring;
    int64_t used = 0, status = DONE, i;
    for (i = *at; i < count; i++) {
        const int64_t component = component_of[type[i]];
        if (component < 0) continue;
        int64_t *tops = s->tops + id[i] * LENGTH;
        int64_t rip = NONE;
        if (component > 0) {
            rip = tops[component - 1];
            if (rip < 0 || s->pushed - rip > mask || i - ring[rip & mask].event >= window) continue;
        }
        if (component < LENGTH - 1) {
            ring[s->pushed & mask] = (instance){i, tops[component], rip};
            tops[component] = s->pushed++;
            continue;
        }
        const int64_t begun = used, found = s->matches;
        for (int64_t b = rip; b >= 0 && s->pushed - b <= mask && i - ring[b & mask].event < window;
             b = ring[b & mask].previous)
            for (int64_t a = ring[b & mask].rip;
                 a >= 0 && s->pushed - a <= mask && i - ring[a & mask].event < window;
                 a = ring[a & mask].previous) {
                if (used + LENGTH > id_room) {
                    status = FULL;
                    goto full;
                }
                ids[used++] = ring[a & mask].event << 5;
                ids[used++] = ring[b & mask].event << 5 | 1;
                ids[used++] = i << 5 | 2;
                s->matches++;
            }
        continue;
    full:
        used = begun;
        s->matches = found;
        break;
    }
    *at = i;
    *written = used;
    return status;
}

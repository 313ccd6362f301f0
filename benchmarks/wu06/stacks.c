/* SEQ(A, B, C, ...) of LENGTH components WHERE [id] WITHIN n EVENTS by hand, with stacks per id as
   lists in one ring:

   an instance is an event, the one below it in its stack, and the most recent one of the stack
   before when it came. Events are given as the code of their type and their id. Ids are numbers
   below a bound that is given; with ANY_ID they are any numbers and are numbered here, by a hash,
   as they are by a session, which is told nothing of them. Matches are written as
   event × 32 + component, one after another. */

#include <stdint.h>
#include <stdlib.h>

enum { DONE, FULL };                 /* why a call returns */
enum { NONE = -1 };

typedef struct { int64_t event, previous, rip; } instance;

typedef struct { int64_t id, number; } slot;

typedef struct {
    int64_t window, mask, pushed, matches;
    int64_t ids, slot_mask;
    slot *slots;
    instance *ring;
    int64_t *tops;                   /* of the stack of component c and id d: [d * LENGTH + c] */
} state;

#ifdef ANY_ID
static slot *make_slots(int64_t size) {
    slot *slots = malloc((size_t)size * sizeof *slots);
    for (int64_t n = 0; n < size; n++) slots[n].number = NONE;
    return slots;
}

static inline int64_t place_of(const slot *slots, int64_t slot_mask, int64_t id) {
    uint64_t hash = (uint64_t)id * 0x9E3779B97F4A7C15u;
    int64_t at = (int64_t)(hash >> 32) & slot_mask;
    while (slots[at].number >= 0 && slots[at].id != id) at = (at + 1) & slot_mask;
    return at;
}

/* A new id gets the next number, and empty stacks; the table is never more than half full. */
static int64_t add_id(state *s, int64_t at, int64_t id) {
    s->slots[at] = (slot){id, s->ids};
    if ((s->ids & (s->ids - 1)) == 0)  /* as many again as there are */
        s->tops = realloc(s->tops, (size_t)((2 * s->ids + 1) * LENGTH) * sizeof *s->tops);
    for (int64_t n = 0; n < LENGTH; n++) s->tops[s->ids * LENGTH + n] = NONE;
    if (2 * s->ids > s->slot_mask) {
        const int64_t size = 2 * (s->slot_mask + 1);
        slot *larger = make_slots(size);
        for (int64_t n = 0; n <= s->slot_mask; n++)
            if (s->slots[n].number >= 0)
                larger[place_of(larger, size - 1, s->slots[n].id)] = s->slots[n];
        free(s->slots);
        s->slots = larger;
        s->slot_mask = size - 1;
    }
    return s->ids++;
}

static inline int64_t number_of(state *s, int64_t id) {
    const int64_t at = place_of(s->slots, s->slot_mask, id);
    const int64_t number = s->slots[at].number;
    return number >= 0 ? number : add_id(s, at, id);
}
#else
static inline int64_t number_of(state *s, int64_t id) { (void)s; return id; }
#endif

state *make_state(int64_t ids, int64_t window) {
    state *s = calloc(1, sizeof *s);
    int64_t size = 1;
    while (size < 2 * window + 2) size *= 2;
    s->window = window;
    s->mask = size - 1;
    s->ring = calloc((size_t)size, sizeof *s->ring);
#ifdef ANY_ID
    ids = 0;
    s->slot_mask = 63;
    s->slots = make_slots(64);
#endif
    s->tops = malloc((size_t)(ids * LENGTH) * sizeof *s->tops);
    for (int64_t n = 0; n < ids * LENGTH; n++) s->tops[n] = NONE;
    return s;
}

void free_state(state *s) {
    free(s->slots);
    free(s->ring);
    free(s->tops);
    free(s);
}

int64_t matches_of(const state *s) { return s->matches; }

/* The search is a loop for each component but the last, which LENGTH puts into one another. */
#define EVENT(C) ring[x##C & mask].event
#define BELOW(C, TOP)                                                                            \
    for (int64_t x##C = (TOP);                                                                   \
         x##C >= 0 && s->pushed - x##C <= mask && i - EVENT(C) < window;                         \
         x##C = ring[x##C & mask].previous)
#define AFTER(C) ring[x##C & mask].rip
#define PUT(C) ids[used++] = EVENT(C) << 5 | C
#if LENGTH == 2
#define SEARCH BELOW(0, rip)
#define MATCH PUT(0);
#elif LENGTH == 3
#define SEARCH BELOW(1, rip) BELOW(0, AFTER(1))
#define MATCH PUT(0); PUT(1);
#elif LENGTH == 4
#define SEARCH BELOW(2, rip) BELOW(1, AFTER(2)) BELOW(0, AFTER(1))
#define MATCH PUT(0); PUT(1); PUT(2);
#elif LENGTH == 5
#define SEARCH BELOW(3, rip) BELOW(2, AFTER(3)) BELOW(1, AFTER(2)) BELOW(0, AFTER(1))
#define MATCH PUT(0); PUT(1); PUT(2); PUT(3);
#else
#define SEARCH                                                                                   \
    BELOW(4, rip) BELOW(3, AFTER(4)) BELOW(2, AFTER(3)) BELOW(1, AFTER(2)) BELOW(0, AFTER(1))
#define MATCH PUT(0); PUT(1); PUT(2); PUT(3); PUT(4);
#endif

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
        const int64_t number = number_of(s, id[i]);
        int64_t *tops = s->tops + number * LENGTH;
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
        SEARCH {
            if (used + LENGTH > id_room) {
                status = FULL;
                goto full;
            }
            MATCH
            ids[used++] = i << 5 | (LENGTH - 1);
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

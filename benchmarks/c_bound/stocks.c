/* The queries of [Agrawal08 §6] by hand:

     SEQ(stock+ a[], stock b), [symbol], a[1].price % 500 = 0, P, b.volume < 150
     within a window that counts the events of a symbol

   Every live run reads every event of its symbol. A run keeps its latest event as a node that
   points to the one before; runs are in an array per symbol, oldest first. Nodes are in a ring.
   The predicate P, contiguity, and whether matches are written are constants of each entry
   point, so that the compiler makes a loop of its own for each. */

#include <stdint.h>
#include <stdlib.h>

enum { P1, P2, P3 };                       /* P: none, price rises, price above the minimum */
enum { DONE, FULL, RING_TOO_SMALL };       /* why a call returns */
enum { RING = 1 << 20 };                   /* nodes that are kept; a power of two */

typedef struct { int64_t event, previous; } node;
typedef struct { int64_t start, head, root, length, price; } run;
typedef struct { int64_t live, seen; run *runs; } symbol_state;

typedef struct {
    int64_t window, symbols, nodes, matches, events_in_matches;
    node *ring;
    symbol_state *of_symbol;
} state;

state *make_state(int64_t symbols, int64_t window) {
    state *s = calloc(1, sizeof *s);
    s->window = window;
    s->symbols = symbols;
    s->ring = calloc(RING, sizeof *s->ring);
    s->of_symbol = calloc((size_t)symbols, sizeof *s->of_symbol);
    for (int64_t n = 0; n < symbols; n++)
        s->of_symbol[n].runs = calloc((size_t)window + 1, sizeof(run));
    return s;
}

void free_state(state *s) {
    for (int64_t n = 0; n < s->symbols; n++) free(s->of_symbol[n].runs);
    free(s->of_symbol);
    free(s->ring);
    free(s);
}

int64_t matches_of(const state *s) { return s->matches; }

static inline void select_event(state *s, run *r, int64_t event) {
    s->ring[s->nodes & (RING - 1)] = (node){event, r->head};
    r->head = s->nodes++;
    r->length++;
}

/* Reads events from *at on; ids has room for id_room events and offsets for match_room + 1.
   written[0] and written[1] count what is in them. */
static inline __attribute__((always_inline)) int64_t read_events(
    const int predicate, const int contiguous, const int writes, state *restrict s,
    const int64_t *restrict symbol, const int64_t *restrict price, const int64_t *restrict volume,
    int64_t count, int64_t *restrict at, int64_t *restrict ids, int64_t id_room,
    int64_t *restrict offsets, int64_t match_room, int64_t *restrict written) {
    const int64_t window = s->window;
    int64_t used = writes ? written[0] : 0, matches = writes ? written[1] : 0, status = DONE, i;
    for (i = *at; i < count; i++) {
        symbol_state *here = &s->of_symbol[symbol[i] - 1];
        const int64_t now = here->seen, x = price[i];
        const int completes = volume[i] < 150;
        if (writes && (used + here->live * (window + 1) > id_room ||
                       matches + here->live > match_room)) {
            status = FULL;
            break;
        }
        here->seen++;
        int64_t kept = 0;
        for (int64_t n = 0; n < here->live; n++) {
            run *r = &here->runs[n];
            if (now - r->start >= window) continue;
            if (s->nodes - r->root > RING) return RING_TOO_SMALL;
            if (completes) {
                s->matches++;
                s->events_in_matches += r->length + 1;
                if (writes) {
                    int64_t place = used + r->length;
                    ids[place] = i;
                    for (int64_t k = r->head; k >= 0;) {
                        const node *selected = &s->ring[k & (RING - 1)];
                        ids[--place] = selected->event;
                        k = selected->previous;
                    }
                    used += r->length + 1;
                    offsets[++matches] = used;
                }
            }
            const int takes = predicate == P1 || x > r->price;
            if (takes) {
                select_event(s, r, i);
                if (predicate == P2) r->price = x;
            }
            if (takes || !contiguous) {
                if (kept != n) here->runs[kept] = *r;
                kept++;
            }
        }
        here->live = kept;
        if (x % 500 == 0) {
            run *r = &here->runs[here->live++];
            *r = (run){.start = now, .head = -1, .root = s->nodes, .price = x};
            select_event(s, r, i);
        }
    }
    *at = i;
    if (writes) {
        written[0] = used;
        written[1] = matches;
    }
    return status;
}

/* P3: what a run takes is above its minimum, which therefore stays the first price. */

#define QUERY(NAME, PREDICATE, CONTIGUOUS)                                                       \
    int64_t enumerate_##NAME(state *s, const int64_t *symbol, const int64_t *price,              \
                             const int64_t *volume, int64_t count, int64_t *at, int64_t *ids,    \
                             int64_t id_room, int64_t *offsets, int64_t match_room,              \
                             int64_t *written) {                                                 \
        return read_events(PREDICATE, CONTIGUOUS, 1, s, symbol, price, volume, count, at, ids,   \
                           id_room, offsets, match_room, written);                               \
    }                                                                                            \
    int64_t count_##NAME(state *s, const int64_t *symbol, const int64_t *price,                  \
                         const int64_t *volume, int64_t count, int64_t *at, int64_t *ids,        \
                         int64_t id_room, int64_t *offsets, int64_t match_room,                  \
                         int64_t *written) {                                                     \
        return read_events(PREDICATE, CONTIGUOUS, 0, s, symbol, price, volume, count, at, ids,   \
                           id_room, offsets, match_room, written);                               \
    }

QUERY(p1s2, P1, 1)
QUERY(p1s3, P1, 0)
QUERY(p2s2, P2, 1)
QUERY(p2s3, P2, 0)
QUERY(p3s2, P3, 1)
QUERY(p3s3, P3, 0)

/* Sparring and MultiSBM with UCB(alpha), six arms, tuned by hand: the yardstick of bench/run.py.
   Tables replace the logarithm, the square roots and the divisions; the generator is xoshiro256**. */
#include <math.h>
#include <stdint.h>
#define K 6

typedef struct { double mean[K], narrow[K], total[K]; int pulls[K]; } Machine;

static inline uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline double uniform(uint64_t *s) {
    uint64_t r = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotl(s[3], 45);
    return (r >> 11) * 0x1p-53;
}

static void reset(Machine *m) {
    for (int x = 0; x < K; x++) {
        m->mean[x] = INFINITY;
        m->narrow[x] = m->total[x] = 0;
        m->pulls[x] = 0;
    }
}

static inline int advance(const Machine *m, double width) {
    int arm = 0;
    double best = m->mean[0] + width * m->narrow[0];
    for (int x = 1; x < K; x++) {
        double index = m->mean[x] + width * m->narrow[x];
        if (index > best) { best = index; arm = x; }
    }
    return arm;
}

static inline void feedback(Machine *m, int x, int u, const double *inverse, const double *root) {
    int n = ++m->pulls[x];
    m->total[x] += u;
    m->mean[x] = m->total[x] * inverse[n];
    m->narrow[x] = root[n];
}

double sparring(const double *P, const double *gap, int64_t T, uint64_t *s,
                const double *width, const double *inverse, const double *root) {
    Machine L, R;
    double regret = 0;
    reset(&L);
    reset(&R);
    for (int64_t t = 1; t <= T; t++) {
        int x = advance(&L, width[t]), y = advance(&R, width[t]);
        int b = uniform(s) < P[x * K + y];
        regret += gap[x * K + y];
        feedback(&L, x, 1 - b, inverse, root);
        feedback(&R, y, b, inverse, root);
    }
    return regret;
}

double multisbm(const double *P, const double *gap, int64_t T, uint64_t *s,
                const double *width, const double *inverse, const double *root) {
    Machine S[K];
    int64_t clock[K];
    double regret = 0;
    int y = 0;
    for (int x = 0; x < K; x++) { reset(&S[x]); clock[x] = 1; }
    for (int64_t t = 1; t <= T; t++) {
        int x = y;
        y = advance(&S[x], width[clock[x]++]);
        int b = uniform(s) < P[x * K + y];
        regret += gap[x * K + y];
        feedback(&S[x], y, b, inverse, root);
    }
    return regret;
}

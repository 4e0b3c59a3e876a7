/* Textbook loops in C: UCB1, and Thompson sampling with every Beta drawn from two gammas.
   usage: loops ucb1|thompson STEPS  ->  prints seconds and the plays of each arm */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ARMS 4
static const double mean[ARMS] = {0.6, 0.4, 0.3, 0.2};
static double sum[ARMS];
static long plays[ARMS];

/* xoshiro256++ */
static uint64_t s[4] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 1};
static inline uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
static inline double uniform(void) {
    uint64_t result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotate(s[3], 45);
    return (result >> 11) * 0x1.0p-53;
}

/* Marsaglia's polar method, both values used */
static double normal(void) {
    static int have = 0;
    static double spare;
    if (have) { have = 0; return spare; }
    double u, v, q;
    do { u = 2 * uniform() - 1; v = 2 * uniform() - 1; q = u * u + v * v; } while (q >= 1 || q == 0);
    q = sqrt(-2 * log(q) / q);
    spare = v * q; have = 1;
    return u * q;
}

/* Marsaglia and Tsang (2000), for shapes of at least 1 */
static double gamma_draw(double shape) {
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x, v;
        do { x = normal(); v = 1 + c * x; } while (v <= 0);
        v = v * v * v;
        double u = uniform();
        if (u < 1 - 0.0331 * x * x * x * x) return d * v;
        if (log(u) < 0.5 * x * x + d * (1 - v + log(v))) return d * v;
    }
}

static int ucb1(long t) {
    if (t < ARMS) return (int)t;
    int best = 0;
    double best_index = -1, twice_log = 2 * log((double)t);
    for (int i = 0; i < ARMS; i++) {
        double index = sum[i] / plays[i] + sqrt(twice_log / plays[i]);
        if (index > best_index) { best_index = index; best = i; }
    }
    return best;
}

static int thompson(long t) {
    (void)t;
    int best = 0;
    double best_mean = -1;
    for (int i = 0; i < ARMS; i++) {
        double a = gamma_draw(1 + sum[i]), b = gamma_draw(1 + plays[i] - sum[i]);
        if (a / (a + b) > best_mean) { best_mean = a / (a + b); best = i; }
    }
    return best;
}

#define LOOP(rule)                                                 \
    for (long t = 0; t < steps; t++) {                             \
        int arm = rule(t);                                         \
        sum[arm] += uniform() < mean[arm];                         \
        plays[arm]++;                                              \
    }

int main(int count, char **words) {
    if (count != 3) return 2;
    long steps = atol(words[2]);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (!strcmp(words[1], "ucb1")) { LOOP(ucb1) } else { LOOP(thompson) }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.9f %ld %ld %ld %ld\n", end.tv_sec - start.tv_sec + 1e-9 * (end.tv_nsec - start.tv_nsec),
           plays[0], plays[1], plays[2], plays[3]);
    return 0;
}

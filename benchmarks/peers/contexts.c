/* Optimism over the likelihood set in contexts, as one would write it down.
   Every step: the log-likelihood of each model, from the counts of all pairs ("counts") or from what
   it was before the last reward ("kept"), then the rule.
   usage: contexts counts|kept CONTEXTS ARMS MODELS STEPS < means, model by model
   ->  seconds and regret */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* xoshiro256++ */
static uint64_t s[4] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 1};
static inline uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
static inline double uniform(void) {
    uint64_t result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotate(s[3], 45);
    return (result >> 11) * 0x1.0p-53;
}

int main(int count, char **words) {
    if (count != 6) return 2;
    int kept = words[1][0] == 'k';
    int contexts = atoi(words[2]), arms = atoi(words[3]), models = atoi(words[4]);
    long steps = atol(words[5]);
    int pairs = contexts * arms;
    double *mean = malloc(sizeof(double) * models * pairs), *fit = calloc(models, sizeof(double));
    double *win = malloc(sizeof(double) * models * pairs), *loss = malloc(sizeof(double) * models * pairs);
    double *sum = calloc(pairs, sizeof(double)), *plays = calloc(pairs, sizeof(double));
    double *mass = malloc(sizeof(double) * arms), regret = 0;
    for (int i = 0; i < models * pairs; i++) {
        if (scanf("%lf", mean + i) != 1) return 2;
        win[i] = log(mean[i]); loss[i] = log(1 - mean[i]);
    }
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long t = 0; t < steps; t++) {
        int context = (int)(uniform() * contexts);
        double most = -INFINITY, top = -INFINITY;
        for (int m = 0; m < models; m++) {
            double total = kept ? fit[m] : 0;
            for (int p = 0; p < pairs && !kept; p++)
                total += sum[p] * win[m * pairs + p] + (plays[p] - sum[p]) * loss[m * pairs + p];
            fit[m] = total;
            if (total > most) most = total;
        }
        double limit = most - 1.1 * log(t > 1 ? t : 1) - 0.7;
        for (int m = 0; m < models; m++)
            for (int a = 0; a < arms && fit[m] >= limit; a++)
                if (mean[m * pairs + context * arms + a] > top) top = mean[m * pairs + context * arms + a];
        int best = 0;
        for (int a = 0; a < arms; a++) mass[a] = 0;
        for (int m = 0; m < models; m++)
            for (int a = 0; a < arms && fit[m] >= limit; a++)
                if (mean[m * pairs + context * arms + a] >= top) mass[a] += exp(fit[m] - most);
        for (int a = 1; a < arms; a++) if (mass[a] > mass[best]) best = a;
        int pair = context * arms + best;
        int won = uniform() < mean[pair];
        sum[pair] += won;
        plays[pair]++;
        for (int m = 0; m < models && kept; m++) fit[m] += (won ? win : loss)[m * pairs + pair];
        double highest = 0;
        for (int a = 0; a < arms; a++) if (mean[context * arms + a] > highest) highest = mean[context * arms + a];
        regret += highest - mean[pair];
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.9f %.6f\n", end.tv_sec - start.tv_sec + 1e-9 * (end.tv_nsec - start.tv_nsec), regret);
    return 0;
}

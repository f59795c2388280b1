/* st_hash.c: the 128-bit content hash of FORMATS.md. It tells files apart and finds damage; it does not withstand
 * someone who builds collisions on purpose. */
#include "base/st_impl.h"

#include <stdio.h>
#include <string.h>

enum { LANES = 4, STRIPE = LANES * 8 };
#define K0 0x9e3779b97f4a7c15u /* fraction of the golden ratio */
#define K1 0xbb67ae8584caa73bu /* fraction of √3, as used by SHA-512 */
#define K2 0x3c6ef372fe94f82bu /* fraction of √5 */

static uint64_t rotate(uint64_t x, int by) {
  return x << by | x >> (64 - by);
}

/* Each word enters its own lane multiplied and rotated, and the next lane as it is: a change must cancel in both. For
 * given words the step is a bijection of the lanes. */
static void stripes(uint64_t lane[LANES], const unsigned char *from, size_t count) {
  uint64_t a = lane[0], b = lane[1], c = lane[2], d = lane[3], w[LANES]; /* by name: they stay in registers */
  for (; count; count--, from += STRIPE) {
    memcpy(w, from, sizeof w);
    a = (rotate(a + w[0] * K1, 31) * K2) ^ w[3];
    b = (rotate(b + w[1] * K1, 31) * K2) ^ w[0];
    c = (rotate(c + w[2] * K1, 31) * K2) ^ w[1];
    d = (rotate(d + w[3] * K1, 31) * K2) ^ w[2];
  }
  lane[0] = a, lane[1] = b, lane[2] = c, lane[3] = d;
}

/* A bijection of 64 bits in which every input bit moves every output bit (shifts and constants of splitmix64). */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

void st_hash_bytes(const void *bytes, size_t size, char hex[33]) {
  const unsigned char *at = bytes;
  uint64_t lane[LANES];
  for (int i = 0; i < LANES; i++) lane[i] = K0 * (uint64_t)(i + 1);
  size_t left = size % STRIPE;
  stripes(lane, at, size / STRIPE);
  if (left) {
    unsigned char tail[STRIPE] = {0};
    memcpy(tail, at + (size - left), left);
    stripes(lane, tail, 1);
  }
  lane[0] += size; /* zeros at the end count */
  for (int turn = 0; turn < 3; turn++)
    for (int i = 0; i < LANES; i++) lane[i] = mix(lane[i] + lane[(i + LANES - 1) % LANES]);
  snprintf(hex, 33, "%016llx%016llx", (unsigned long long)lane[2], (unsigned long long)lane[3]);
}

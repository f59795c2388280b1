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

void st_hasher_start(st_hasher *h) {
  *h = (st_hasher){0};
  for (int i = 0; i < LANES; i++) h->lane[i] = K0 * (uint64_t)(i + 1);
}

void st_hasher_add(st_hasher *h, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  size_t held = h->size % STRIPE;
  h->size += count;
  if (held) {
    size_t n = STRIPE - held < count ? STRIPE - held : count;
    memcpy(h->tail + held, at, n);
    if (held + n < STRIPE) return;
    stripes(h->lane, h->tail, 1);
    at += n, count -= n;
  }
  stripes(h->lane, at, count / STRIPE);
  if (count % STRIPE) memcpy(h->tail, at + (count - count % STRIPE), count % STRIPE);
}

void st_hasher_end(st_hasher *h, char hex[33]) {
  uint64_t *lane = h->lane;
  size_t left = h->size % STRIPE;
  if (left) {
    memset(h->tail + left, 0, STRIPE - left);
    stripes(lane, h->tail, 1);
  }
  lane[0] += h->size; /* zeros at the end count */
  for (int turn = 0; turn < 3; turn++)
    for (int i = 0; i < LANES; i++) lane[i] = mix(lane[i] + lane[(i + LANES - 1) % LANES]);
  snprintf(hex, 33, "%016llx%016llx", (unsigned long long)lane[2], (unsigned long long)lane[3]);
}

void st_hash_bytes(const void *bytes, size_t size, char hex[33]) {
  st_hasher h;
  st_hasher_start(&h);
  st_hasher_add(&h, bytes, size);
  st_hasher_end(&h, hex);
}

/* Where the digits of the seal are: in the header a quote is part of a name or a value only behind a backslash, so the key with
 * plain quotes round it is the key. */
const char *st_seal_at(const char *header, size_t size) {
  static const char key[] = "\"" ST_SEAL_KEY "\":\"";
  const char *found = memmem(header, size, key, sizeof key - 1);
  if (!found || (size_t)(header + size - found) < sizeof key - 1 + ST_SEAL_DIGITS) return NULL;
  return found + sizeof key - 1;
}

dkho_status st_check_seal(const st_file *f) {
  const char *told = st_meta(f, ST_SEAL_KEY), zeros[] = ST_SEAL_ZEROS;
  if (!told) return DKHO_OK;
  uint64_t header;
  memcpy(&header, f->bytes, sizeof header);
  const unsigned char *at = (const unsigned char *)st_seal_at((const char *)f->bytes + ST_PREFIX, (size_t)header);
  if (!at || strlen(told) != ST_SEAL_DIGITS) return fail(DKHO_E_FORMAT, "%s: not 32 hexadecimal digits", ST_SEAL_KEY);
  size_t before = (size_t)(at - f->bytes), after = before + ST_SEAL_DIGITS;
  char found[33];
  st_hasher h;
  st_hasher_start(&h);
  st_hasher_add(&h, f->bytes, before);
  st_hasher_add(&h, zeros, ST_SEAL_DIGITS);
  st_hasher_add(&h, f->bytes + after, f->size - after);
  st_hasher_end(&h, found);
  if (strcmp(found, told) == 0) return DKHO_OK;
  return fail(DKHO_E_FORMAT, "%s: the contents have %s, expected %.40s: the file is damaged, or was changed by hand",
              ST_SEAL_KEY, found, told);
}

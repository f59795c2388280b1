/* The tests of descriptors once more, in double. */
#include "../test_features.c"

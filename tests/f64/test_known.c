/* The same in double, with gradients against differences. */
#include "../test_known.c"

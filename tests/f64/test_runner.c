/* The same comparison in double, where rounding hides nothing. */
#include "../test_runner.c"

/* Tests of what figures are made of: the cut of a solid, samples, colours, scales, ticks, texts. */
#include "scratch.h"
#include "shapes.h"

#include "report/scene.h"

static void assert_near(double a, double b, double tolerance) {
  if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g", a, b);
}

static int hollow(int x, int y, int z) {
  return x != 1 || y != 1 || z != 1;
}
static int solid(int x, int y, int z) {
  (void)x, (void)y, (void)z;
  return 1;
}

/* The cut through the centre of a block takes half of its surfaces; the section is as long as the plane's way through the square,
 * which meets two opposite sides. Through vertices (side 2) and between them (side 3). */
static void area_of_parts(const surface *s, double area[3]) {
  memset(area, 0, 3 * sizeof *area);
  for (int64_t i = 0; i < s->patches; i++) {
    const patch *p = &s->patch[i];
    double a[3], b[3], n2 = 0;
    for (int k = 0; k < 3; k++) a[k] = p->p[1][k] - p->p[0][k], b[k] = p->p[2][k] - p->p[0][k];
    for (int k = 0; k < 3; k++) n2 += pow(a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3], 2);
    area[p->part] += sqrt(n2) / 2;
  }
}

static void test_cut(void **state) {
  (void)state;
  static const double expected[3][3] = {{12, 0, 4 / 0.96}, {27, 0, 9 / 0.96}, {27, 3, 8 / 0.96}};
  for (int which = 0; which < 3; which++) {
    int side = which == 0 ? 2 : 3;
    cx *c = shape_cubes(side, side, side, which == 2 ? hollow : solid, 0);
    double centre[3] = {side / 2.0, side / 2.0, side / 2.0}, area[3];
    surface s;
    assert_int_equal(surface_open(&s, c, centre), DKHO_OK);
    area_of_parts(&s, area);
    for (int p = 0; p < 3; p++) assert_near(area[p], expected[which][p], 1e-9);
    for (int64_t i = 0; i < s.patches; i++) /* weights give the positions back, and nothing stands in the cut */
      for (int j = 0; j < 3; j++) {
        const patch *p = &s.patch[i];
        assert_true(surface_gone(&s, p->p[j]) < 1e-9);
        for (int k = 0; k < 3; k++) {
          double x = 0;
          for (int m = 0; m <= p->degree; m++)
            x += p->w[j][m] * c->x[3 * c->vert[p->degree][p->simplex * (p->degree + 1) + m] + k];
          assert_near(x, p->p[j][k], 1e-9);
        }
      }
    double rim = 0;
    for (int64_t i = 0; i < s.strokes; i++) {
      const stroke *k = &s.stroke[i];
      for (int j = 0; j < 2; j++) assert_true(surface_gone(&s, k->p[j]) < 1e-9);
      if (k->rim) rim += hypot(hypot(k->p[1][0] - k->p[0][0], k->p[1][1] - k->p[0][1]), k->p[1][2] - k->p[0][2]);
    }
    assert_near(rim, (2 + 2 / 0.96) * (side + (which == 2)), 1e-9);
    surface_close(&s);
    cx_free(c);
  }
}

/* The colour of a sample in the middle of the panel. */
static uint32_t middle(const scene *sc, double x, double y) {
  return sc->r.pixel[(size_t)(y * sc->r.h) * (size_t)sc->r.w + (size_t)(x * sc->r.w)];
}

static void assert_colour(uint32_t pixel, rgb c) {
  assert_true(fabs((pixel >> 16 & 255) - 255 * c.r) < 1.6);
  assert_true(fabs((pixel >> 8 & 255) - 255 * c.g) < 1.6);
  assert_true(fabs((pixel & 255) - 255 * c.b) < 1.6);
}

/* On the plane a linear vertex field is coloured exactly; faces have their own value; holes stay white; values that are
 * not finite are grey. On a sphere a triangle in front hides those behind. */
static void test_scene_colours(void **state) {
  (void)state;
  char dir[64], path[128];
  scratch_make(dir);
  canvas page = {0};
  assert_int_equal(canvas_open(&page, scratch_path(path, dir, "a.png"), 0, 200, 200), DKHO_OK);
  cx *c = shape_planar(3, 3, 1, (const int[1][2]){{1, 1}}, 0.0);
  double v[64];
  colour_scale map;
  colour_scale_set(&map, COLOUR_SEQUENTIAL, (scale){0, 3, 0});
  for (int64_t i = 0; i < c->n[0]; i++) v[i] = c->x[2 * i];
  scene sc;
  assert_int_equal(scene_open(&sc, &page, c, 100, 100), DKHO_OK);
  scene_field(&sc, &(mesh_field){"x", 0, 1, v}, &map);
  double margin = 4.0 / 100; /* of the panel */
  for (int i = 0; i < 8; i++) {
    double at = (i + 0.5) / 8, x = (at - margin) / (1 - 2 * margin) * 3;
    assert_colour(middle(&sc, at, 0.2), colour_of(&map, x));
  }
  assert_int_equal(middle(&sc, 0.5, 0.5), 0xffffff);
  for (int64_t i = 0; i < c->n[2]; i++) v[i] = i == 0 ? NAN : (double)(i % 3);
  scene_field(&sc, &(mesh_field){"f", 2, 1, v}, &map);
  double centroid[128];
  cx_centroids(c, 2, centroid);
  for (int64_t i = 0; i < c->n[2]; i++) {
    double x = margin + centroid[2 * i] / 3 * (1 - 2 * margin),
           y = 1 - margin - centroid[2 * i + 1] / 3 * (1 - 2 * margin);
    assert_colour(middle(&sc, x, y), i == 0 ? COLOUR_MISSING : colour_of(&map, v[i]));
  }
  scene_close(&sc);
  cx_free(c);

  c = shape_torus(24, 16); /* in the middle of the picture is the hole; below it the near side */
  assert_int_equal(scene_open(&sc, &page, c, 100, 100), DKHO_OK);
  scene_plain(&sc, (rgb[3]){{0, 0, 1}, {0, 1, 0}, {1, 0, 0}});
  assert_int_equal(middle(&sc, 0.5, 0.5), 0xffffff);
  uint32_t near = middle(&sc, 0.5, 0.6);
  assert_int_equal(near >> 8, 0); /* only blue, more or less lit */
  assert_in_range(near & 255, 100, 255);
  scene_close(&sc);
  cx_free(c);
  canvas_abort(&page);
  assert_int_equal(scratch_count(dir), 0);
  scratch_remove(dir);
}

/* Later paint at equal depth wins, nearer paint wins whatever the order; two triangles of translucent paint show no
 * edge between them. */
static void test_raster(void **state) {
  (void)state;
  raster r;
  assert_int_equal(raster_open(&r, 20, 20, 3), DKHO_OK);
  corner a = {0, 0, 0, 1}, b = {60, 0, 0, 1}, c = {60, 60, 0, 1}, d = {0, 60, 0, 1};
  const paint blue = {.colour = {0, 0, 1}, .alpha = 1}, red = {.colour = {1, 0, 0}, .alpha = 1};
  const paint veil = {.colour = {0, 0, 0}, .alpha = 0.5};
  raster_triangle(&r, (corner[3]){a, b, c}, NULL, &blue);
  raster_triangle(&r, (corner[3]){a, c, d}, NULL, &blue);
  raster_triangle(&r, (corner[3]){a, c, b}, NULL, &veil);
  raster_triangle(&r, (corner[3]){a, c, d}, NULL, &veil);
  for (int i = 0; i < 60 * 60; i++) assert_int_equal(r.pixel[i], 0x000080);
  a.z = b.z = c.z = -1;
  raster_triangle(&r, (corner[3]){a, b, c}, NULL, &red);
  assert_int_equal(r.pixel[60 * 10 + 30], 0x000080);
  raster_line(&r, (corner[2]){{NAN, 0, 0, 1}, {1, 1, 0, 1}}, 3, NULL, &red);
  raster_line(&r, (corner[2]){{-1e9, 30.5, 0, 1}, {1e9, 30.5, 0, 1}}, 2.5, NULL, &red);
  for (int x = 0; x < 60; x++) assert_int_equal(r.pixel[60 * 30 + x], 0xff0000);
  assert_int_equal(r.pixel[60 * 33], 0x000080);
  raster_disc(&r, (corner){10, 10, 1, 1}, 5, 3, 0, 0, &red);
  assert_int_equal(r.pixel[60 * 10 + 10], 0x000080);
  assert_int_equal(r.pixel[60 * 10 + 14], 0xff0000);
  raster_resolve(&r);
  assert_int_equal(r.w, 20);
  assert_int_equal(r.pixel[20 * 15 + 15], 0x000080);
  raster_close(&r);
}

/* Lightness rises or falls evenly, steps are even to a factor, the two arms of the diverging map weigh the same. */
static void test_colour_maps(void **state) {
  (void)state;
  for (colour_map map = COLOUR_SEQUENTIAL; map <= COLOUR_PALE; map++) {
    double before[3], lab[3], least = 1, most = 0, first = 0;
    enum { N = 64 };
    for (int i = 0; i <= N; i++) {
      rgb c = colour_at(map, (double)i / N);
      assert_true(c.r >= 0 && c.r <= 1 && c.g >= 0 && c.g <= 1 && c.b >= 0 && c.b <= 1);
      rgb_oklab(c, lab);
      if (i > 0) {
        double step = hypot(hypot(lab[0] - before[0], lab[1] - before[1]), lab[2] - before[2]);
        double rise = lab[0] - before[0];
        if (i == 1) first = rise;
        if (map != COLOUR_DIVERGING) assert_near(rise, first, 1e-3);
        least = fmin(least, step);
        most = fmax(most, step);
      }
      memcpy(before, lab, sizeof lab);
    }
    assert_true(most < 2.2 * least);
  }
  for (int i = 0; i <= 32; i++) {
    double low[3], high[3];
    rgb_oklab(colour_at(COLOUR_DIVERGING, 0.5 - i / 64.0), low);
    rgb_oklab(colour_at(COLOUR_DIVERGING, 0.5 + i / 64.0), high);
    assert_near(low[0], high[0], 1e-3);
  }
  rgb c = rgb_mix(rgb_hex(0x336699), rgb_hex(0xffffff), 0);
  assert_near(c.g, 0x66 / 255.0, 1e-6);
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < i; j++) {
      double a[3], b[3];
      rgb_oklab(colour_category(i), a);
      rgb_oklab(colour_category(j), b);
      assert_true(hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]) > 0.09);
    }
}

static void test_ticks(void **state) {
  (void)state;
  static const double odd[][2] = {{0, 1}, {-3, 7}, {0, 1e-7}, {1e6, 1.2e6}, {-1e290, 1e290}, {99.9, 100.1}};
  ticks t;
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
    for (int wanted = 2; wanted < 9; wanted++) {
      scale s = {odd[i][0], odd[i][1], 0};
      ticks_make(&t, &s, wanted);
      assert_in_range(t.count, 1, wanted + 1);
      for (int k = 0; k < t.count; k++) {
        assert_true(scale_unit(&s, t.at[k].value) > -1e-6 && scale_unit(&s, t.at[k].value) < 1 + 1e-6);
        for (int m = 0; m < k; m++) assert_string_not_equal(t.at[k].label, t.at[m].label);
      }
    }
  ticks_make(&t, &(scale){-2e-5, 2e-5, 0}, 4);
  assert_string_equal(t.factor, "×10⁻⁵");
  assert_string_equal(t.at[0].label, "−2");
  ticks_make(&t, &(scale){1e-3, 1, 1}, 5);
  int labelled = 0;
  for (int k = 0; k < t.count; k++) labelled += !t.at[k].minor;
  assert_int_equal(labelled, 4);
  assert_string_equal(t.at[0].label, "10⁻³");
  for (double lo = 0.13; lo < 0.9; lo *= 1.3) /* between 1 and 2 digits of a logarithmic scale there are numbers too */
    for (double hi = 1.3 * lo; hi < 8 * lo; hi *= 1.4) {
      ticks_make(&t, &(scale){lo, hi, 1}, 5);
      labelled = 0;
      for (int k = 0; k < t.count; k++) labelled += !t.at[k].minor;
      assert_in_range(labelled, 2, 9);
    }
  ticks_make(&t, &(scale){1e-200, 1e200, 1}, 5);
  assert_in_range(t.count, 3, 8);
  char text[32];
  count_text(text, 1234567);
  assert_string_equal(text, "1,234,567");
  number_text(text, 0.0179);
  assert_string_equal(text, "0.0179");
  number_text(text, -1.234e-5);
  assert_string_equal(text, "−1.2×10⁻⁵");
  number_text(text, NAN);
  assert_string_equal(text, "–");
}

static void test_scales(void **state) {
  (void)state;
  range r = {0};
  scale s = scale_linear(&r);
  assert_true(s.lo < s.hi);
  s = scale_log(&r, 3);
  assert_true(s.lo > 0 && s.lo < s.hi);
  range_add(&r, 4, (double[]){NAN, INFINITY, 5, -INFINITY});
  assert_int_equal(r.count, 1);
  s = scale_linear(&r);
  assert_true(s.lo < 5 && s.hi > 5);
  range_add(&r, 2, (double[]){-1, 1e-9});
  s = scale_log(&r, 3);
  assert_near(s.lo, 5e-3, 1e-12);
  s = scale_about_zero(&r);
  assert_near(scale_unit(&s, 0), 0.5, 1e-12);
  range_add(&r, 2, (double[]){-1e308, 1e308});
  s = scale_linear(&r);
  assert_true(isfinite(s.hi - s.lo));
  double sorted[5];
  assert_int_equal(finite_sorted(5, (double[]){3, NAN, 1, 2, INFINITY}, sorted), 3);
  assert_near(quantile(3, sorted, 0.75), 2.5, 1e-12);
  assert_near(quantile(1, sorted, 0.95), 1, 1e-12);
}

/* A text that is too long stays inside its room. */
static void test_text_fits(void **state) {
  (void)state;
  char dir[64], path[128];
  canvas page = {0};
  scratch_make(dir);
  assert_int_equal(canvas_open(&page, scratch_path(path, dir, "a.png"), 0, 300, 40), DKHO_OK);
  text_style style = {12, 0, {0, 0, 0}};
  assert_true(text_width(&page, style, "wide") > text_width(&page, style, "wi"));
  text_fit(&page, 2, 25, 80, ALIGN_START, 0, style, "Überaus lange Überschrift, die nirgends hineinpasst");
  cairo_surface_flush(page.surface);
  const unsigned char *row = cairo_image_surface_get_data(page.surface);
  int stride = cairo_image_surface_get_stride(page.surface), dark = 0;
  for (int y = 0; y < 80; y++)
    for (int x = 0; x < 600; x++) {
      int ink = row[y * stride + 4 * x] < 250;
      dark += ink;
      if (x > 2 * (2 + 80 + 1)) assert_false(ink);
    }
  assert_true(dark > 100);
  canvas_abort(&page);
  canvas_abort(&page);
  assert_int_equal(scratch_count(dir), 0);
  scratch_remove(dir);
}

/* Fontconfig keeps what it found until the process ends; a leak checker is to look at ours. */
DKHO_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libfontconfig";
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cut),         cmocka_unit_test(test_scene_colours), cmocka_unit_test(test_raster),
      cmocka_unit_test(test_colour_maps), cmocka_unit_test(test_ticks),         cmocka_unit_test(test_scales),
      cmocka_unit_test(test_text_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

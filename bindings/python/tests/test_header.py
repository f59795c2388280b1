"""The header as the binding reads it."""
import ctypes as c

from dkho import _header, _library


def test_everything_is_read():
    assert len(_library.functions) > 60 and {"dkho_train", "dkho_view", "dkho_complex_build"} <= set(_library.functions)
    assert {"dkho_train_options", "dkho_field_info", "dkho_report", "dkho_view_options"} <= set(_library.structures)


def test_types():
    text = """
    typedef enum { A, B } kind;
    typedef struct s {
      const char *name, *role; /* names; with a semicolon */
      int degree, channels;
      const char *const *list;
      int64_t rows;
      int (*stop)(void *user);
      void (*log)(void *user, const char *line);
    } s;
    DKHO_API kind dkho_f(s **out, const double (*hole)[3], double x, int64_t b[4], const char *path);
    DKHO_API const double *dkho_g(const s *c,
                                  int k); /* NULL */
    DKHO_API void dkho_h(void);
    """
    structures, functions = _header.read_header(text)
    fields = dict(structures["s"]._fields_)
    assert [n for n, _ in structures["s"]._fields_] == ["name", "role", "degree", "channels", "list", "rows", "stop", "log"]
    assert fields["name"] is fields["role"] is c.c_char_p and fields["list"] is c.c_void_p and fields["rows"] is c.c_int64
    assert fields["stop"]._restype_ is c.c_int and fields["log"]._argtypes_ == (c.c_void_p, c.c_char_p)
    assert functions["dkho_f"] == (c.c_int, [c.c_void_p, c.c_void_p, c.c_double, c.c_void_p, c.c_char_p])
    assert functions["dkho_g"] == (c.c_void_p, [c.c_void_p, c.c_int])
    assert functions["dkho_h"] == (None, [])


def test_defaults_of_training():
    options = _library.structures["dkho_train_options"]()
    _library.lib.dkho_train_defaults(c.byref(options))
    assert options.seed == 42 and options.lr < 0 and options.modes == -1 and options.epochs == 0

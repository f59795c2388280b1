"""The structures and functions of dkho.h as ctypes: the header itself is read, so that nothing has to be kept in step with it."""
from __future__ import annotations

import ctypes as c
import re

_PLAIN = {"int": c.c_int, "int64_t": c.c_int64, "uint64_t": c.c_uint64, "int32_t": c.c_int32, "double": c.c_double,
          "float": c.c_float, "size_t": c.c_size_t, "void": None}


def _type(text: str, enums: set[str]):
    """The ctypes type of a declaration without its name. Constant text is c_char_p, every other pointer c_void_p."""
    words = [w for w in re.findall(r"\w+|\*", text) if w not in ("const", "struct")]
    if "*" in words:
        return c.c_char_p if words == ["char", "*"] and "const" in text else c.c_void_p
    if words and words[0] in enums:
        return c.c_int
    if len(words) != 1 or words[0] not in _PLAIN:
        raise ValueError(f"dkho.h: unknown type '{text}'")
    return _PLAIN[words[0]]


def _callback(result: str, arguments: str, enums: set[str]):
    return c.CFUNCTYPE(_type(result, enums), *[_type(_nameless(a), enums) for a in _split(arguments)])


def _nameless(text: str) -> str:
    """A parameter's type: without its name, with a star for an array."""
    if "(*" in text or "[" in text:
        return "void *"
    return re.sub(r"\w+\s*$", "", text) if re.search(r"[\w*]\s*[ *]\w+\s*$", text) else text


def _split(arguments: str) -> list[str]:
    return [] if arguments.strip() in ("void", "") else [a.strip() for a in arguments.split(",")]


def _members(body: str, enums: set[str]) -> list[tuple]:
    fields = []
    for line in filter(None, (part.strip() for part in body.split(";"))):
        function = re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", line, re.S)
        if function:
            fields.append((function[2], _callback(function[1], function[3], enums)))
            continue
        kind, first, others = re.fullmatch(r"((?:const\s+)?\w+)\s*(.*?)((?:,.*)?)", line, re.S).groups()
        for name in [first, *filter(None, (o.strip() for o in others.split(",")))]:
            stars, plain = re.fullmatch(r"((?:\*\s*(?:const\s*)?)*)(\w+)", name.strip()).groups()
            fields.append((plain, _type(kind + stars, enums)))
    return fields


def read_header(text: str) -> tuple[dict, dict]:
    """Structures by name, and functions by name as (result, [arguments])."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.M)
    enums = set(re.findall(r"typedef enum\s*\{[^}]*\}\s*(\w+);", text))
    structures = {name: type(name, (c.Structure,), {"_fields_": _members(body, enums)})
                  for body, name in re.findall(r"typedef struct \w+ \{([^}]*)\}\s*(\w+);", text)}
    functions = {}
    for result, name, arguments in re.findall(r"DKHO_API\s+([\w\s*]+?)(dkho_\w+)\(((?:[^()]|\([^()]*\))*)\);", text):
        functions[name] = (_type(result, enums), [_type(_nameless(a), enums) for a in _split(arguments)])
    return structures, functions

"""Query strings over the columns of a table, evaluated here: nothing in them is ever executed.

The text is parsed with ``ast`` and walked node by node. Only the operations below exist, so a
query can compare columns, but cannot call a function, reach an attribute or write a file.
"""

from __future__ import annotations

import ast
import difflib
import io
import keyword
import tokenize
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .errors import MissingColumnError

if TYPE_CHECKING:
    import pandas as pd

ALLOWED = (
    "comparisons (== != < <= > >=), 'in' and 'not in' with a list, and/or/not (& | ~), arithmetic "
    "(+ - * / // % **), column names (`in backticks` when they are no plain words), constants, "
    "and .isna() .notna() .isin([…]) .between(a, b) .str.contains('…') .str.startswith('…') "
    ".str.endswith('…') (plain text, no patterns)"
)
_MAX_LENGTH = 10_000


def safe_query(frame: pd.DataFrame, text: str, name: str) -> NDArray[np.bool_]:
    """Return the rows of ``frame`` for which the query holds.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table; its index can be named too.
    text : str
        The query.
    name : str
        The parameter's name for messages.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        Missing values compare as false.
    """
    if "@" in text or "__" in text:
        raise ValueError(
            f"{name}={text[:200]!r}: a query must not contain '@' or '__'; it can use {ALLOWED}"
        )
    if not text.strip():
        raise ValueError(f"{name}: the query is empty; it can use {ALLOWED}")
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"{name}: the query is longer than {_MAX_LENGTH} characters")
    if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text):
        raise ValueError(f"{name}: the query holds a null character or half of a character")
    evaluator = _Evaluator(frame, text, name)
    try:
        tree = ast.parse(evaluator.rewritten(), mode="eval")
        value = evaluator.visit(tree.body)
    except (SyntaxError, tokenize.TokenError) as err:
        hint = " (write == to compare)" if "=" in text and "==" not in text else ""
        raise ValueError(
            f"{name}={text[:200]!r} is not a valid query{hint}: {err.args[0]}"
        ) from None
    except (RecursionError, MemoryError):
        raise ValueError(f"{name}: the query is nested too deeply") from None
    return evaluator.as_mask(value)


class _Evaluator:
    def __init__(self, frame: pd.DataFrame, text: str, name: str) -> None:
        self.frame = frame
        self.text = text
        self.name = name
        self.quoted: dict[str, str] = {}

    def fail(self, reason: str) -> NoReturn:
        raise ValueError(f"{self.name}={self.text[:200]!r}: {reason}; a query can use {ALLOWED}")

    def rewritten(self) -> str:
        """Replace backticked names by plain ones and ``&``/``|`` by ``and``/``or``."""
        source = self._without_backticks()
        out: list[str] = []
        line = io.StringIO(source).readline
        for token in tokenize.generate_tokens(line):
            if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
                continue
            if token.type in (tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT):
                if token.type == tokenize.COMMENT:
                    self.fail("comments are not allowed")
                continue
            # & binds tighter than comparisons in Python; users of pandas expect it to mean 'and'
            word = {"&": "and", "|": "or", "~": "not"}.get(token.string, token.string)
            out.append(word if token.type == tokenize.OP else token.string)
        return " ".join(out)

    def _without_backticks(self) -> str:
        out: list[str] = []
        quote = ""
        i = 0
        text = self.text.strip()
        while i < len(text):
            char = text[i]
            if quote:
                if char == "\\":
                    out.append(text[i : i + 2])
                    i += 2
                    continue
                if char == quote:
                    quote = ""
            elif char in "'\"":
                quote = char
            elif char == "`":
                end = text.find("`", i + 1)
                if end < 0:
                    self.fail("a backtick is not closed")
                word = f"quoted_column_{len(self.quoted)}_"
                while word in text or word in self.frame.columns:
                    word += "x"
                self.quoted[word] = text[i + 1 : end]
                out.append(f" {word} ")
                i = end + 1
                continue
            out.append(" " if char in "\r\n" and not quote else char)
            i += 1
        return "".join(out)

    def visit(self, node: ast.AST) -> Any:
        handler = getattr(self, f"on_{type(node).__name__.lower()}", None)
        if handler is None:
            self.fail(f"{type(node).__name__} is not allowed")
        return handler(node)

    def on_constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, (bool, int, float, str)):
            return node.value
        return self.fail(f"the constant {node.value!r} is not allowed")

    def on_list(self, node: ast.List | ast.Tuple | ast.Set) -> list[Any]:
        values = [self.visit(e) for e in node.elts]
        if not all(v is None or isinstance(v, (bool, int, float, str)) for v in values):
            self.fail("a list may hold constants only")
        return values

    on_tuple = on_list
    on_set = on_list

    def on_name(self, node: ast.Name) -> Any:
        return self.column(self.quoted.get(node.id, node.id))

    def column(self, name: str) -> pd.Series[Any]:
        import pandas as pd

        frame = self.frame
        if name in frame.columns:
            return frame[name].reset_index(drop=True)
        if name == "index" or (name == frame.index.name and name is not None):
            return pd.Series(frame.index).reset_index(drop=True)
        names = [str(c) for c in frame.columns]
        near = difflib.get_close_matches(name, names, 1)
        raise MissingColumnError(
            f"{self.name}={self.text[:200]!r}: there is no column {name!r}"
            + (f", did you mean {near[0]!r}?" if near else ".")
            + f" The columns are: {', '.join(names)}"
            + ("" if not keyword.iskeyword(name) else " (a keyword must stand in `backticks`)")
        )

    def on_boolop(self, node: ast.BoolOp) -> Any:
        masks = [self.as_mask(self.visit(v)) for v in node.values]
        join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return join.reduce(masks)

    def on_unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ~self.as_mask(value)
        number = self.number(value)
        return -number if isinstance(node.op, ast.USub) else number

    def on_binop(self, node: ast.BinOp) -> Any:
        left, right = self.number(self.visit(node.left)), self.number(self.visit(node.right))
        operations: dict[type[ast.operator], Any] = {
            ast.Add: np.add,
            ast.Sub: np.subtract,
            ast.Mult: np.multiply,
            ast.Div: np.true_divide,
            ast.FloorDiv: np.floor_divide,
            ast.Mod: np.remainder,
            ast.Pow: np.power,
        }
        operation = operations.get(type(node.op))
        if operation is None:
            self.fail(f"the operator {type(node.op).__name__} is not allowed")
        with np.errstate(all="ignore"):
            return operation(left, right)

    def number(self, value: Any) -> Any:
        """Return a float or an array of float64: integers of any size cannot blow up."""
        import pandas as pd

        if isinstance(value, (bool, str, list)) or value is None:
            self.fail(f"arithmetic needs numbers, got {value!r}")
        try:
            if isinstance(value, pd.Series):
                if pd.api.types.is_bool_dtype(value.dtype):
                    value = value.astype(float)
                if not pd.api.types.is_numeric_dtype(value.dtype):
                    self.fail(f"arithmetic needs numbers, but {value.name!r} holds text")
                return value.to_numpy(dtype=np.float64, na_value=np.nan)
            return np.asarray(value, dtype=np.float64) if np.ndim(value) else float(value)
        except OverflowError:
            return self.fail("a number is too large")

    def on_compare(self, node: ast.Compare) -> Any:
        left = self.visit(node.left)
        masks = []
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.visit(right_node)
            masks.append(self.compare(operator, left, right))
            left = right
        return np.logical_and.reduce(masks)

    def compare(self, operator: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(left, list) and isinstance(operator, (ast.Eq, ast.NotEq)):
            left, right = right, left
        member = isinstance(operator, (ast.In, ast.NotIn))
        if isinstance(right, list) and (member or isinstance(operator, (ast.Eq, ast.NotEq))):
            values = self.series(left)
            try:
                mask = _plain(values.isin(right))
            except (TypeError, ValueError, OverflowError):
                self.fail("this list cannot be compared with that column")
            return ~mask if isinstance(operator, (ast.NotIn, ast.NotEq)) else mask
        if member or isinstance(left, list) or isinstance(right, list):
            self.fail("'in' needs a column on its left and a list of constants on its right")
        if np.ndim(left) == 0 and np.ndim(right) == 0:
            self.fail("a comparison must involve a column")
        operations: dict[type[ast.cmpop], str] = {
            ast.Eq: "eq",
            ast.NotEq: "ne",
            ast.Lt: "lt",
            ast.LtE: "le",
            ast.Gt: "gt",
            ast.GtE: "ge",
        }
        if type(operator) not in operations:
            self.fail("'is' is not allowed; use == or .isna()")
        if left is None or right is None:
            self.fail("None cannot be compared; use .isna() or .notna()")
        if np.ndim(left) == 0:
            mirrored = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
            verb = operations[type(operator)]
            left, right, verb = right, left, mirrored.get(verb, verb)
        else:
            verb = operations[type(operator)]
        values = self.series(left)
        try:
            answer = getattr(values, verb)(right)
        except (TypeError, ValueError, OverflowError):
            self.fail("text and numbers cannot be ordered against each other")
        return _plain(answer)

    def series(self, value: Any) -> pd.Series[Any]:
        import pandas as pd

        if isinstance(value, pd.Series):
            return value
        if isinstance(value, np.ndarray) and value.ndim == 1:
            return pd.Series(value)
        return self.fail("a comparison must involve a column")

    def on_call(self, node: ast.Call) -> Any:
        function = node.func
        if not isinstance(function, ast.Attribute):
            self.fail("calling a function is not allowed")
        verb = function.attr
        owner = function.value
        text = isinstance(owner, ast.Attribute) and owner.attr == "str"
        known = _TEXT_VERBS if text else _VERBS
        base = owner.value if text and isinstance(owner, ast.Attribute) else owner
        if verb not in known or not isinstance(base, ast.Name):
            self.fail(f".{verb}() is not allowed")
        values = self.column(self.quoted.get(base.id, base.id))
        arguments = [self.constant(a) for a in node.args]
        options: dict[str, Any] = {}
        for option in node.keywords:
            if option.arg not in known[verb]:
                self.fail(f".{verb}() takes no {option.arg!r} here")
            options[option.arg] = self.constant(option.value)
        return self.call(values, verb, arguments, options, text=text)

    def constant(self, node: ast.AST) -> Any:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.constant(node.operand)
            if isinstance(inner, (int, float)) and not isinstance(inner, bool):
                return -inner
        if isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.Set)):
            return self.visit(node)
        return self.fail("arguments must be constants")

    def call(
        self,
        values: pd.Series[Any],
        verb: str,
        arguments: list[Any],
        options: dict[str, Any],
        *,
        text: bool,
    ) -> NDArray[np.bool_]:
        if text and not any(isinstance(v, str) for v in values) and len(values):
            self.fail(f"{values.name!r} holds no text")
        if text:
            options.setdefault("na", False)
        if text and verb == "contains":
            # a regular expression can take years on one short text
            if options.get("regex", False) is not False:
                self.fail(
                    "regular expressions are not read here; give a mask or a function of the table"
                )
            options["regex"] = False
        elif text:
            arguments = [tuple(a) if isinstance(a, list) else a for a in arguments]
        try:
            answer = getattr(values.str if text else values, verb)(*arguments, **options)
        except (TypeError, ValueError, AttributeError) as err:
            self.fail(f".{verb}() does not work with these arguments ({err})")
        return _plain(answer)

    def as_mask(self, value: Any) -> NDArray[np.bool_]:
        import pandas as pd

        if isinstance(value, pd.Series):
            if pd.api.types.is_bool_dtype(value.dtype):
                return _plain(value)
            self.fail(f"{value.name!r} is not true or false by itself; write `{value.name} == 1`")
        if isinstance(value, np.ndarray) and value.dtype == bool and value.ndim == 1:
            return value
        return self.fail("the query must give true or false for each row")


def _plain(answer: pd.Series[Any]) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = answer.to_numpy(dtype=bool, na_value=False)
    return mask


_VERBS: dict[str, tuple[str, ...]] = {
    "isna": (),
    "isnull": (),
    "notna": (),
    "notnull": (),
    "isin": ("values",),
    "between": ("left", "right", "inclusive"),
}
_TEXT_VERBS: dict[str, tuple[str, ...]] = {
    "contains": ("pat", "case", "na", "regex"),
    "startswith": ("pat", "na"),
    "endswith": ("pat", "na"),
}

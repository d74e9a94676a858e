"""Evaluates expressions in all threads of a block at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.source.flow import memory
from grader.source.flow.intrinsics import Intrinsics
from grader.source.flow.machine import Box, Frame
from grader.source.flow.memory import MAX_CELLS, Region, Shadow
from grader.source.flow.trace import StopWalkError
from grader.source.flow.tree import (
    Assign,
    Binary,
    Call,
    Cast,
    Declare,
    Expr,
    Function,
    Items,
    Lambda,
    LaunchCall,
    Member,
    Name,
    Node,
    Number,
    Select,
    SizeOf,
    Stmt,
    Subscript,
    Text,
    Unary,
    Unclear,
    Update,
)
from grader.source.flow.values import (
    COMPARISONS,
    SIZES,
    VECTORS,
    Pointer,
    Value,
    binary,
    blend,
    merge,
    some,
    truth,
    type_letter,
    unknown,
)

CALL_DEPTH = 8
CELL = "cell"
"""Type of the variable of a shared scalar: every use is an access to shared memory."""
UNIFORM_NAMES = {"gridDim", "warpSize"}


class Machine(Intrinsics):
    """A block of threads that runs a kernel's text (or, with one thread, the host's)."""

    node_here: Node = None
    """The name that is being evaluated."""

    # --- declarations ------------------------------------------------------------------------

    def declare(self, stmt: Declare) -> None:
        """Declare a variable, an array or a shared array."""
        kind = self.type_name(stmt.type)
        if stmt.shared:
            self._declare_shared(stmt, kind)
        elif stmt.dims:
            self._declare_array(stmt, kind)
        elif stmt.reference and stmt.init is not None and isinstance(stmt.init, Name):
            box = self.find(stmt.init.id)
            if box is not None:
                self.frames[-1].scopes[-1][stmt.name] = box
                return
            self.define(stmt.name, self.eval(stmt.init))
        else:
            self._declare_plain(stmt, kind)

    def _declare_plain(self, stmt: Declare, kind: str) -> None:
        letter = "?" if stmt.pointer or kind == "auto" else type_letter(kind)
        special = self.construct(kind, stmt)
        value = special if special is not None else self._initial(stmt)
        if letter == "?" and kind == "auto" and value.pointer is None and value.thing is None:
            letter = value.type
        if letter == "i" and value.type in {"u", "i"}:
            self.check_fits(value, letter, stmt.node)
        box = Box(Value(None, letter, varies=False), letter)
        self.frames[-1].scopes[-1][stmt.name] = box
        saved, self.mask = self.mask, np.ones_like(self.mask)
        doubt, self.doubt = self.doubt, 0
        self.store(box, value)
        self.mask, self.doubt = saved, doubt
        if stmt.pointer and box.value.pointer is not None and stmt.type in SIZES:
            box.value.pointer.type = stmt.type

    def _initial(self, stmt: Declare) -> Value:
        if stmt.init is None:
            return Value(None, varies=False)
        if isinstance(stmt.init, Items) and not stmt.init.comma:
            parts = [self.eval(item) for item in stmt.init.items]
            return parts[0] if len(parts) == 1 else unknown(*parts)
        return self.eval(stmt.init)

    def _declare_array(self, stmt: Declare, kind: str) -> None:
        dims = self._dims(stmt)
        region = Region(stmt.name, "local", kind, dims or (), None, stmt.node)
        region.summary = Value(None, type_letter(kind), varies=False)
        if isinstance(stmt.init, Items):
            for index, item in enumerate(stmt.init.items):
                region.values[index] = self.eval(item)
        self.define(stmt.name, Value(None, varies=False, pointer=Pointer(region, type=kind)))

    def _dims(self, stmt: Declare) -> tuple[int, ...] | None:
        sizes = []
        for dim in stmt.dims:
            size = self.eval(dim).scalar if dim is not None else None
            if size is None:
                return None
            sizes.append(size)
        return tuple(sizes)

    def _declare_shared(self, stmt: Declare, kind: str) -> None:
        known = next(
            (
                r
                for r in self.walk.regions
                if r.node is not None and r.node.id == stmt.node.id and r.name == stmt.name
            ),
            None,
        )
        if known is None:
            known = self._new_shared(stmt, kind)
            self.walk.regions.append(known)
        scalar = not stmt.dims and not stmt.extern and not known.escaped
        value = Value(None, varies=False, pointer=Pointer(known, type=kind))
        self.define(stmt.name, value, CELL if scalar else "?")

    def _new_shared(self, stmt: Declare, kind: str) -> Region:
        dims = self._dims(stmt)
        size = SIZES.get(kind, 4)
        region = Region(stmt.name, "shared", kind, dims or (), None, stmt.node)
        if stmt.extern:
            region.dynamic = True
            total = self.walk.launch.shared
            region.cells = None if total is None else total // size
        elif dims is not None:
            region.cells = int(np.prod(dims, dtype=np.int64)) if dims else 1
        opaque = kind not in SIZES and kind not in self.type_parameters()
        if region.cells is None or region.cells > MAX_CELLS * 4 or opaque:
            region.escaped = True
        else:
            region.shadow = Shadow(max(region.cells, 0), self.threads, self.words)
        return region

    def type_parameters(self) -> frozenset[str]:
        """Return the names of template type parameters in sight."""
        return frozenset(
            p.name
            for frame in self.frames
            if frame.function is not None
            for p in frame.function.template
            if p.is_type
        )

    def type_name(self, text: str) -> str:
        """Return a type's text with template parameters and aliases replaced."""
        for frame in reversed(self.frames):
            if text in frame.types:
                text = frame.types[text]
                break
        return self.program.aliases.get(text, text)

    # --- expressions -------------------------------------------------------------------------

    def eval(self, expr: Expr) -> Value:
        """Evaluate an expression in the active threads."""
        match expr:
            case Number():
                return Value(expr.value, expr.type, False)
            case Name():
                self.node_here = expr.node
                return self.name(expr.id)
            case Binary():
                return self._binary(expr)
            case Subscript():
                return self.load(self.address(expr), expr.node)
            case Member():
                return self.member(expr)
            case Assign():
                return self._assign(expr)
            case Call():
                return self.call(expr)
            case Unary():
                return self._unary(expr)
            case Update():
                return self._update(expr)
            case Cast():
                return self._cast(expr)
            case Select():
                return self._select(expr)
        return self._rare(expr)

    def _rare(self, expr: Expr) -> Value:
        match expr:
            case SizeOf():
                return Value(self.size_of(expr.type), "l", False)
            case Items():
                parts = [self.eval(item) for item in expr.items]
                return (parts[-1] if expr.comma else unknown(*parts)) if parts else Value()
            case Lambda():
                return Value(None, varies=False, thing=expr)
            case Text():
                return Value(None, varies=False, thing=expr.value)
            case LaunchCall():
                return self.launch(expr)
            case Unclear():
                return self._unclear(expr)
        return Value()

    def _unclear(self, expr: Unclear) -> Value:
        parts = [self.eval(part) for part in expr.parts]
        for part in parts:
            self.escape(part)
        return unknown(*parts) if parts else Value()

    def size_of(self, text: str) -> int:
        """Return a type's size in bytes; of an expression, its variable's type's."""
        if text.rstrip().endswith("*"):
            return 8
        return SIZES.get(self.type_name(text.replace("const ", "").strip()), 4)

    def launch(self, _expr: LaunchCall) -> Value:
        """Note a kernel launch; on the device that would be dynamic parallelism."""
        raise StopWalkError("a launch from the device")

    def name(self, name: str) -> Value:
        """Return a variable's, constant's or macro's value."""
        box = self.find(name)
        if box is not None:
            return box.value if box.type != CELL else self.load(box.value.pointer, self.node_here)
        last = name.rsplit("::", maxsplit=1)[-1]
        if last == "warpSize":
            return Value(32, "i", False)
        if last in {"threadIdx", "blockIdx", "blockDim", "gridDim"}:
            return Value(None, varies=last == "threadIdx", thing=last)
        macro = self.program.macros.get(name)
        if macro is not None and macro.parameters is None and macro.expr is not None:
            return self.eval(macro.expr) if len(self.calls) < 40 else Value(None, varies=False)
        for constant in reversed(self.program.constants):
            if constant.name == name:
                return self._constant(constant)
        if last in {"true", "false"}:
            return Value(int(last == "true"), "b", False)
        return Value(None, varies=False)

    def _constant(self, constant: Declare) -> Value:
        if constant.dims or constant.pointer:
            region = Region(constant.name, "global", constant.type, node=constant.node)
            return Value(None, varies=False, pointer=Pointer(region, type=constant.type))
        if constant.init is not None and constant.const:
            value = self.eval(constant.init)
            return Value(value.number, type_letter(constant.type), value.varies)
        return Value(None, type_letter(constant.type), varies=False)

    def _binary(self, expr: Binary) -> Value:
        if expr.op in {"&&", "||", "and", "or"}:
            return self._logical(expr)
        left, right = self.eval(expr.left), self.eval(expr.right)
        if left.pointer is not None or right.pointer is not None:
            if expr.op in {"+", "-"}:
                return self.move(left, right, expr.op)
            return unknown(left, right, type_="b")
        out = binary(expr.op, left, right)
        self.check_arithmetic(expr, left, right, out)
        return out

    def check_arithmetic(self, expr: Binary, left: Value, right: Value, out: Value) -> None:
        """Note 32-bit results that don't fit, and double operations in float code."""
        if out.type in {"i", "u"}:
            if expr.op in {"+", "*", "<<"}:
                self.check_fits(out, out.type, expr.node)
        elif (left.type == "d") != (right.type == "d") and "f" in {left.type, right.type}:
            self.emit("double-math", expr.node, data={"op": expr.op, "loops": len(self.loops)})

    def check_fits(self, value: Value, letter: str, node: Node) -> None:
        """Note a number that its 32-bit type can't hold."""
        number, limit = value.number, 1 << (31 if letter == "i" else 32)
        if number is None or isinstance(number, float):
            return
        top = number.max() if isinstance(number, np.ndarray) else number
        if top >= limit and some(self.mask):
            worst = int(np.max(np.where(self.mask, number, 0)))
            if worst >= limit:
                self.emit("int-overflow", node, data={"value": worst})

    def _logical(self, expr: Binary) -> Value:
        both = expr.op in {"&&", "and"}
        left = self.eval(expr.left)
        held = truth(left)
        if isinstance(held, bool):
            if held is not both:
                return Value(int(held), "b", False)
            return self._as_bool(self.eval(expr.right))
        saved, doubt = self.mask, self.doubt
        if held is None:
            self.doubt = max(doubt, 1 if left.uniform else 2)
        else:
            self.mask = saved & (held if both else ~held)
        right = self.eval(expr.right) if some(self.mask) else Value(int(not both), "b", False)
        self.mask, self.doubt = saved, doubt
        other = truth(right)
        if isinstance(other, bool) and other is not both:
            return (
                Value(int(other), "b", False)
                if held is None
                else Value(
                    np.where(held, other, not both) if both else np.where(held, True, other), "b"
                )
            )
        if held is None or other is None:
            return unknown(left, right, type_="b")
        joined = np.logical_and(held, other) if both else np.logical_or(held, other)
        return Value(joined, "b")

    @staticmethod
    def _as_bool(value: Value) -> Value:
        held = truth(value)
        if held is None:
            return unknown(value, type_="b")
        return Value(int(held) if isinstance(held, bool) else held, "b", False)

    def _select(self, expr: Select) -> Value:
        test = self.eval(expr.test)
        held = truth(test)
        if isinstance(held, bool):
            return self.eval(expr.yes if held else expr.no)
        saved, doubt = self.mask, self.doubt
        if held is None:
            self.doubt = max(doubt, 1 if test.uniform else 2)
            yes, no = self.eval(expr.yes), self.eval(expr.no)
            self.doubt = doubt
            out = merge(yes, no, not test.uniform)
            out.loaded = out.loaded or test.loaded
            return out
        self.mask = saved & held
        yes = self.eval(expr.yes) if some(self.mask) else Value(0, "?", False)
        self.mask = saved & ~held
        no = self.eval(expr.no) if some(self.mask) else Value(0, "?", False)
        self.mask = saved
        return blend(no, yes, held)

    def _unary(self, expr: Unary) -> Value:
        if expr.op == "&":
            return self.address_of(expr.operand)
        if expr.op == "*":
            value = self.eval(expr.operand)
            if value.pointer is None:
                return unknown(value)
            return self.load(value.pointer, expr.node)
        value = self.eval(expr.operand)
        if value.number is None:
            return unknown(value, type_="b" if expr.op == "!" else None)
        if expr.op == "-":
            return Value(-value.number, value.type, False)
        if expr.op == "!":
            return Value(
                np.logical_not(value.number)
                if isinstance(value.number, np.ndarray)
                else int(not value.number),
                "b",
                False,
            )
        if expr.op == "~" and not isinstance(value.number, float):
            return Value(~value.number, value.type, False)
        return value

    def _cast(self, expr: Cast) -> Value:
        value = self.eval(expr.operand)
        kind = self.type_name(expr.type)
        if expr.pointer:
            self.cast_node = expr.node
            return self._cast_pointer(value, kind)
        letter = type_letter(kind)
        number = value.number
        if letter in "iul" and isinstance(number, float):
            number = int(number)
        return Value(
            number,
            letter if letter != "?" else value.type,
            value.varies,
            value.parts,
            value.reduced,
            None,
            value.thing,
            value.loaded,
        )

    def _cast_pointer(self, value: Value, kind: str) -> Value:
        pointer = value.pointer
        if pointer is None:
            return value
        was, now = SIZES.get(pointer.type, 4), SIZES.get(kind, 0)
        if pointer.region.space == "shared" and (was != now or now == 0):
            self._recast_shared(pointer, kind, now)
            was = SIZES.get(pointer.type, 4)
        scale = max(now // was, 1) * pointer.scale if now and now % was == 0 else pointer.scale
        if kind in VECTORS and now // max(was, 1) > 1:
            self.note_vector(pointer, now // was)
        same = kind if now else pointer.type
        return Value(
            None,
            varies=False,
            pointer=Pointer(
                pointer.region, pointer.offset, pointer.varies, scale, pointer.depth, same
            ),
        )

    def _recast_shared(self, pointer: Pointer, kind: str, now: int) -> None:
        region = pointer.region
        fresh = region.shadow is not None and region.shadow.initialised == 0 and pointer.offset == 0
        raw = region.dynamic and SIZES.get(region.type, 0) == 1
        if raw and fresh and now and region.cells is not None:
            region.cells = region.cells // now
            region.type = kind
            region.shadow = Shadow(region.cells, self.threads, self.words)
            pointer.type = kind
            return
        region.escaped = True

    # --- assignment --------------------------------------------------------------------------

    def _assign(self, expr: Assign) -> Value:
        value = self.eval(expr.value)
        if expr.op != "=":
            old = self.eval(expr.target)
            if old.pointer is not None and isinstance(expr.target, Name):
                value = self.move(old, value, expr.op[0])
            else:
                whole = Binary(expr.node, expr.op[:-1], expr.target, expr.value)
                combined = binary(expr.op[:-1], old, value)
                self.check_arithmetic(whole, old, value, combined)
                value = combined
        self.assign(expr.target, value, expr.node)
        return value

    def assign(self, target: Expr, value: Value, node: Node) -> None:
        """Store a value where an expression says."""
        match target:
            case Name():
                box = self.find(target.id)
                if box is not None and box.type == CELL:
                    self.put(box.value.pointer, value, node)
                elif box is not None:
                    self.store(box, value)
                    if value.pointer is not None or value.thing is not None:
                        box.value.pointer, box.value.thing = value.pointer, value.thing
            case Subscript():
                self.put(self.address(target), value, node)
            case Unary(op="*"):
                pointer = self.eval(target.operand).pointer
                if pointer is not None:
                    self.put(pointer, value, node)
            case Member():
                self._assign_member(target, value, node)
            case _:
                self.escape(self.eval(target))

    def _assign_member(self, target: Member, value: Value, node: Node) -> None:
        if isinstance(target.base, Name):
            box = self.find(target.base.id)
            if box is not None and box.value.pointer is None:
                box.value = merge(box.value, value, varying=False)
                box.value.number = None
        elif isinstance(target.base, Subscript):
            pointer = self.address(target.base)
            if pointer is not None and pointer.region.space == "shared":
                pointer.region.escaped = True
            self.put(pointer, value, node)

    def _update(self, expr: Update) -> Value:
        old = self.eval(expr.target)
        if old.pointer is not None:
            new = self.move(old, Value(1, "i", False), expr.op[0])
        else:
            new = binary(expr.op[0], old, Value(1, "i", False))
        self.assign(expr.target, new, expr.node)
        return new if expr.prefix else old

    # --- functions ---------------------------------------------------------------------------

    def call_function(self, function: Function, args: list[Value], call: Call) -> Value:
        """Run a helper function in the active threads."""
        if len(self.frames) > CALL_DEPTH:
            for arg in args:
                self.escape(arg)
            return unknown(*args)
        scope: dict[str, Box] = {}
        for index, parameter in enumerate(function.parameters):
            value = args[index] if index < len(args) else Value(None, varies=False)
            box = self._reference(parameter.reference, call, index)
            letter = "?" if parameter.pointer else type_letter(self.type_name(parameter.type))
            scope[parameter.name] = box if box is not None else Box(value, letter)
        frame = Frame(function, self.mask, [scope])
        self.bind_template(frame, function, call.template)
        return self.enter(frame, function.body, call)

    def _reference(self, reference: bool, call: Call, index: int) -> Box | None:
        if not reference or index >= len(call.args):
            return None
        arg = call.args[index]
        return self.find(arg.id) if isinstance(arg, Name) else None

    def bind_template(self, frame: Frame, function: Function, template: tuple[str, ...]) -> None:
        """Bind template parameters to what a call or launch gives, or to their defaults."""
        for index, parameter in enumerate(function.template):
            text = template[index] if index < len(template) else parameter.default
            if parameter.is_type:
                frame.types[parameter.name] = self.type_name(text) if text else "float"
            else:
                value = self.eval_text(text) if text else Value(None, varies=False)
                frame.scopes[0].setdefault(parameter.name, Box(value, value.type))

    def enter(self, frame: Frame, body: Stmt, call: Call) -> Value:
        """Run a function's body in a frame, and come back with its result."""
        entry, doubt, branches = self.mask, self.doubt, len(self.branch)
        loops, self.loops = self.loops, []
        self.frames.append(frame)
        self.calls.append(call.node)
        try:
            self.run(body)
        finally:
            self.frames.pop()
            self.calls.pop()
            self.loops = loops
        del self.branch[branches:]
        self.mask = entry
        self.doubt = doubt
        return frame.result if frame.result is not None else Value(None, varies=False)

    def call_lambda(self, item: Lambda, args: list[Value], call: Call) -> Value:
        """Run a lambda in the scopes that it stands in."""
        if len(self.frames) > CALL_DEPTH:
            return unknown(*args)
        outer = self.frames[-1]
        scope = {p.name: Box(a) for p, a in zip(item.parameters, args, strict=False)}
        frame = Frame(None, self.mask, [*outer.scopes, scope], dict(outer.types))
        return self.enter(frame, item.body, call)


__all__ = ["COMPARISONS", "Any", "Machine", "memory"]

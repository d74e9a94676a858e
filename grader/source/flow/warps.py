"""What the threads of a warp exchange: shuffles, votes, and the masks that name who takes part."""

from __future__ import annotations

import numpy as np

from grader.source.flow.access import Accesses
from grader.source.flow.tree import Call, Node
from grader.source.flow.values import Mask, Value, every, joined, some, spread, unknown

SHUFFLES = {
    "__shfl_sync": "idx",
    "__shfl_down_sync": "down",
    "__shfl_up_sync": "up",
    "__shfl_xor_sync": "xor",
    "__shfl": "idx",
    "__shfl_down": "down",
    "__shfl_up": "up",
    "__shfl_xor": "xor",
    "WARP_SHFL_DOWN": "down",
    "WARP_SHFL_XOR": "xor",
}
VOTES = {
    "__ballot_sync",
    "__any_sync",
    "__all_sync",
    "__reduce_add_sync",
    "__reduce_max_sync",
    "__reduce_min_sync",
    "__match_any_sync",
}


class Warps(Accesses):
    """Exchanges inside the warps of a block."""

    def shuffle_call(self, expr: Call) -> Value:
        """Evaluate a shuffle, with the check of its mask."""
        args = [self.eval(a) for a in expr.args]
        synced = expr.name.endswith("_sync")
        if synced and args:
            self.check_mask(expr.node, args[0])
            args = args[1:]
        if len(args) < 2:
            return unknown(*args)
        width = args[2].scalar if len(args) > 2 else 32
        return self.shuffle(SHUFFLES[expr.name], args[0], args[1], width or 32, expr.node)

    def shuffle(self, kind: str, value: Value, by: Value, width: int, node: Node) -> Value:
        """Exchange a value inside the warps; follow whose data each thread then holds."""
        self.order += 1
        self.walk.exchanges.append((self.order, node, self.calls[0] if self.calls else None, kind))
        if by.number is None or isinstance(by.number, float):
            return joined(value, by)
        lane = self.ids % width
        base = self.ids - lane
        other = {
            "down": lane + by.number,
            "up": lane - by.number,
            "xor": lane ^ np.asarray(by.number),
            "idx": spread(by.number, self.threads) % width,
        }[kind]
        source = np.where((other >= 0) & (other < width), base + other, self.ids)
        source = np.where(source < self.threads, source, self.ids)
        parts = (
            None if value.parts is None else np.broadcast_to(value.parts, self.own.shape)[source]
        )
        number = value.number[source] if isinstance(value.number, np.ndarray) else value.number
        uniform = kind == "idx" and self.threads <= 32 and not isinstance(by.number, np.ndarray)
        varies = not (uniform or value.uniform)
        out = Value(number, value.type, varies, parts, self.order, loaded=value.loaded)
        return self.settled(out) if kind == "idx" else out

    def check_mask(self, node: Node, mask: Value) -> None:
        """Report lanes that a shuffle's mask names and that are not there."""
        number = mask.scalar
        if number is None or self.doubt in {1, 2}:
            return
        if self.doubt > 2:
            self.emit(
                "shuffle-mask", node, other=self.doubt_node, sure=False, data={"mask": number}
            )
            return
        absent = self._absent(number)
        if some(absent):
            gone = bool((absent & ~self.alive).sum() == absent.sum())
            warp = int(self.ids[absent][0] >> 5)
            active = int((self.mask & (self.ids >> 5 == warp)).sum())
            self.emit(
                "shuffle-mask",
                node,
                other=self.branch[-1] if self.branch else self.return_node,
                sure=True,
                thread=int(self.ids[absent][0]),
                count=int(absent.sum()),
                data={"mask": number, "exited": gone, "warp": warp, "active": active},
            )
        elif self.threads % 32 and number & 0xFFFFFFFF == 0xFFFFFFFF and self.mask[-1]:
            self.emit("shuffle-tail", node, sure=True, count=32 - self.threads % 32)

    def _absent(self, named: int) -> Mask:
        """Return the threads that a mask of lanes names and that aren't here, in the warps that are."""
        if every(self.mask):
            return self.nobody
        lanes = ((named >> (self.ids & 31)) & 1).astype(np.bool_)
        here = np.zeros(int(self.warp_of[-1]) + 1, np.bool_)
        here[self.warp_of[self.mask]] = True
        absent: Mask = here[self.warp_of] & lanes & ~self.mask
        return absent

    def vote(self, expr: Call) -> Value:
        """Evaluate a vote or a reduction of the warp."""
        args = [self.eval(a) for a in expr.args]
        if args:
            self.check_mask(expr.node, args[0])
        return joined(*args[1:])

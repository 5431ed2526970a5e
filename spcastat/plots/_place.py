"""Where names go so that each belongs to its own tip: boxes in the plane, no artists.

For each name places around its tip are tried, all round and from near to far. A place is out if it leaves the
frame, touches what is there already, lies across a shaft, or is nearer to another tip than to its own. Names
with the fewest places choose first; one that then has none left may move one or two others. No chance is
involved.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_RADII = np.array([2.5, 4.5, 7.0, 10.0, 14.0, 19.0, 25.0, 32.0, 40.0])
_TURNS = np.deg2rad(np.concatenate([[0.0], *([a, -a] for a in range(15, 166, 15)), [180.0]]))
#: A box is so much nearer to its own tip than to any other, in points.
MARGIN = 1.0
#: From this distance on, a line leads from a name to its tip.
LEADER = 9.0
#: More dots than this are thinned out before those under a box are counted.
MOST_DOTS = 1500
#: More names than this are not moved to make room for others.
MOVABLE = 60


@dataclass
class Scene:
    """What names have to keep clear of; all in points.

    Attributes
    ----------
    frame : ndarray, (4,)
        Left, lower, right and upper edge.
    tips : ndarray, (q, 2)
        The ends of all arrows.
    shafts : ndarray, (s, 2, 2)
        Segments that no name may cross, those of the tips first.
    dots : ndarray, (n, 2)
        Points that names should not cover.
    taken : list of ndarray, (4,)
        Boxes that are occupied.
    """

    frame: Array
    tips: Array
    shafts: Array
    dots: Array
    taken: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.dots) > MOST_DOTS:
            self.dots = self.dots[:: -(-len(self.dots) // MOST_DOTS)]


@dataclass(frozen=True)
class Name:
    """A text to be placed: its anchor, the direction in which it best lies, its size, and its own tips."""

    anchor: Array
    direction: Array
    size: Array
    own: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Choices:
    boxes: Array
    distance: Array
    cost: Array


def place(names: list[Name], scene: Scene, radii: Array = _RADII) -> list[tuple[Array, float] | None]:
    """Return for every name its box and its distance from the anchor, or None; boxes become `taken`."""
    choices = [_choices(name, scene, radii) for name in names]
    placed: dict[int, int] = {}
    for i in sorted(range(len(names)), key=lambda i: (len(choices[i].cost), i)):
        free = _free(choices[i], [choices[j].boxes[at] for j, at in placed.items()])
        if free.size:
            placed[i] = int(free[0])
    for i in range(len(names) if len(names) <= MOVABLE else 0):
        if i not in placed:
            _make_room(i, choices, placed)
    found: list[tuple[Array, float] | None] = []
    for i, choice in enumerate(choices):
        at = placed.get(i)
        found.append(None if at is None else (choice.boxes[at], float(choice.distance[at])))
        if at is not None:
            scene.taken.append(choice.boxes[at])
    return found


def _choices(name: Name, scene: Scene, radii: Array) -> _Choices:
    """Return the places that nothing but other names can take away, the best first."""
    angle = np.arctan2(name.direction[1], name.direction[0]) + _TURNS
    towards = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # The box begins where a ray from the anchor meets it, so that a flat name is no farther than a tall one.
    reach = np.min(name.size / 2 / np.maximum(np.abs(towards), 1e-9), axis=1)
    centres = (name.anchor + (radii[:, None] + reach)[..., None] * towards).reshape(-1, 2)
    boxes = np.hstack([centres - name.size / 2, centres + name.size / 2])
    distance = np.broadcast_to(radii[:, None], (len(radii), len(angle))).reshape(-1)
    turn = np.broadcast_to(np.abs(_TURNS), (len(radii), len(angle))).reshape(-1)
    good = np.all(boxes[:, :2] >= scene.frame[:2], axis=1) & np.all(boxes[:, 2:] <= scene.frame[2:], axis=1)
    if scene.taken:
        good &= ~touching(boxes, np.array(scene.taken)).any(axis=1)
    if len(scene.shafts):
        good &= ~crossing(_padded(boxes, 1.0), scene.shafts).any(axis=1)
    if len(scene.tips):
        away = distances(boxes, scene.tips)
        mine = np.zeros(len(scene.tips), dtype=bool)
        mine[list(name.own)] = True
        nearest_own = away[:, mine].min(axis=1) if mine.any() else distances(boxes, name.anchor[None])[:, 0]
        if not mine.all():
            good &= away[:, ~mine].min(axis=1) >= nearest_own + MARGIN
    led = good & (distance >= LEADER)
    if led.any() and len(scene.shafts):
        # the line to a name crosses no shaft but those of its own tips
        others = np.delete(scene.shafts, [i for i in name.own if i < len(scene.shafts)], axis=0)
        lines = np.stack([np.broadcast_to(name.anchor, centres[led].shape), centres[led]], axis=1)
        good[np.flatnonzero(led)] = ~meeting(lines, others).any(axis=1)
    kept = np.flatnonzero(good)
    boxes, distance = boxes[kept], distance[kept]
    cost = distance + 4.0 * turn[kept] + 0.7 * np.minimum(_count(boxes, scene.dots), 8)
    order = np.argsort(cost, kind="stable")
    return _Choices(boxes[order], distance[order], cost[order])


def _free(choice: _Choices, others: list[Array]) -> NDArray[np.intp]:
    if not others:
        return np.arange(len(choice.cost))
    return np.flatnonzero(~touching(choice.boxes, np.array(others)).any(axis=1))


def _make_room(i: int, choices: list[_Choices], placed: dict[int, int]) -> None:
    """Place name i by moving one or two others, if that can be done."""
    for at, box in enumerate(choices[i].boxes):
        rest = {j: choices[j].boxes[where] for j, where in placed.items()}
        blocking = [j for j in rest if touching(box[None], rest[j][None]).any()]
        if not 0 < len(blocking) <= 2:
            continue
        for j in blocking:
            del rest[j]
        rest[i] = box
        moved: dict[int, int] = {}
        for j in blocking:
            free = _free(choices[j], list(rest.values()))
            if not free.size:
                break
            moved[j] = int(free[0])
            rest[j] = choices[j].boxes[moved[j]]
        else:
            placed.update(moved)
            placed[i] = at
            return


# --- geometry -----------------------------------------------------------------------------------


def distances(boxes: Array, points: Array) -> Array:
    """Return how far each point is from each box, (b, q); 0 within."""
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    gap = np.maximum(np.maximum(low - points, points - high), 0.0)
    return np.asarray(np.hypot(gap[..., 0], gap[..., 1]))


def touching(boxes: Array, others: Array) -> NDArray[np.bool_]:
    """Return which boxes overlap which others, (b, o)."""
    apart = (boxes[:, None, :2] >= others[None, :, 2:]) | (boxes[:, None, 2:] <= others[None, :, :2])
    return np.asarray(~np.any(apart, axis=2))


def crossing(boxes: Array, segments: Array) -> NDArray[np.bool_]:
    """Return which boxes are met by which segments, (b, s), by clipping (Liang and Barsky)."""
    start, step = segments[None, :, 0], (segments[:, 1] - segments[:, 0])[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        first = (boxes[:, None, :2] - start) / step
        last = (boxes[:, None, 2:] - start) / step
    enter, leave = np.minimum(first, last), np.maximum(first, last)
    still = np.broadcast_to(step == 0, enter.shape)
    inside = (boxes[:, None, :2] <= start) & (start <= boxes[:, None, 2:])
    enter = np.where(still, np.where(inside, -np.inf, np.inf), enter)
    leave = np.where(still, np.where(inside, np.inf, -np.inf), leave)
    return np.asarray(np.maximum(enter.max(axis=2), 0.0) <= np.minimum(leave.min(axis=2), 1.0))


def meeting(lines: Array, segments: Array) -> NDArray[np.bool_]:
    """Return which lines cross which segments, (l, s)."""

    def side(start: Array, end: Array, point: Array) -> Array:
        step, to = end - start, point - start
        return np.asarray(np.sign(step[..., 0] * to[..., 1] - step[..., 1] * to[..., 0]))

    a, b = lines[:, None, 0], lines[:, None, 1]
    c, d = segments[None, :, 0], segments[None, :, 1]
    return np.asarray((side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0))


def _padded(boxes: Array, by: float) -> Array:
    return boxes + by * np.array([-1.0, -1.0, 1.0, 1.0])


def _count(boxes: Array, dots: Array) -> NDArray[np.intp]:
    """Return how many of the dots lie in each box."""
    inside = (dots >= boxes[:, None, :2]) & (dots <= boxes[:, None, 2:])
    return np.asarray(inside.all(axis=2).sum(axis=1))

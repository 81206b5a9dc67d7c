"""Every object of the source against the written copy, with h5py and without pynwb."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nb26stats import _progress

from ._save_compare import Compare, same_type
from ._save_items import MODULE, DiffersError

BY_VALUE = 64 << 20
"""Data sets up to this many bytes are compared by value, larger ones by shape and type."""

_BAR_FROM = 64 << 20
_REPORTED = 5

_CHANGED_ATTRIBUTES = {
    # pynwb rewrites these whenever it adds to a file
    "/": {"nwb_version", ".specloc", "object_id"},
    "/general/extracellular_ephys/electrodes": {"neurodata_type", "namespace"},
}


def check_source_kept(source: Path, part: Path, *, replaced: Sequence[str] = ()) -> None:
    """Compare all objects of ``source`` with those of ``part``.

    Objects new in ``part`` are not looked at, and neither is what pynwb changes on every append:
    cached schemas, a few attributes of the root and of the electrodes table.

    Parameters
    ----------
    source, part : Path
        HDF5 files.
    replaced : sequence of str
        Names in the processing module that were replaced on purpose.

    Raises
    ------
    DiffersError
        Something is missing or differs; names the first few places.
    """
    import h5py

    with h5py.File(source, "r") as old, h5py.File(part, "r") as new:
        found = _Walk(old, new, replaced).differences(quiet=source.stat().st_size < _BAR_FROM)
    if found:
        more = f" and {len(found) - _REPORTED} more" if len(found) > _REPORTED else ""
        raise DiffersError(
            f"the new file does not hold everything {source.name} holds; differences: "
            f"{'; '.join(found[:_REPORTED])}{more}"
        )


class _Walk:
    """Two files side by side; first the structure, then attributes and values."""

    def __init__(self, old: Any, new: Any, replaced: Sequence[str]) -> None:
        self.old, self.new = old, new
        self.skip = {"/specifications"} | {f"/processing/{MODULE}/{name}" for name in replaced}
        location = old.attrs.get(".specloc")
        if location:
            self.skip.add(old[location].name)
        self.found: list[str] = []
        self.pairs: list[tuple[str, Any, Any]] = []
        self.old_paths: dict[int, str] = {}
        self.new_addresses: dict[str, int] = {}

    def differences(self, *, quiet: bool) -> list[str]:
        self._structure()
        compare = Compare(self.old, self.new, self.old_paths, self.new_addresses)
        with _progress.bar(len(self.pairs), desc="comparing with the source", quiet=quiet) as shown:
            for path, old, new in self.pairs:
                self._attributes(path, old, new, compare)
                self._content(path, old, new, compare)
                shown.update(1)
        return self.found

    def _structure(self) -> None:
        todo = [("/", self.old["/"], self.new["/"])]
        self._pair(*todo[0])
        while todo:
            path, old, new = todo.pop()
            for name in old:
                here = f"{path.rstrip('/')}/{name}"
                if here in self.skip:
                    continue
                if name not in new:
                    self.found.append(f"{here} is missing")
                    continue
                pair = self._linked(here, old, new, name)
                if pair is not None and self._pair(here, *pair) and _is_group(pair[0]):
                    todo.append((here, *pair))

    def _linked(self, here: str, old: Any, new: Any, name: str) -> tuple[Any, Any] | None:
        """Return the two objects when ``name`` is their home and not a link to somewhere else."""
        import h5py

        kinds = [group.id.links.get_info(name.encode()).type for group in (old, new)]
        if kinds[0] != kinds[1]:
            self.found.append(f"{here} is another kind of link")
            return None
        if kinds[0] == h5py.h5l.TYPE_HARD:
            return old[name], new[name]
        ends = [group.id.links.get_val(name.encode()) for group in (old, new)]
        if ends[0] != ends[1]:
            self.found.append(f"{here} links to somewhere else")
        return None

    def _pair(self, path: str, old: Any, new: Any) -> bool:
        """Note two objects that belong together; return whether they have not been met before."""
        before, after = _address(old), _address(new)
        first = self.old_paths.setdefault(before, path)
        if first != path:
            if self.new_addresses.get(first) != after:
                self.found.append(f"{path} is no longer the same object as {first}")
            return False
        self.new_addresses[path] = after
        if type(old) is not type(new):
            self.found.append(f"{path} is a {type(new).__name__}, not a {type(old).__name__}")
            return False
        self.pairs.append((path, old, new))
        return True

    def _attributes(self, path: str, old: Any, new: Any, compare: Compare) -> None:
        changed = _CHANGED_ATTRIBUTES.get(path, set())
        before, after = set(old.attrs) - changed, set(new.attrs) - changed
        for name in sorted(before ^ after):
            state = "missing" if name in before else "new"
            self.found.append(f"attribute {name!r} of {path} is {state}")
        for name in sorted(before & after):
            if not compare.attributes(old, new, name):
                self.found.append(f"attribute {name!r} of {path} differs")

    def _content(self, path: str, old: Any, new: Any, compare: Compare) -> None:
        import h5py

        if isinstance(old, h5py.Datatype):
            if not same_type(old.id, new.id):
                self.found.append(f"{path} is another type")
        elif isinstance(old, h5py.Dataset):
            if old.shape != new.shape:
                self.found.append(f"{path} has shape {new.shape}, not {old.shape}")
            elif not same_type(old.id.get_type(), new.id.get_type()):
                self.found.append(f"{path} has another type")
            elif (old.size or 0) * old.id.get_type().get_size() <= BY_VALUE and not compare.values(
                old, new
            ):
                self.found.append(f"the values of {path} differ")


def _is_group(obj: Any) -> bool:
    import h5py

    return isinstance(obj, h5py.Group)


def _address(obj: Any) -> int:
    import h5py

    return int(h5py.h5o.get_info(obj.id).addr)

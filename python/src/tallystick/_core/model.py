"""Base class of the models of answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

_SECRETS: Final = ('tly_', 'tlo_', 'whsec_', 'tli_')


class Model(BaseModel):
    """Base class of answers. Members that a newer server adds are preserved. `repr` hides secrets."""

    model_config = ConfigDict(extra='allow', populate_by_name=True, protected_namespaces=())

    def to_dict(self) -> dict[str, Any]:
        """Returns the model as a dict, with the server's names."""
        return self.model_dump(by_alias=True, exclude_unset=True)

    def to_json(self, *, indent: int | None = None) -> str:
        """Returns the model as JSON text, with the server's names."""
        return self.model_dump_json(by_alias=True, exclude_unset=True, indent=indent)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            is_secret = isinstance(value, str) and value.startswith(_SECRETS)
            yield name, '**********' if is_secret else value

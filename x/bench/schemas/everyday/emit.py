"""Writes JSON Schemas of pydantic v2's models, as emit.mjs does: python3 emit.py >>everyday.jsonl"""
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union
from uuid import UUID

from pydantic import (AnyUrl, Base64Bytes, BaseModel, ConfigDict, Field, HttpUrl, SecretStr,
                      TypeAdapter, conint, conlist, constr)

uuid = "2f1d9c9a-8f0b-4c3e-9a57-0d6a5f3b1c11"


class Color(str, Enum):
    red = "red"
    blue = "blue"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool = True


class Tree(BaseModel):
    value: int
    kids: list["Tree"] = []


class Address(BaseModel):
    street: str
    zip: Annotated[str, Field(pattern=r"^\d{5}$")]


class User(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: UUID
    name: constr(min_length=1, max_length=40)
    born: Optional[date] = None
    home: Address
    tags: set[str] = set()


# type: valid instances
cases = {
    "date": (date, ["2024-02-29"]), "datetime": (datetime, ["2024-02-29T12:00:00Z"]),
    "time": (time, ["12:00:00Z"]), "timedelta": (timedelta, ["PT1H"]),
    "uuid": (UUID, [uuid]), "ipv4": (IPv4Address, ["1.2.3.4"]), "ipv6": (IPv6Address, ["::1"]),
    "path": (Path, ["/tmp/a"]), "url": (AnyUrl, ["https://example.com/"]),
    "httpurl": (HttpUrl, ["https://example.com/"]), "decimal": (Decimal, ["1.5"]),
    "decimalplaces": (Annotated[Decimal, Field(max_digits=6, decimal_places=2)], ["1.25"]),
    "price": (Annotated[float, Field(gt=0, multiple_of=0.01)], [1.25]),
    "base64": (Base64Bytes, ["aGVsbG8="]), "secret": (SecretStr, ["x"]), "bytes": (bytes, ["x"]),
    "setstr": (set[str], [["a", "b"]]), "setint": (set[int], [[1, 2]]),
    "frozenset": (frozenset[Color], [["red", "blue"]]),
    "setliteral": (set[Literal["a", "b", 3]], [["a", 3]]),
    "tuple": (tuple[int, str], [[1, "a"]]), "tupledots": (tuple[int, ...], [[1, 2]]),
    "dict": (dict[str, int], [{"a": 1}]), "dictint": (dict[int, str], [{"1": "a"}]),
    "dictenum": (dict[Color, int], [{"red": 1}]), "dictuuid": (dict[UUID, int], [{uuid: 1}]),
    "dictpattern": (dict[Annotated[str, Field(pattern="^[a-z]+$")], int], [{"ab": 1}]),
    "optional": (Optional[int], [None, 3]), "union": (Union[int, str, None], [1, "a"]),
    "enum": (Color, ["red"]), "literal": (Literal["a", 1], ["a", 1]),
    "conint": (conint(ge=1, lt=10, multiple_of=3), [3]),
    "conlist": (conlist(int, min_length=1, max_length=3), [[1]]),
    "constr": (constr(pattern=r"^[A-Z]{3}$"), ["ABC"]),
    "tagged": (Annotated[Union[Cat, Dog], Field(discriminator="kind")],
               [{"kind": "cat", "lives": 3}]),
    "pets": (Union[Cat, Dog], [{"kind": "dog", "good": True}]), "tree": (Tree, [{"value": 1, "kids": [{"value": 2}]}]),
    "user": (User, [{"id": uuid, "name": "A", "home": {"street": "s", "zip": "12345"}}]),
    "any": (Any, [1]), "listany": (list[Any], [[1, "a"]]), "float": (float, [1.5]), "bool": (bool, [True]),
    "complexdict": (dict[str, list[Optional[Decimal]]], [{"a": [None, "1.5"]}]),
}
try:
    from pydantic import EmailStr
    cases["email"] = (EmailStr, ["ann@example.com"])
except ImportError:
    pass
for name, (kind, valid) in cases.items():
    for mode in ("validation", "serialization"):
        try:
            schema = TypeAdapter(kind).json_schema(mode=mode)
        except ImportError:  # email-validator
            schema = {"type": "string", "format": "email"}
        if mode == "serialization" and name in ("decimal", "decimalplaces"):
            pass
        print(json.dumps({"name": f"pydantic {name} {mode}", "schema": schema, "valid": valid}))

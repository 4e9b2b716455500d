"""What travels between processes comes back equal, and nothing else gets through."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course.ranks import plain

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
keys = st.text() | st.integers()
values = st.recursive(
    scalars | st.binary(),
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=20,
)


@given(values)
def test_values_come_back_equal_and_of_the_same_type(value):
    back = plain.decode(plain.encode(value))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool,
                                   torch.complex64, torch.float8_e4m3fn, torch.uint8])  # fmt: skip
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_tensors_keep_dtype_shape_and_bits(dtype, shape):
    tensor = torch.randint(0, 2, shape).to(dtype)
    back = plain.decode(plain.encode({"t": [tensor]}))["t"][0]
    assert back.dtype == dtype
    assert back.shape == tensor.shape
    assert torch.equal(back.float() if dtype.itemsize == 1 else back,
                       tensor.float() if dtype.itemsize == 1 else tensor)  # fmt: skip


def test_nan_and_inf_survive_in_floats_and_tensors():
    tensor = torch.tensor([float("nan"), float("inf"), -0.0])
    back = plain.decode(plain.encode((tensor, float("nan"), float("-inf"))))
    assert back[0].view(torch.int32).tolist() == tensor.view(torch.int32).tolist()
    assert back[1] != back[1]
    assert back[2] == float("-inf")


def test_views_travel_as_what_they_show():
    base = torch.arange(12.0).reshape(3, 4)
    one = torch.arange(4)[1:2].as_strided((1,), (2,))
    for view in (base.T, base[:, 1], base[::2], torch.conj(base.to(torch.complex64)), one):
        assert torch.equal(plain.decode(plain.encode(view)), view)


def test_arrays_dtypes_and_devices():
    array = np.arange(6, dtype=">i2").reshape(2, 3)
    back = plain.decode(plain.encode([array, torch.float16, torch.device("cuda:1"), np.float32(2)]))
    assert np.array_equal(back[0], array)
    assert back[0].dtype == array.dtype
    assert back[1:] == [torch.float16, torch.device("cuda:1"), 2.0]


def test_a_device_of_an_unknown_kind_comes_back_as_its_name():
    data = plain.encode(torch.device("cuda:1")).replace(b"cuda:1", b"what:1")
    assert plain.decode(data) == "what:1"


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (object(), "value is a object"),
        ({"a": [1, torch.nn.Linear(1, 1)]}, "value['a'][1] is a Linear"),
        ([{1, 2}], "value[0] is a set"),
        (np.array([object()]), "Python objects"),
        (torch.ones(2, device="meta"), "meta"),
        (torch.eye(2).to_sparse(), "sparse"),
    ],
)
def test_what_cannot_travel_is_named_with_its_place(value, named):
    with pytest.raises(plain.NotPlain) as refused:
        plain.encode(value)
    assert named in str(refused.value)


@given(st.binary(max_size=200))
def test_foreign_bytes_are_a_value_error_and_nothing_worse(data):
    try:
        plain.decode(data)
    except ValueError:
        pass


def test_forged_values_are_refused():
    good = plain.encode(torch.ones(3))
    for bad in (good[:-1], good + b"x", good.replace(b"float32", b"ones_li"),
                good.replace(b"[3]", b"[4]"), pickle.dumps([1])):  # fmt: skip
        with pytest.raises(ValueError, match=r".+"):
            plain.decode(bad)

"""Colours as seen with a colour vision deficiency, and the CIELAB distance of two colours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardscope.widgets.oklch import Rgb, decoded, encoded

_LINEAR_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_D65 = np.array([0.95047, 1.0, 1.08883])

# Machado, Oliveira and Fernandes 2009, full severity, on linear RGB.
DEFICIENCIES: dict[str, NDArray[np.float64]] = {
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def seen_with(colour: Rgb, deficiency: str) -> Rgb:
    """The colour as eyes with a deficiency, one of `DEFICIENCIES`, see it."""
    linear = np.array([decoded(part) for part in colour])
    red, green, blue = (encoded(float(p)) for p in np.clip(DEFICIENCIES[deficiency] @ linear, 0, 1))
    return red, green, blue


def cie76(one: Rgb, other: Rgb) -> float:
    """Return how different two colours look: the distance in CIELAB; 2.3 is just noticeable, 10 is seen at a glance."""
    return float(np.linalg.norm(_cielab(one) - _cielab(other)))


def _cielab(colour: Rgb) -> NDArray[np.float64]:
    xyz = _LINEAR_TO_XYZ @ np.array([decoded(part) for part in colour]) / _D65
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
